"""What holds for every pair of texts, whatever they say."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.index.dedup import MERGED, decide, may_merge, on_scale
from memsync.index.likeness import count_shared, find_lost
from memsync.index.statements import read

words = st.sampled_from(
    "the a not no never port 8080 8081 `a.py` docker tests need must may only then before , . ; without 10 MB 本番 から を ない X-Y".split()
)
sentences = st.lists(words, min_size=1, max_size=14).map(" ".join)
anything = st.text(max_size=60) | sentences


@given(anything, anything, st.floats(0, 1))
def test_a_verdict_turned_round_is_the_same_verdict(one, other, similarity):
    here, there = decide(one, other, similarity), decide(other, one, similarity)
    assert (here.decision in MERGED) == (there.decision in MERGED)
    if here.decision in MERGED:
        turned = {"contains": "contained", "contained": "contains"}
        assert there.relation == turned.get(here.relation, here.relation)


@given(sentences | anything, sentences | anything)
def test_no_pair_is_merged_that_was_told_apart_before(one, other):
    assert may_merge(one, other) or decide(one, other, 1.0).decision not in MERGED


@given(*[st.lists(st.integers(0, 24), max_size=90)] * 2)
def test_words_that_are_there_more_than_once_are_shared_as_often_as_both_have_them(one, other):
    here, there = (read(" ".join(f"word{number}" for number in numbers)) for numbers in (one, other))
    assert count_shared(here, there) == (Counter(here.content) & Counter(there.content)).total()


@given(anything)
def test_every_text_is_a_copy_of_itself(text):
    assert decide(text, text, 0.0).decision == "hash_exact"


@given(sentences, sentences)
def test_a_merge_keeps_every_value_of_both_texts(one, other):
    verdict = decide(one, other, 1.0)
    if verdict.decision in MERGED:
        kept, dropped = (one, other) if verdict.relation == "contains" else (other, one)
        assert find_lost(kept, dropped) == []


@given(sentences, sentences)
def test_a_merge_never_changes_how_often_something_is_denied(one, other):
    verdict = decide(one, other, 1.0)
    if verdict.decision in MERGED and verdict.relation == "duplicate":
        denials = [sum(token.kind == "not" for token in read(text).tokens) for text in (one, other)]
        assert denials[0] == denials[1]


@given(st.floats(-1, 2), st.floats(-1, 2))
def test_the_scale_keeps_order_and_bounds(one, other):
    assert 0.6 <= on_scale(one) <= 1.0
    assert (on_scale(one) <= on_scale(other)) or one > other


@pytest.mark.parametrize(
    ("one", "other"),
    [("not " * 8000, "not a " * 5000), ("本" * 30_000, "本" * 29_999 + "日"), ("`a` " * 8000, "to b " * 6000)],
)
def test_the_longest_texts_are_judged_in_the_time_of_a_write(one, other):
    assert decide(one, other, 0.9).decision not in MERGED
