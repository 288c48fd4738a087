"""Lexical evidence of each record for a query: exact terms and words like them.

Owns how term weights and likeness become one number per slot, on a scale that
holds for every query and store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memsync.index.scale import EXACT, PATIENCE, WIDENED
from memsync.system.heap import give_back_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from memsync.index.lexical import Lexical
    from memsync.index.query import Query
    from memsync.index.spelling import Spelling


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Per slot: *lexical* score, and the share of the asked identifiers that are there, each as rare as it is.

    *alike* are the words that were taken for one that hardly any record has.
    """

    lexical: NDArray[np.float64]
    exact: NDArray[np.float64]
    alike: Mapping[str, Sequence[tuple[str, float]]]


def gather(
    query: Query, lexical: Lexical, spelling: Spelling, slots: int, let_go: Callable[[], object] = give_back_nothing
) -> Evidence:
    """Score *slots* records for *query*; after each term the mapped postings are *let_go*.

    The sum of found weights is divided by the sum asked for plus that of
    PATIENCE unseen words: one matching word never looks like a full match,
    and a long prompt is not asked to match in full.
    """
    tally = _Tally(lexical, slots)
    asked, exact = 0.0, 0
    alike: dict[str, Sequence[tuple[str, float]]] = {}
    for term in query.terms:
        weight = lexical.weight(term)
        asked += weight
        if term.startswith(EXACT):
            exact += 1
            tally.add_exact(term, weight)
        else:
            others = spelling.alike(term, lexical.frequency) if lexical.frequency(term) <= WIDENED else []
            alike[term] = others
            tally.add_best([(term, weight), *((w, x * min(weight, lexical.weight(w))) for w, x in others)])
        let_go()
    tally.scores /= asked + PATIENCE * lexical.ceiling
    if exact:
        tally.exact /= exact * lexical.ceiling
    return Evidence(lexical=tally.scores, exact=tally.exact, alike=alike)


class _Tally:
    def __init__(self, lexical: Lexical, slots: int) -> None:
        self._lexical = lexical
        self.scores, self.exact, self._best = (np.zeros(slots) for _ in range(3))

    def add_exact(self, term: str, weight: float) -> None:
        slots, counts = self._lexical.postings(term)
        self.scores[slots] += weight * self._lexical.saturated(slots, counts)
        self.exact[slots] += weight

    def add_best(self, words: Sequence[tuple[str, float]]) -> None:
        """Add to each slot the best gain that one of *words* has there."""
        if len(words) == 1:
            [(word, weight)] = words
            slots, counts = self._lexical.postings(word)
            self.scores[slots] += weight * self._lexical.saturated(slots, counts)
            return
        postings = [self._lexical.postings(word) for word, _ in words]
        slots = np.concatenate([found for found, _ in postings])
        if not len(slots):
            return
        weights = np.repeat(np.array([w for _, w in words]), [len(found) for found, _ in postings])
        gains = weights * self._lexical.saturated(slots, np.concatenate([counts for _, counts in postings]))
        np.maximum.at(self._best, slots, gains)
        self.scores[slots] = self.scores[slots] + self._best[slots]  # repeats write one value, so count once
        self._best[slots] = 0.0
