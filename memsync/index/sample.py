"""Some records of a collection too large to hold, scored as all of it would score them.

Somebody else nominates the records and knows how often each term is in the whole; words, meaning, ranking and the gate
are those of `core.Index`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memsync.index.core import Index
from memsync.index.damping import Damping, damping_of
from memsync.index.embed import Meaning
from memsync.index.lexical import Lexical, build_base, number_terms
from memsync.index.query import Query
from memsync.index.rank import Allow, Ranking, Record, rank
from memsync.index.scale import UNSEEN, WEIGHED
from memsync.index.spelling import Spelling, build_grams
from memsync.index.vectors import Rows, Vectors
from memsync.records import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Whole(NamedTuple):
    """What is known of a whole collection: its records, their lengths in terms and the squares of these, added up.

    `seen` says how many records have a term; `searched` how many were looked through, which are those that may be read.
    """

    live: int
    total: float
    squares: float
    seen: Mapping[str, int]
    searched: int

    @property
    def damping(self) -> Damping:
        """How much long records are damped."""
        return damping_of(self.live, self.total, self.squares)

    def weight(self, term: str) -> float:
        """Return the weight of *term*, as `Lexical.weight` has it."""
        seen = self.seen.get(term, 0)
        return log1p((self.live + UNSEEN - seen + 0.5) / (seen + 0.5))


class _Lexical(Lexical):
    """The postings of the sample, with the counts of the whole."""

    def __init__(self, documents: Sequence[Sequence[str]], whole: Whole) -> None:
        super().__init__(build_base(*number_terms(documents)))
        self._whole = whole
        self.live, self._total, self._squares = whole.live, whole.total, whole.squares

    def frequency(self, term: str) -> int:
        return self._whole.seen.get(term, 0)


class Sample(Index):
    """The *records* that were nominated for one query; *words* are those of the whole that look like words of it."""

    def __init__(
        self, records: Sequence[Record], meaning: Meaning | None, whole: Whole, words: Sequence[str], rows: Rows | None
    ) -> None:
        super().__init__([], meaning)
        self._whole_of = whole
        self._records = list(records)
        self._dead = []
        self._slot_of = {(scope, memory.id): slot for slot, (scope, memory) in enumerate(records)}
        self._lexical = _Lexical([self._terms(memory) for _, memory in records], whole)
        self._spelling = Spelling(build_grams(sorted(words)))
        self._vectors = Vectors(rows, meaning.unrelated) if rows is not None and meaning else None
        self._texts = np.ones(len(records), np.uint64)

    def answer(self, text: str, query: Query, *, limit: int, allow: Allow, weighed: int = WEIGHED) -> Ranking:
        """Return the best *limit* of the allowed records, and how far to trust the first *weighed*."""
        from memsync.index.evidence import gather

        found = gather(query, self._lexical, self._spelling, len(self._records))
        candidates = self._candidates(text, query, found)
        whole = self._whole_of
        share = whole.searched / max(whole.live, 1)
        # Chance matches come from what was searched, and a store is about what many of its own records have.
        lens = candidates.lens._replace(
            live=whole.searched, frequency=lambda term: int(share * whole.seen.get(term, 0))
        )
        from dataclasses import replace

        return rank(
            query, replace(candidates, lens=lens), limit=limit, allow=allow, is_mine=_is_nobodys, weighed=weighed
        )

    def _what_is_missing(self) -> str:
        return self._meaning.failed if self._meaning else ""

    def _make_missing(self, dim: int) -> None:
        """Do nothing: what has no vector waits for the next sync."""
        if self._vectors is not None and self._vectors.dim != dim:
            self._vectors = None


def _is_nobodys(_: Memory) -> bool:
    return False


def alike_words(query: Query, words: Sequence[str], seen: Callable[[str], int], widened: int) -> dict[str, list[str]]:
    """Return which of *words* count for each rare term of *query*, by the rules of the index."""
    spelling = Spelling(build_grams(sorted(set(words))))
    return {
        term: [word for word, _ in spelling.alike(term, seen)]
        for term in query.terms
        if not term.startswith("=") and seen(term) <= widened
    }


def rows_of(vectors: Sequence[tuple[float, NDArray[np.int8]] | None], dim: int) -> Rows:
    """Return the *vectors* (scale and whole numbers) as rows; those that are missing are near nothing."""
    numbers = np.zeros((len(vectors), dim), np.int8)
    scales = np.zeros(len(vectors), np.float32)
    for slot, vector in enumerate(vectors):
        if vector is not None:
            scales[slot], numbers[slot] = vector
    return Rows(numbers=numbers, scales=scales, signs=np.packbits(numbers > 0, axis=1))
