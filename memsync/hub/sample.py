"""Some records of a collection too large to hold, scored as all of it would score them.

Somebody else nominates the records, and knows their terms and how often each is in the whole; words, meaning, ranking
and the gate are those of `core.Index`. A record is read when it comes near the answer, so most never are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memsync.index.core import Arrays, Index
from memsync.index.embed import Meaning
from memsync.index.lexical import Base, Forward, Lexical, Spelling, build_grams
from memsync.index.query import Query
from memsync.index.rank import Allow, Ranking, Record, rank
from memsync.index.scale import WEIGHED
from memsync.index.synonyms import Synonyms
from memsync.index.terms import Damping, damping_of, weigh_term
from memsync.index.tokens import Tokenizer
from memsync.index.vectors import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.index.lexical import Postings


_USUAL: Final = slice(4, 10)  # places among the answers of one repository that tell what others of it score
_BY_CHANCE: Final = 0.25  # share of that which is taken off: of .25, .35 and .5 the best on 16 suites among each other
_NO_POSTINGS: Final = Base(
    keys=np.zeros(0, np.uint64),
    starts=np.zeros(1, np.int64),
    slots=np.zeros(0, np.int32),
    counts=np.zeros(0, np.float32),
    lengths=np.zeros(0, np.float32),
)


class Whole(NamedTuple):
    """What is known of a whole collection: its records, their lengths in terms and the squares of these, added up.

    `seen` says how many records have a term; `searched` among how many a match may be one by chance.
    """

    live: int
    total: float
    squares: float
    seen: Mapping[str, int]
    searched: int

    def damping(self, asked: int) -> Damping:
        """Return how much long records are damped in a query of *asked* words."""
        return damping_of(self.live, self.total, self.squares, asked)

    def weight(self, term: str) -> float:
        """Return the weight of *term*, as `Lexical.weight` has it."""
        return weigh_term(self.seen.get(term, 0), self.live)


class Counted(NamedTuple):
    """The terms of some records, one after the other: by its key, in which record each is and how often; how long the records are."""

    keys: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.float32]
    lengths: NDArray[np.float32]


class _Lexical(Lexical):
    """The postings of the sample, with the counts of the whole; a term is known by its *key*."""

    def __init__(self, counted: Counted, key: Callable[[str], int], whole: Whole) -> None:
        super().__init__(replace(_NO_POSTINGS, lengths=counted.lengths))
        self._counted, self._key, self._whole = counted, key, whole
        self.live, self._total, self._squares = whole.live, whole.total, whole.squares

    def frequency(self, term: str) -> int:
        return self._whole.seen.get(term, 0)

    def postings(self, term: str) -> Postings:
        at = np.flatnonzero(self._counted.keys == self._key(term))  # fewer terms are asked for than sorting would take
        return self._counted.slots[at], self._counted.counts[at]

    def parts(self, term: str) -> tuple[Postings, ...]:
        return (self.postings(term),)


def find_by_chance(scores: Sequence[tuple[float, int]], repository: Callable[[int], int]) -> dict[int, float]:
    """Return what of each slot's score any question would give it, by *scores*, falling; nothing where one *repository* has all.

    Of long texts, and of many, some share words with any question. So what the fifth to tenth of a repository score says
    how much that is worth there.
    """
    falling: dict[int, list[tuple[float, int]]] = {}
    for found in scores:
        falling.setdefault(repository(found[1]), []).append(found)
    if len(falling) < 2:
        return {}
    share = _BY_CHANCE / (_USUAL.stop - _USUAL.start)
    usual = [(share * sum(score for score, _ in some[_USUAL]), some) for some in falling.values()]
    return {slot: by_chance for by_chance, some in usual for _, slot in some}


class Sample(Index):
    """The records that were nominated for one query, *read* by their place.

    *words* are those of the whole that look like words of it, *meant* their vectors, and its own.
    """

    def __init__(
        self,
        read: Callable[[int], Record],
        counted: Counted,
        key: Callable[[str], int],
        meaning: Meaning | None,
        tokenizer: Tokenizer,
        whole: Whole,
        words: Sequence[str],
        meant: tuple[Rows, tuple[list[int], float]] | None,
    ) -> None:
        none = np.zeros(0, np.uint64)
        rows, asked = meant or (None, None)
        arrays = Arrays(
            texts=np.ones(len(counted.lengths), np.uint64),
            base=_NO_POSTINGS,
            forward=Forward(terms=none, starts=np.zeros(1, np.int64)),
            grams=build_grams(sorted(words)),
            vectors=rows,
        )
        super().__init__([None] * len(counted.lengths), arrays, meaning)
        self._tokenizer = tokenizer  # which has read other records before
        self._synonyms = Synonyms(tokenizer.terms)
        self._read, self._asked = read, asked
        self._whole_of = whole
        self._lexical = _Lexical(counted, key, whole)

    def answer(
        self,
        text: str,
        query: Query,
        *,
        limit: int,
        allow: Allow,
        weighed: int = WEIGHED,
        repository: Callable[[int], int] = lambda _: 0,
    ) -> Ranking:
        """Return the best *limit* of the allowed records, and how far to trust the first *weighed*.

        Of several repositories those come first that stand out of their own, by its place, too; their scores stay.
        """
        from memsync.index.core import gather

        found = gather(query, self._lexical, self._spelling, self._synonyms, len(self._memories))
        candidates = self._candidates(text, query, found)
        scores = [*candidates.ordered]
        if by_chance := find_by_chance(scores, repository):
            scores = sorted(
                ((score - by_chance[slot], slot) for score, slot in scores), key=itemgetter(0), reverse=True
            )

        whole = self._whole_of
        share = whole.searched / max(whole.live, 1)
        # Chance matches come from what was searched, and a store is about what many of its own records have.
        lens = candidates.lens._replace(
            live=whole.searched,
            frequency=lambda term: int(share * whole.seen.get(term, 0)),
            said=lambda _, memory: self._tokenizer.read(memory),
        )
        return rank(
            query,
            candidates._replace(lens=lens, record=self._read, ordered=scores, by_chance=by_chance),
            limit=limit,
            allow=allow,
            is_mine=lambda _: False,
            weighed=weighed,
        )

    def _list_live(self, term: str) -> list[int]:
        slots: list[int] = self._lexical.postings(term)[0].tolist()
        return slots  # none was read yet, and all live

    def _read_meaning(self, _: str) -> tuple[list[int], float] | None:
        return self._asked  # which was read to nominate by it

    def _what_is_missing(self) -> str:
        return self._meaning.failed if self._meaning else ""

    def _make_missing(self, dim: int) -> None:
        """Do nothing: what has no vector waits for the next sync."""
        if self._vectors is not None and self._vectors.dim != dim:
            self._vectors = None


def alike_words(query: Query, words: Sequence[str], seen: Callable[[str], int], widened: int) -> dict[str, list[str]]:
    """Return which of *words* count for each rare term of *query*, by the rules of the index."""
    spelling = Spelling(build_grams(sorted(set(words))))
    return {
        term: [word for word, _ in spelling.alike(term, seen)]
        for term in query.terms
        if not term.startswith("=") and seen(term) <= widened
    }


def rows_of(numbers: NDArray[np.int8], scales: NDArray[np.float32]) -> Rows:
    """Return vectors, each of whole *numbers* times its scale, as rows; one of the scale 0 is near nothing."""
    return Rows(numbers=numbers, scales=scales, signs=np.packbits(numbers > 0, axis=1))
