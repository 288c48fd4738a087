"""How sure it is that a record answers a query: evidence, weighed.

Six kinds of it: how much of what was asked is there, the rarest words that are, how near the meanings lie, the score,
and how far that stands above what the store scores anyway; against it speak the length of the record and the size of
the store, in which more matches by chance. What agrees with the surest is surer (ADR 71). A chunk of the query counts once, by its rarest part: a file name that
everybody has, or a word in backticks, is no more than its words. Pure, and the same with and without numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import exp, log
from typing import Final

from memsync.index.query import Query
from memsync.index.scale import (
    AGREEING,
    BASE,
    BASE_WORDS,
    BROAD,
    CHANCE,
    COVERED,
    CROWD,
    FEW,
    GENERAL,
    HIDDEN,
    LEXICAL,
    LIKENESS,
    LONG,
    MANY,
    MARGIN,
    RAREST,
    ROOM,
    SECOND,
    SUBJECT,
    THIRD,
    WORDY,
)
from memsync.records import Memory
from memsync.system.named import NamedTuple

_TINY: Final = 1e-9


class Lens(NamedTuple):
    """What an index knows of words: their weights, which it took for others, the terms of a record, and what else it is found by."""

    weight: Callable[[str], float]
    frequency: Callable[[str], int]
    ceiling: float
    alike: Mapping[str, Sequence[tuple[str, float]]]
    terms: Callable[[Memory], Sequence[str]]
    hidden: Callable[[Memory], Sequence[str]]
    live: int
    weight_of_meaning: float


class Weighed(NamedTuple):
    """The confidence in a record, 0 to 1, and the terms that it has."""

    confidence: float
    terms: frozenset[str]


class Gate:
    """Weighs records against one query; *usual* is the score that the store gives to many records for it."""

    def __init__(self, query: Query, lens: Lens, usual: float) -> None:
        self._lens = lens
        self._usual = usual
        chunks = [dict(_accepted(chunk, lens)) for chunk in query.chunks]
        self._places = _places_of(chunks)
        counted = {term for chunk in query.chunks for term in chunk}
        self._exact = [(term, lens.weight(term)) for term in query.terms if term not in counted]
        self._counted = [(term, lens.weight(term)) for term in query.terms if term in counted] if self._exact else []
        self._subjects = _find_subjects(query, lens)
        self._asked = sum(max(chunk.values(), default=0.0) for chunk in chunks)
        base = BASE if lens.weight_of_meaning else BASE_WORDS
        self._offset = base + WORDY * log(min(max(len(chunks), 1), MANY)) - CROWD * log(lens.live + ROOM)

    def weigh(self, memory: Memory, lexical: float, semantic: float) -> Weighed:
        """Return how sure it is that *memory*, with these parts of a score, answers, and its words."""
        terms = self._lens.terms(memory)
        words = frozenset(terms)
        held = words.union(self._lens.hidden(memory))
        found = self._found(words, held)
        score = lexical + semantic
        evidence = (
            self._offset
            + COVERED * sum(found) / max(self._asked, _TINY)
            + RAREST * found[0]
            + SECOND * found[1]
            + THIRD * found[2]
            + LIKENESS * semantic / (self._lens.weight_of_meaning or 1.0)
            + LEXICAL * lexical * self._share_of_words(held)
            + MARGIN * (1 - self._usual / max(score, self._usual, _TINY))
            - LONG * log(max(len(terms), 1))
        )
        sure = 1 / (1 + exp(-evidence))
        return Weighed(max(sure, BROAD) if not held.isdisjoint(self._subjects) else sure, words)

    def _share_of_words(self, held: Collection[str]) -> float:
        """Return how much of the weight *held* is that of words, not of a whole name beside its parts."""
        exact = sum(weight for term, weight in self._exact if term in held)
        words = sum(weight for term, weight in self._counted if term in held)
        return words / (words + exact) if exact else 1.0

    def _found(self, words: Collection[str], held: frozenset[str]) -> list[float]:
        """Return the rarity, 0 to 1, of what is *held* of each chunk, falling; what is not among the *words* counts less."""
        best: dict[int, float] = {}
        for word in held & self._places.keys():
            share = 1 if word in words else HIDDEN
            for chunk, rarity in self._places[word]:
                best[chunk] = max(best.get(chunk, 0.0), rarity * share)
        return [*sorted(best.values(), reverse=True), 0.0, 0.0, 0.0]


def _places_of(chunks: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """Return the chunks that each word counts in, by number, and its rarity there."""
    places: dict[str, list[tuple[int, float]]] = {}
    for number, chunk in enumerate(chunks):
        for word, rarity in chunk.items():
            places.setdefault(word, []).append((number, rarity))
    return places


def agree(confidence: float, share: float) -> float:
    """Return the *confidence* in a record that has this *share*, 0 to 1, of the words that the surest has beyond what was asked.

    What answers one prompt is told in the same words; a hit that shares only the words of the prompt is more often by chance.
    """
    return confidence / (confidence + (1 - confidence) * exp(AGREEING * (CHANCE - share)))


def _find_subjects(query: Query, lens: Lens) -> frozenset[str]:
    """Return the words that the store is about, where the query asks for nothing else: "how do payments work?"."""
    enough = SUBJECT * lens.live
    subjects = {term for chunk in query.chunks for term in chunk if lens.frequency(term) >= enough}
    is_broad = all(not subjects.isdisjoint(chunk) or GENERAL.issuperset(chunk) for chunk in query.chunks)
    return frozenset(subjects) if is_broad and lens.live >= FEW else frozenset()


def _accepted(chunk: Sequence[str], lens: Lens) -> Iterator[tuple[str, float]]:
    """Yield the words that count as *chunk*, with their rarity: those like its words first, so that its own win."""
    for term in chunk:
        rarity = lens.weight(term) / lens.ceiling
        yield from ((word, likeness * rarity) for word, likeness in lens.alike.get(term, ()))
    yield from ((term, lens.weight(term) / lens.ceiling) for term in chunk)
