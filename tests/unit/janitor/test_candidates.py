"""Which records may say the same: those that share rare words, a bounded number of each."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memsync.index.tokens import Tokenizer
from memsync.janitor.clusters import PER_RECORD, pairs

WORDS = st.lists(st.sampled_from("alpha beta gamma delta Tests 8080 ./src/x.py naïve 数据库".split()), max_size=6)


def found(*texts: str) -> list[tuple[int, int]]:
    return list(pairs(texts, Tokenizer()))


def test_texts_that_share_a_rare_word_are_compared_and_others_are_not():
    assert found("deploy with kubectl", "the moon is far", "kubectl needs a login") == [(0, 2)]


def test_texts_without_spaces_are_compared_by_their_letters():
    assert found("数据库是只读的", "月亮", "数据库需要密码") == [(0, 2)]


def test_texts_that_share_only_words_of_everybody_are_still_compared_with_those_that_begin_alike():
    texts = [f"we use the same tool number{n}" for n in range(200)]
    assert {place for pair in pairs(texts, Tokenizer()) for place in pair} == set(range(200))


def test_each_text_has_a_bounded_number_of_candidates_however_many_are_alike():
    texts = [f"retry the upload {n % 7} times when storage{n % 5} is busy" for n in range(400)]
    assert 0 < len(found(*texts)) <= PER_RECORD * len(texts)
    assert max(Counter(min(pair) for pair in found(*texts)).values()) <= 2 * PER_RECORD


@given(st.lists(WORDS.map(" ".join), max_size=40))
def test_no_text_is_its_own_candidate_and_no_pair_comes_twice(texts):
    found = list(pairs(texts, Tokenizer()))
    assert all(one < other for one, other in found)
    assert len(set(found)) == len(found)


@given(st.lists(WORDS.map(" ".join), max_size=20, unique=True))
def test_the_same_texts_in_another_order_give_the_same_pairs(texts):
    here = {frozenset((texts[one], texts[other])) for one, other in pairs(texts, Tokenizer())}
    turned = texts[::-1]
    assert here == {frozenset((turned[one], turned[other])) for one, other in pairs(turned, Tokenizer())}
