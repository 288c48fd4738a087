"""Inverted index: flat postings by term, plus a small overlay of late records; and the terms of each record in order.

Owns postings, document frequencies and lengths; knows slots (row numbers) and
terms, not records. Every statistic is exact after each change, so a changed
index scores as a freshly built one does. The base may be memory-mapped.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memsync.index.scale import ALIKE, GRAM_BITS, NOMINATED, TYPO, TYPO_LETTERS
from memsync.index.terms import Damping, damping_of, length_of, take_alike, term_key, trigrams, weigh_term
from memsync.index.tokens import Said, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Postings = tuple[NDArray[np.int32], NDArray[Any]]  # slots, and how often a term is there

_OVERLAY_LIMIT: Final = 256
_MEMO_LIMIT: Final = 200_000
_DENSE: Final = 16  # of so many slots one has a term that is looked at as of each slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Postings of the term hashed to ``keys[i]``: ``slots[starts[i]:starts[i + 1]]``."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[Any]
    lengths: NDArray[np.float32]


class Lexical:
    """BM25 statistics over integer slots."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._lengths = base.lengths
        self._late = _make_overlay()
        self._late_records = 0
        self._shift: Counter[int] = Counter()
        self._entries: dict[str, tuple[int, int, int]] = {}
        self.live = len(base.lengths)
        self._total = float(base.lengths.sum(dtype=np.float64))
        self._squares = float((base.lengths.astype(np.float64) ** 2).sum())
        self._norms: tuple[Damping, NDArray[np.float64]] | None = None

    @property
    def ceiling(self) -> float:
        """The weight of a term that no record has."""
        return weigh_term(0, self.live)

    def number(self, terms: Iterable[str]) -> list[int]:
        """Return the keys of *terms*."""
        return [self._entry(term)[0] for term in terms]

    def weight(self, term: str) -> float:
        """Return the inverse document frequency of *term*."""
        return self.weigh(self.frequency(term))

    def weigh(self, seen: int) -> float:
        """Return the inverse document frequency of a term that *seen* live records have."""
        return weigh_term(seen, self.live)

    def frequency(self, term: str) -> int:
        """Return how many live records have *term*."""
        key, low, high = self._entry(term)
        return high - low + self._shift.get(key, 0)

    def postings(self, term: str) -> Postings:
        """Return the slots of *term*, dead ones included, and its count in each."""
        slots, counts = zip(*self.parts(term), strict=True)
        return np.concatenate(slots), np.concatenate(counts)

    def parts(self, term: str) -> tuple[Postings, ...]:
        """Return what `postings` does in one part or two."""
        key, low, high = self._entry(term)
        own = self._base.slots[low:high], self._base.counts[low:high]
        return (own, _part(late)) if (late := self._late.get(key)) else (own,)

    def weigh_shared(self, keys: Sequence[int], share: float) -> NDArray[np.float64]:
        """Return of each slot that has *share* of the terms with *keys*, or of its own where those are fewer, the weights of these added up; else 0."""
        size, found = len(self._lengths), [*map(self._find_having, keys)]
        shared: NDArray[Any] = np.zeros(size, np.uint8 if len(keys) < 256 else np.int32)
        for having, _ in found:
            if having.dtype == bool:
                shared += having.view(np.uint8)  # as numbers, without a conversion of each
            else:
                shared[having] += 1
        enough = np.flatnonzero((shared > 0) & (shared >= share * np.minimum(len(keys), self._lengths)))
        places = np.full(size, -1, np.int32)
        places[enough] = np.arange(len(enough))
        added = np.zeros(len(enough))  # of each slot in the order of the keys
        for having, weight in found:
            if having.dtype == bool:
                added += weight * having[enough]
            else:
                at = places[having]
                added[at[at >= 0]] += weight
        scores = np.zeros(size)
        scores[enough] = added
        return scores

    def _find_having(self, key: int) -> tuple[NDArray[Any], float]:
        """Return the slots that have the term with *key*, or where those are many of each slot whether it does; and what the term weighs."""
        _, low, high = self._find(key)
        slots, late = self._base.slots[low:high], self._late.get(key)
        if late:
            slots = np.concatenate((slots, _part(late)[0]))
        weight = self.weigh(high - low + self._shift.get(key, 0))
        if _DENSE * len(slots) < len(self._lengths):
            return slots, weight
        has = np.zeros(len(self._lengths), bool)  # to add up 100,000 of these takes less than to count 6,000 slots
        has[slots] = True
        return has, weight

    def norms(self, asked: int) -> NDArray[np.float64]:
        """Return what damps the counts of each slot in a query of *asked* words: the more, the longer its record; not to be changed."""
        damping = damping_of(self.live, self._total, self._squares, asked)
        if self._norms is None or self._norms[0] != damping:
            self._norms = damping, damping.offset + damping.scale * self._lengths.astype(np.float64)
        return self._norms[1]

    def add(self, slot: int, terms: Sequence[str], places: Sequence[str] = ()) -> None:
        """Index *terms* and *places*, which make it no longer, under *slot*, which must be new."""
        if self._late_records >= max(_OVERLAY_LIMIT, self.live // 50):
            self._settle()
        counts = Counter(self.number([*terms, *places]))
        for key, count in counts.items():
            self._late[key].extend((slot, count))
            self._shift[key] += 1
        if slot >= len(self._lengths):
            self._lengths = np.concatenate((self._lengths, np.zeros(slot // 8 + 64, np.float32)))
        length = length_of(terms, places)
        self._lengths[slot] = length
        self._late_records += 1
        self._changed(1, float(length))

    def remove(self, slot: int, terms: Iterable[str]) -> None:
        """Forget *slot*, which has these *terms*, those of its places among them; its postings go at the next settling."""
        for key in set(self.number(terms)):
            self._shift[key] -= 1
        if not self._lengths.flags.writeable:
            self._lengths = np.array(self._lengths)
        length = float(self._lengths[slot])
        self._lengths[slot] = 0
        self._changed(-1, -length)

    def _entry(self, term: str) -> tuple[int, int, int]:
        entry = self._entries.get(term)
        if entry is None:
            if len(self._entries) >= _MEMO_LIMIT:
                self._entries.clear()
            entry = self._entries[term] = self._find(term_key(term))
        return entry

    def _find(self, key: int) -> tuple[int, int, int]:
        base = self._base
        at = int(base.keys.searchsorted(np.uint64(key)))
        if at == len(base.keys) or base.keys[at] != key:
            return key, 0, 0
        return key, int(base.starts[at]), int(base.starts[at + 1])

    def _changed(self, records: int, terms: float) -> None:
        self.live += records
        self._total += terms
        self._squares += records * terms * terms
        self._norms = None

    def _settle(self) -> None:
        """Merge the overlay into the base and drop dead postings, in linear time."""
        old, late = self._base, sorted(self._late.items())
        late_keys = np.repeat(np.array([key for key, _ in late], np.uint64), [len(pairs) // 2 for _, pairs in late])
        late_slots, late_counts = _part(chain.from_iterable(pairs for _, pairs in late))
        at = old.starts[old.keys.searchsorted(late_keys, side="right")]
        slots, counts = np.insert(old.slots, at, late_slots), np.insert(old.counts.astype(np.int32), at, late_counts)
        every = np.insert(np.repeat(old.keys, np.diff(old.starts)), at, late_keys)
        alive = self._lengths[slots] > 0
        keys, sizes = np.unique(every[alive], return_counts=True)
        starts = np.append(np.int64(0), np.cumsum(sizes))
        self._base = Base(
            keys=keys, starts=starts, slots=slots[alive], counts=shrink(counts[alive]), lengths=self._lengths
        )
        self._late, self._late_records, self._shift = _make_overlay(), 0, Counter()
        self._entries.clear()


def _make_overlay() -> defaultdict[int, array[int]]:
    """Return room for the postings of late records, by term: a slot, how often it has the term, the next slot."""
    return defaultdict(partial(array, "i"))


def _part(late: Iterable[int]) -> Postings:
    pairs = np.array(late if isinstance(late, array) else [*late], np.int32)  # a copy: what lends itself cannot grow
    return pairs[::2], pairs[1::2]


def shrink(counts: NDArray[np.int32]) -> NDArray[Any]:
    """Return *counts* in as few bytes as the largest takes: of most stores a quarter."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def saturate(counts: NDArray[Any], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return BM25's damped *counts*: what one more word of the same record adds gets less."""
    exact = counts.astype(np.float64)
    return exact / (exact + norms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Slot *s* says ``terms[starts[2 * s]:starts[2 * s + 1]]``, and up to ``starts[2 * s + 2]`` stand those by which it is found beside these.

    *terms* are keys; those of where a record is anchored are not among them.
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]


class SlotTerms:
    """What the record of each slot says: by the arrays, and beside them of late records."""

    def __init__(self, base: Forward) -> None:
        self._base = base
        self._late: dict[int, tuple[array[int], int]] = {}

    def read(self, slot: int) -> Said:
        """Return what the record of *slot* says."""
        if slot in self._late:
            numbers, said = self._late[slot]
            return say(numbers.tolist(), said)
        start, middle, end = self._base.starts[2 * slot : 2 * slot + 3].tolist()
        return say(self._base.terms[start:end].tolist(), middle - start)

    def add(self, slot: int, numbers: Sequence[int], said: int) -> None:
        """Hold the *numbers* of the terms of *slot*, which is new; it says so many of them."""
        self._late[slot] = array("Q", numbers), said

    def forget(self, slot: int) -> None:
        """Hold no more of *slot*, if it came late."""
        self._late.pop(slot, None)


# Vocabulary words that look like a query word: typos, word forms, identifier parts.
#
# Owns letter trigrams of the vocabulary, not of the texts: some twenty times
# smaller than n-grams of every record, and as good. Knows words, not records.


_SPELLED_LIMIT: Final = 4096


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
            if len(self._memo) >= _SPELLED_LIMIT:
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
