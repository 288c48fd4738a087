"""Lexical evidence of each record for a query: exact terms and words like them.

Owns how term weights and likeness become one number per slot, on a scale that
holds for every query and store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memsync.index.lexical import saturate
from memsync.index.scale import EXACT, PATIENCE, WIDENED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from memsync.index.lexical import Lexical
    from memsync.index.query import Query
    from memsync.index.spelling import Spelling
    from memsync.index.synonyms import Synonyms, Words

_AT_ONCE: Final = 1 << 17  # postings that are added together: 4 MB while it is done


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Per slot: *lexical* score, and the share of the asked identifiers that are there, each as rare as it is.

    *alike* are the words that were taken for one that hardly any record has, *called* what else it is called.
    """

    lexical: NDArray[np.float64]
    exact: NDArray[np.float64]
    alike: Mapping[str, Sequence[tuple[str, float]]]
    called: Mapping[str, Sequence[tuple[Words, float]]]


def gather(query: Query, lexical: Lexical, spelling: Spelling, synonyms: Synonyms, slots: int) -> Evidence:
    """Score *slots* records for *query*.

    The sum of found weights is divided by the sum asked for plus that of
    PATIENCE unseen words: one matching word never looks like a full match,
    and a long prompt is not asked to match in full.
    """
    tally = _Tally(lexical, slots, len(query.chunks))
    asked, exact = 0.0, 0
    alike: dict[str, Sequence[tuple[str, float]]] = {}
    called: dict[str, Sequence[tuple[Words, float]]] = {}
    for term in query.terms:
        weight = lexical.weigh(seen := lexical.frequency(term))
        asked += weight
        if term.startswith(EXACT):
            exact += 1
            tally.add_exact(term, weight)
        elif seen > WIDENED:
            tally.add(term, weight)
        else:
            alike[term] = spelling.alike(term, lexical.frequency)
            called[term] = synonyms.find(term, query, lexical.frequency)
            others = [*(((word,), share) for word, share in alike[term]), *called[term]]
            likes = [(words, share * min(weight, *map(lexical.weight, words))) for words, share in others]
            tally.add_best([((term,), weight), *likes])
    if exact:
        tally.exact /= exact * lexical.ceiling
    scores = tally.scores / (asked + PATIENCE * lexical.ceiling)
    return Evidence(lexical=scores, exact=tally.exact, alike=alike, called=called)


class _Tally:
    """Adds up what the terms of a query count in each slot: not one by one, for that takes six times as long."""

    def __init__(self, lexical: Lexical, slots: int, asked: int) -> None:
        self._lexical = lexical
        self._norms = lexical.norms(asked)
        self._scores, self.exact = np.zeros(slots), np.zeros(slots)
        self._slots: list[NDArray[np.int32]] = []  # of each term that is not yet added
        self._counts: list[NDArray[np.float32]] = []
        self._weights: list[float] = []
        self._known: list[tuple[int, NDArray[np.float64]]] = []  # gains, by where they stand among those of all terms
        self._waiting = 0

    def add_exact(self, term: str, weight: float) -> None:
        self.add(term, weight)
        for slots, _ in self._lexical.parts(term):
            self.exact[slots] += weight

    def add(self, term: str, weight: float) -> None:
        """Add to each slot the gain that *term* has there."""
        for slots, counts in self._lexical.parts(term):
            self._wait(slots, counts, weight)

    def add_best(self, others: Sequence[tuple[Words, float]]) -> None:
        """Add to each slot the best gain that one of *others* has there, of which a slot has all words."""
        found = [(*self._postings_of_all(words), weight) for words, weight in others]
        found = [one for one in found if len(one[0])]
        if len(found) == 1:
            self._wait(*found[0])
        elif found:
            slots, gains = self._gains_of(*map(list, zip(*found, strict=True)))
            order = slots.argsort()
            slots, gains = slots[order], gains[order]
            first = np.flatnonzero(np.diff(slots, prepend=-1))
            best = np.maximum.reduceat(gains, first)
            self._known.append((self._waiting, best))
            self._wait(slots[first], best, 0.0)

    @property
    def scores(self) -> NDArray[np.float64]:
        """What was added to each slot."""
        self._settle()
        return self._scores

    def _wait(self, slots: NDArray[Any], counts: NDArray[Any], weight: float) -> None:
        self._slots.append(slots)
        self._counts.append(counts)
        self._weights.append(weight)
        self._waiting += len(slots)
        if self._waiting > _AT_ONCE:
            self._settle()

    def _settle(self) -> None:
        if not self._slots:
            return
        slots, gains = self._gains_of(self._slots, self._counts, self._weights)
        for start, known in self._known:
            gains[start : start + len(known)] = known
        self._scores = self._scores + np.bincount(slots, gains, len(self._scores))
        self._slots, self._counts, self._weights, self._known, self._waiting = [], [], [], [], 0

    def _gains_of(
        self, slots: Sequence[NDArray[Any]], counts: Sequence[NDArray[Any]], weights: Sequence[float]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return all *slots*, one after the other, and what a term of that weight, which is there so often, counts in each."""
        every = np.concatenate(slots, dtype=np.intp)
        gains = saturate(np.concatenate(counts), self._norms.take(every))
        gains *= np.repeat(weights, [len(one) for one in slots])
        return every, gains

    def _postings_of_all(self, words: Words) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the slots that have all of *words*, and how often the rarest of them is there."""
        slots, counts = self._lexical.postings(words[0])
        for word in words[1:]:
            others, their = self._lexical.postings(word)
            slots, ours, theirs = np.intersect1d(slots, others, assume_unique=True, return_indices=True)
            counts = np.minimum(counts[ours], their[theirs])
        return slots, counts
