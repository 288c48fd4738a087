"""BM25: what a term says, and that every statistic is exact after any change."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searching import base_of

from memsync.index import lexical as lexical_module
from memsync.index.lexical import Lexical, saturate
from memsync.index.scale import B_EVEN, B_MIXED, B_WORDY, K1, TERSE, UNSEEN
from memsync.index.terms import damping_of

TERMS = "abcdef"


def lexical(*documents: str) -> Lexical:
    return Lexical(base_of([document.split() for document in documents]))


def saturated(made: Lexical, term: str, asked: int = 1) -> list[float]:
    """Return what *term* counts in each record that has it, in a query of *asked* words."""
    slots, counts = made.postings(term)
    return saturate(counts, made.norms(asked)[slots]).tolist()


def state(made: Lexical, alive: set[int]) -> dict[str, object]:
    """Return what *made* says of each term, on the live slots."""
    return {
        term: (
            made.frequency(term),
            made.weight(term),
            {
                slot: (count, gain)
                for slot, count, gain in zip(
                    *(x.tolist() for x in made.postings(term)), saturated(made, term), strict=True
                )
                if slot in alive
            },
        )
        for term in TERMS
    }


def by_the_book(documents: dict[int, list[str]]) -> dict[str, object]:
    """Return the same, counted from nothing."""
    lengths = [float(len(text)) for text in documents.values()]
    offset, scale = damping_of(len(lengths), sum(lengths), sum(length * length for length in lengths), 1)
    expected = {}
    for term in TERMS:
        counts = {slot: float(n) for slot, text in documents.items() if (n := Counter(text)[term])}
        weight = math.log1p((len(documents) + UNSEEN - len(counts) + 0.5) / (len(counts) + 0.5))
        gains = {slot: (n, n / (n + (offset + scale * len(documents[slot])))) for slot, n in counts.items()}
        expected[term] = (len(counts), weight, gains)
    return expected


def test_a_fresh_index_is_that_of_the_textbook():
    documents = ["a a b", "b c", "c", ""]
    expected = by_the_book({slot: text.split() for slot, text in enumerate(documents)})
    assert state(lexical(*documents), {0, 1, 2, 3}) == expected


def test_a_term_that_few_records_hold_says_more_and_an_unseen_one_most():
    made = lexical("rare common", "common", "common")
    assert made.ceiling == made.weight("never") > made.weight("rare") > made.weight("common") > 0


def test_repeats_count_less_and_less_and_long_records_less():
    made = lexical("a", "a a", "a a a", "a x x x x x x x")
    one, two, three, long = saturated(made, "a")
    assert two - one > three - two > 0
    assert long < one < three < 1


documents = st.lists(st.sampled_from(TERMS), max_size=4)


@pytest.mark.parametrize("limit", [1, 3, 256])
@given(st.lists(documents, max_size=4), st.lists(documents | st.integers(0, 30), max_size=25))
def test_every_statistic_is_exact_after_any_puts_and_removes(limit, start, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_module, "_OVERLAY_LIMIT", limit)
        held = dict(enumerate(start))
        made, slots = Lexical(base_of(start)), len(start)
        for step in steps:
            if isinstance(step, list):
                made.add(slots, step)
                held[slots] = step
                slots += 1
            elif held:
                slot = sorted(held)[step % len(held)]
                made.remove(slot, held[slot])
                del held[slot]
        assert (made.live, state(made, set(held))) == (len(held), by_the_book(held))


def test_a_record_that_says_a_word_a_thousand_times_is_counted_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lexical_module, "_OVERLAY_LIMIT", 1)
    held = {0: ["a", "b"], 1: ["b"], 2: ["a"] * 1000, 3: ["a"]}
    made = Lexical(base_of([held[0]]))
    for slot in (1, 2, 3):
        made.add(slot, held[slot])
    assert state(made, set(held)) == by_the_book(held)


def test_a_mapped_base_is_never_written_to():
    base = base_of([["a", "b"], ["b"]])
    for name in base.__dataclass_fields__:
        getattr(base, name).flags.writeable = False
    made = Lexical(base)
    made.remove(0, ["a", "b"])
    made.add(2, ["a", "c"])
    expected = by_the_book({1: ["b"], 2: ["a", "c"]})
    assert (state(made, {1, 2}), base.lengths.tolist()) == (expected, [2.0, 1.0])


def test_the_length_of_many_long_records_is_added_without_rounding():
    lengths = np.full(400_001, 101, np.float32)  # float32 is exact up to 2 ** 24 only
    base = base_of([])
    base = type(base)(keys=base.keys, starts=base.starts, slots=base.slots, counts=base.counts, lengths=lengths)
    assert Lexical(base).norms(1)[0] == K1 * (1 - B_EVEN) + K1 * B_EVEN / 101.0 * 101.0


def test_an_empty_index_and_an_empty_record_have_nothing():
    for made in (lexical(), lexical("", "")):
        assert (made.frequency("a"), [x.tolist() for x in made.postings("a")]) == (0, [[], []])


def test_long_records_are_damped_the_more_the_more_the_lengths_differ():
    def share(*lengths: float, asked: int = 1) -> float:
        offset, scale = damping_of(len(lengths), sum(lengths), sum(length * length for length in lengths), asked)
        mean = sum(lengths) / len(lengths)
        assert offset + scale * mean == pytest.approx(K1)
        return scale * mean / K1

    assert share(10, 10, 10) == share(8, 10, 12) == pytest.approx(B_EVEN)
    assert B_EVEN < share(2, 10, 25) < share(1, 1, 10, 30)
    assert share(1, 1, 10, 30) == pytest.approx(B_MIXED)
    assert share(1, 1, 1, 1, 1000) == pytest.approx(B_MIXED)
    assert damping_of(0, 0.0, 0.0, 0) == (K1 * (1 - B_EVEN), K1 * B_EVEN)


def test_long_records_are_damped_the_more_the_more_words_are_asked_for():
    made = lexical("a", "a x x x x x x x x x x x")
    short, long = saturated(made, "a")
    assert saturated(made, "a", TERSE) == [short, long]
    wordy, wordier = (saturated(made, "a", asked) for asked in (TERSE + 4, 1000))
    assert wordier[1] < wordy[1] < long
    assert short < wordy[0] < wordier[0]
    assert saturated(made, "a") == [short, long]


@pytest.mark.parametrize("asked", [1, 13, 10**6])
def test_no_record_however_short_counts_a_word_as_nothing_or_less(asked: int):
    made = lexical("a", *["b " * 400] * 30)
    (count,) = saturated(made, "a", asked)
    assert 0 < count < 1 / (2 - B_WORDY) + 0.01
