"""Lexical evidence of each record for a query: exact terms and words like them.

Owns how term weights and likeness become one number per slot, on a scale that
holds for every query and store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memsync.index.lexical import saturate
from memsync.index.scale import EXACT, PATIENCE, WIDENED
from memsync.system.heap import give_back_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from memsync.index.lexical import Lexical
    from memsync.index.query import Query
    from memsync.index.spelling import Spelling
    from memsync.index.synonyms import Synonyms, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Per slot: *lexical* score, and the share of the asked identifiers that are there, each as rare as it is.

    *alike* are the words that were taken for one that hardly any record has, *called* what else it is called.
    """

    lexical: NDArray[np.float64]
    exact: NDArray[np.float64]
    alike: Mapping[str, Sequence[tuple[str, float]]]
    called: Mapping[str, Sequence[tuple[Words, float]]]


def gather(
    query: Query,
    lexical: Lexical,
    spelling: Spelling,
    synonyms: Synonyms,
    slots: int,
    let_go: Callable[[], object] = give_back_nothing,
) -> Evidence:
    """Score *slots* records for *query*; after each term the mapped postings are *let_go*.

    The sum of found weights is divided by the sum asked for plus that of
    PATIENCE unseen words: one matching word never looks like a full match,
    and a long prompt is not asked to match in full.
    """
    tally = _Tally(lexical, slots, len(query.chunks))
    asked, exact = 0.0, 0
    alike: dict[str, Sequence[tuple[str, float]]] = {}
    called: dict[str, Sequence[tuple[Words, float]]] = {}
    for term in query.terms:
        weight = lexical.weight(term)
        asked += weight
        if term.startswith(EXACT):
            exact += 1
            tally.add_exact(term, weight)
        elif lexical.frequency(term) > WIDENED:
            tally.add(term, weight)
        else:
            alike[term] = spelling.alike(term, lexical.frequency)
            called[term] = synonyms.find(term, query, lexical.frequency)
            others = [*(((word,), share) for word, share in alike[term]), *called[term]]
            likes = [(words, share * min(weight, *map(lexical.weight, words))) for words, share in others]
            tally.add_best([((term,), weight), *likes])
        let_go()
    tally.scores /= asked + PATIENCE * lexical.ceiling
    if exact:
        tally.exact /= exact * lexical.ceiling
    return Evidence(lexical=tally.scores, exact=tally.exact, alike=alike, called=called)


class _Tally:
    def __init__(self, lexical: Lexical, slots: int, asked: int) -> None:
        self._lexical = lexical
        self._norms = lexical.norms(asked)
        self.scores, self.exact, self._best = (np.zeros(slots) for _ in range(3))

    def add_exact(self, term: str, weight: float) -> None:
        self.exact[self.add(term, weight)] += weight

    def add(self, term: str, weight: float) -> NDArray[np.int32]:
        """Add to each slot the gain that *term* has there, and return the slots."""
        slots, counts = self._lexical.postings(term)
        self.scores[slots] += weight * saturate(counts, self._norms[slots])
        return slots

    def add_best(self, others: Sequence[tuple[Words, float]]) -> None:
        """Add to each slot the best gain that one of *others* has there, of which a slot has all words."""
        postings = [self._postings_of_all(words) for words, _ in others]
        slots = np.concatenate([found for found, _ in postings])
        if not len(slots):
            return
        weights = np.repeat(np.array([weight for _, weight in others]), [len(found) for found, _ in postings])
        gains = weights * saturate(np.concatenate([counts for _, counts in postings]), self._norms[slots])
        np.maximum.at(self._best, slots, gains)
        self.scores[slots] = self.scores[slots] + self._best[slots]  # repeats write one value, so count once
        self._best[slots] = 0.0

    def _postings_of_all(self, words: Words) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the slots that have all of *words*, and how often the rarest of them is there."""
        slots, counts = self._lexical.postings(words[0])
        for word in words[1:]:
            others, their = self._lexical.postings(word)
            slots, ours, theirs = np.intersect1d(slots, others, assume_unique=True, return_indices=True)
            counts = np.minimum(counts[ours], their[theirs])
        return slots, counts
