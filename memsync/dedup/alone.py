"""Which of many texts have no text before them that may say the same: found out for all at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from memsync.dedup.reading import hold_in_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE: Final = 1 << 16  # pairs
_MOST: Final = 4_096  # pairs a text, beyond which looking for each text alone is quicker
_COLUMNS: Final = 8  # of a signature
_WIDTH: Final = 64  # bits of a column
_BITS: Final = 32  # of the lower one of two numbers in one
_LOW: Final = (1 << _BITS) - 1


class Batch:
    """Texts in their order, each in words. `alone`: those that share less than *share* of the shorter one's words with any before."""

    def __init__(self, texts: Sequence[str], share: float) -> None:
        self._table, self._words = _number_words(texts)
        self._rows = dict(zip(texts, range(len(texts)), strict=False))  # of a text that is there twice the last
        is_alone = _find_alone(self._table, len(self._words), share)
        near = {text for text, lonely in zip(texts, is_alone.tolist(), strict=True) if not lonely}
        self.alone = frozenset(self._rows.keys() - near)

    def __contains__(self, text: str) -> bool:
        return text in self._rows

    def read(self, text: str) -> frozenset[str]:
        """Return the words of *text*, one of ours, as `hold_content` does."""
        start, end = self._table.starts[self._rows[text] :][:2]
        return frozenset(map(self._words.__getitem__, self._table.flat[start:end].tolist()))


class _Table(NamedTuple):
    """Rows of numbers, one after the other: row *i* is ``flat[starts[i]:starts[i + 1]]``."""

    flat: NDArray[np.int32]
    starts: NDArray[np.int64]


def _number_words(texts: Sequence[str]) -> tuple[_Table, list[str]]:
    """Return the words of each text as numbers, some of them twice, and what they stand for."""
    words: dict[str, int] = {}
    parts: dict[frozenset[str], list[int]] = {}  # most come again
    flat, starts = array("i"), array("q", [0])
    for text in texts:
        for part in hold_in_parts(text):
            if (numbers := parts.get(part)) is None:
                numbers = parts[part] = [words.setdefault(word, len(words)) for word in sorted(part)]
            flat.fromlist(numbers)
        starts.append(len(flat))
    return _Table(np.frombuffer(flat, np.int32), np.frombuffer(starts, np.int64)), [*words]


def _find_alone(table: _Table, kinds: int, share: float) -> NDArray[np.bool_]:
    """Tell of each row of *table*, of *kinds* numbers, that no row before it has *share* of the numbers of the shorter one.

    A longer row that has these lacks no more than the rest, so of the rarest numbers of the shorter one it has one if they
    are one more than that. Only such pairs are compared, by signatures: each bit that the longer one lacks is a number that
    it lacks. Of some rows that are alone it is not told.
    """
    count = len(table.starts) - 1
    entries = np.sort(_join(np.repeat(np.arange(count), np.diff(table.starts)), table.flat))
    entries = entries[np.diff(entries, prepend=-1) > 0]  # each once
    sizes = np.bincount(entries >> _BITS, minlength=count)
    order = np.argsort(sizes, kind="stable")  # a shorter one comes first
    ranks = _invert(np.argsort(np.bincount(entries & _LOW, minlength=kinds), kind="stable"))  # a rare one comes first
    entries = np.sort(_join(_invert(order)[entries >> _BITS], ranks[entries & _LOW]))
    sizes = sizes[order]
    spare = sizes - np.ceil(share * sizes).astype(np.int64)
    rows, held = entries >> _BITS, np.sort(_turn(entries))
    rarest = entries[np.arange(len(entries)) - (np.cumsum(sizes) - sizes)[rows] <= spare[rows]]
    first = np.searchsorted(held, _turn(rarest), "right")  # of those behind it that have it, too
    found = np.searchsorted(held, ((rarest & _LOW) + 1) << _BITS) - first
    is_near = np.zeros(count, np.bool_)
    if found.sum() > _MOST * count:
        return is_near
    signatures = _sign(entries, sizes)
    for part in _cut(found):
        one = np.repeat(rarest[part] >> _BITS, found[part])
        other = held[_list_ranges(first[part], found[part])] & _LOW
        lacks = np.zeros(len(one), np.uint16)
        for column in signatures:
            lacks += np.bitwise_count(column[one] & ~column[other])
            may_be = np.flatnonzero(lacks <= spare[one])
            one, other, lacks = one[may_be], other[may_be], lacks[may_be]
        is_near[np.maximum(order[one], order[other])] = True
    return ~is_near


def _sign(entries: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NDArray[np.uint64]]:
    """Return a signature of each row, in columns: a bit for each of its numbers, which some others share."""
    numbers, has_some = entries & _LOW, sizes > 0
    starts = (np.cumsum(sizes) - sizes)[has_some]
    bits = np.uint64(1) << (numbers % _WIDTH).astype(np.uint64)
    columns = []
    for column in range(_COLUMNS):
        signs = np.zeros(len(sizes), np.uint64)
        mine = np.where(numbers // _WIDTH % _COLUMNS == column, bits, np.uint64(0))
        signs[has_some] = np.bitwise_or.reduceat(mine, starts) if len(starts) else 0
        columns.append(signs)
    return columns


def _cut(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Yield slices of *sizes* with about _AT_ONCE in all, at least one of them."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        last = max(first + 1, int(np.searchsorted(ends, (ends[first - 1] if first else 0) + _AT_ONCE, "right")))
        yield slice(first, last)
        first = last


def _list_ranges(first: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of each range, one range behind the other."""
    return np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())


def _join(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.int64]:
    joined: NDArray[np.int64] = high.astype(np.int64) << _BITS | low
    return joined


def _turn(entries: NDArray[np.int64]) -> NDArray[np.int64]:
    return _join(entries & _LOW, entries >> _BITS)


def _invert(order: NDArray[Any]) -> NDArray[np.int64]:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
