"""What holds for every pair of texts, whatever they say."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.dedup import MERGED, decide, find_lost, may_merge, on_scale
from memsync.dedup.likeness import count_shared
from memsync.dedup.nominate import Nominees
from memsync.dedup.reading import read

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


CHANCE = random.Random(20260115)
VOCABULARY = [f"word{n}" for n in range(600)]
OFTEN = [1 / (n + 3) for n in range(600)]


def draw_text(known: list[str]) -> str:
    """Return a text of words as they come, or one that was there with some of it changed."""
    if not known or CHANCE.random() < 0.8:
        return " ".join(CHANCE.choices(VOCABULARY, OFTEN, k=CHANCE.randrange(1, 40)))
    said = CHANCE.choice(known).split()
    CHANCE.shuffle(said)
    return " ".join(said[: CHANCE.randrange(1, len(said) + 1)] + CHANCE.choices(VOCABULARY, k=CHANCE.randrange(4)))


def test_texts_that_are_expected_have_the_nominees_that_they_have_one_by_one():
    texts = list[str]()
    for _ in range(2_500):
        texts.append(draw_text(texts))
    first, rest = texts[:500], texts[500:]
    one_by_one, at_once = (Nominees((f"mm-{n}", text) for n, text in enumerate(first)) for _ in range(2))
    at_once.expect(rest)
    found = 0
    for n, text in enumerate(rest, len(first)):
        near = one_by_one.near(text)
        assert near == at_once.near(text)
        found += bool(near)
        if not near or n % 3:
            id_ = near[0] if n % 5 == 0 and near else f"mm-{n}"  # in the place of another, too
            one_by_one.put(id_, text)
            at_once.put(id_, text)
    assert 100 < found < 1_900


def test_a_text_that_nobody_expected_is_found_all_the_same():
    texts = [f"the port of service{n} is {n} on host{n}" for n in range(2_000)]
    nominees = Nominees()
    nominees.expect(texts)
    nominees.put("mm-other", "on host7 the port of service7 is 7 since May")
    assert nominees.near(texts[7]) == ["mm-other"]
