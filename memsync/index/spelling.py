"""Vocabulary words that look like a query word: typos, word forms, identifier parts.

Owns letter trigrams of the vocabulary, not of the texts: some twenty times
smaller than n-grams of every record, and as good. Knows words, not records.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from memsync.index.scale import ALIKE, GRAM_BITS, NOMINATED, TYPO, TYPO_LETTERS
from memsync.index.terms import take_alike, trigrams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_MEMO_LIMIT: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Grams:
    """Trigrams of words, flat: gram ``keys[i]`` is in ``places[starts[i]:starts[i + 1]]``.

    Word *p* is ``letters[ends[p - 1]:ends[p]]`` and has ``sizes[p]`` trigrams.
    """

    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    sizes: NDArray[np.float32]
    letters: NDArray[np.uint8]
    ends: NDArray[np.int32]

    def word(self, place: int) -> str:
        """Return the word at *place*."""
        start = int(self.ends[place - 1]) if place else 0
        return self.letters[start : int(self.ends[place])].tobytes().decode()


def build_grams(words: Sequence[str]) -> Grams:
    """Return the trigrams of distinct *words*, made in one vectorised pass."""
    points = np.frombuffer(f" {'  '.join(words)} ".encode("utf-32-le"), np.uint32).astype(np.int64)
    lengths = np.fromiter(map(len, words), np.int64, len(words)) + 2
    place = np.repeat(np.arange(len(words)), lengths)
    grams = (points[:-2] << 2 * GRAM_BITS) + (points[1:-1] << GRAM_BITS) + points[2:]
    inside = place[:-2] == place[2:]
    grams, place = grams[inside], place[:-2][inside]
    order = np.argsort(grams, kind="stable")  # the places of a gram stay in order
    grams, place = grams[order], place[order]
    is_other = grams[1:] != grams[:-1]
    new = np.concatenate((np.ones(1, bool), is_other | (place[1:] != place[:-1])))[: len(grams)]
    first = np.flatnonzero(np.concatenate((np.ones(1, bool), is_other))[: len(grams)][new])
    encoded = [w.encode() for w in words]
    return Grams(
        keys=grams[new][first],
        starts=np.append(first, np.count_nonzero(new)),
        places=place[new].astype(np.int32),
        sizes=np.bincount(place[new], minlength=len(words)).astype(np.float32),
        letters=np.frombuffer(b"".join(encoded), np.uint8),
        ends=np.cumsum(np.fromiter(map(len, encoded), np.int32, len(words)), dtype=np.int32),
    )


class Spelling:
    """Words looked up by likeness; late words are kept beside the flat ones."""

    def __init__(self, base: Grams) -> None:
        self._base = base
        self._words: list[str] = []
        self._known: set[str] = set()
        self._sizes: list[float] = []
        self._late: defaultdict[int, list[int]] = defaultdict(list)
        self._memo: dict[str, list[tuple[str, float]]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Take in *words*; those that came late before are skipped."""
        for word in words:
            if word in self._known:
                continue
            self._known.add(word)
            grams = trigrams(word)
            for gram in grams:
                self._late[gram].append(len(self._base.sizes) + len(self._words))
            self._words.append(word)
            self._sizes.append(len(grams))

    def forget(self) -> None:
        """Drop remembered answers, after any change of the vocabulary."""
        self._memo.clear()

    def alike(self, word: str, live: Callable[[str], object]) -> list[tuple[str, float]]:
        """Return *live* words like *word* with their likeness, best first.

        A word that is not live itself is also compared by edit distance,
        which sees the swapped letters that trigrams miss.
        """
        found = self._memo.get(word)
        if found is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            found = self._memo[word] = self._search(word, live)
        return found

    def _search(self, word: str, live: Callable[[str], object]) -> list[tuple[str, float]]:
        grams = trigrams(word)
        lists = self._postings(grams)
        if not lists:
            return []
        places = np.sort(np.concatenate(lists))
        first = np.flatnonzero(np.concatenate((np.ones(1, bool), places[1:] != places[:-1])))
        shared = np.diff(np.append(first, len(places)))
        places = places[first]
        likeness = shared / np.sqrt(self._size_of(places).astype(np.float64) * len(grams))
        typos = self._find_typos(word, places, likeness) if len(word) >= TYPO_LETTERS and not live(word) else {}

        def read(most: int) -> tuple[float, dict[str, float]]:
            edge = float(np.partition(likeness, -most)[-most]) if most < len(likeness) else 0.0
            return edge, {self._word(p): x for p, x in _pairs(places, likeness, likeness >= max(edge, ALIKE))}

        return take_alike(word, read, typos, live)

    def _find_typos(self, word: str, places: NDArray[np.int32], likeness: NDArray[np.float64]) -> dict[str, float]:
        """Return the words that differ from *word* by few letters, with their nearness."""
        from rapidfuzz.distance import OSA  # 15 ms to import; most queries have no unknown word

        others = (self._word(place) for place, _ in _pairs(places, likeness, likeness >= NOMINATED))
        pairs = ((other, OSA.normalized_similarity(word, other, score_cutoff=TYPO)) for other in others)
        return {other: nearness for other, nearness in pairs if nearness}

    def _postings(self, grams: Iterable[int]) -> list[NDArray[np.int32]]:
        base, wanted = self._base, np.fromiter(grams, np.int64)
        at = base.keys.searchsorted(wanted)
        at = at[base.keys.take(at, mode="clip") == wanted] if len(base.keys) else at[:0]
        found = [base.places[a:b] for a, b in zip(base.starts[at].tolist(), base.starts[at + 1].tolist(), strict=True)]
        if self._late:
            found += [np.array(late, np.int32) for gram in grams if (late := self._late.get(gram))]
        return found

    def _size_of(self, places: NDArray[np.int32]) -> NDArray[np.float32]:
        sizes = self._base.sizes
        if not self._words:
            return sizes[places]
        return np.concatenate((sizes, np.array(self._sizes, np.float32)))[places]

    def _word(self, place: int) -> str:
        flat = len(self._base.sizes)
        return self._base.word(place) if place < flat else self._words[place - flat]


def _pairs(
    places: NDArray[np.int32], values: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> Iterator[tuple[int, float]]:
    return zip(places[chosen].tolist(), values[chosen].tolist(), strict=True)
