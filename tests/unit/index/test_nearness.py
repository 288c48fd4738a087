"""How near words are: what the library says, which the warm index asks."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from memsync.index.scale import TYPO
from memsync.index.terms import find_nearness

words = st.text("abé1", max_size=9)
pairs = st.tuples(words, words) | words.flatmap(
    lambda word: st.tuples(st.just(word), st.permutations(word).map("".join))
)


@given(pairs)
@example(("tests", "testa"))
@example(("abcdefghij", "abdcefghi"))
def test_two_words_are_as_near_as_the_library_says(pair):
    assert find_nearness(*pair) == OSA.normalized_similarity(*pair, score_cutoff=TYPO)
