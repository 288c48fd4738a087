"""Many memories in one pass: their distinct pieces, numbered, so that each is read once whatever is made of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from memsync.index.terms import live_anchors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.records import Memory


_SOME: Final = 1 << 16  # numbers in a list, which takes twice the memory and half the time of an array


_ROWS: Final = 512  # at once: what they take in between stays in the processor's cache, and is asked of the system once


class Table(NamedTuple):
    """Rows of whole numbers, one after the other: row *i* is ``flat[starts[i]:starts[i + 1]]``."""

    flat: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], numbers: Mapping[Any, int] | None = None) -> Table:
        """Return *rows* as a table: of numbers, or of what *numbers* has a number for."""
        starts = _starts(np.fromiter(map(len, rows), np.int64, len(rows)))
        flat = chain.from_iterable(rows)
        return cls(np.fromiter(map(numbers.__getitem__, flat) if numbers else flat, np.int32, starts[-1]), starts)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many numbers each row has."""
        return np.diff(self.starts)

    def cut(self, first: int, last: int) -> Table:
        """Return the rows from *first* to before *last*."""
        starts = self.starts[first : last + 1]
        return Table(self.flat[starts[0] : starts[-1]], starts - starts[0])

    def taken(self, rows: NDArray[Any]) -> Table:
        """Return the rows of these numbers."""
        sizes = self.sizes[rows]
        starts = _starts(sizes)
        at = np.repeat(self.starts[rows] - starts[:-1], sizes)
        at += np.arange(starts[-1])
        return Table(self.flat[at], starts)

    def through(self, other: Table) -> Table:
        """Return for each row what its numbers stand for in *other*."""
        flats, starts = [other.flat[:0]], [np.zeros(1, np.int64)]
        for part in self.blocks(_ROWS):
            found = other.taken(part.flat)
            flats.append(found.flat)
            starts.append(found.starts[part.starts[1:]] + starts[-1][-1])
        return Table(np.concatenate(flats), np.concatenate(starts))

    def blocks(self, size: int) -> Iterator[Table]:
        """Yield the rows, *size* at once."""
        return (self.cut(at, at + size) for at in range(0, len(self.starts) - 1, size))


class Numbers(dict[Any, int]):
    """A number for each thing that is asked for, from 0."""

    def __missing__(self, thing: Any) -> int:
        number = self[thing] = len(self)
        return number


def number_pieces(memories: Iterable[Memory]) -> tuple[Table, list[Any]]:
    """Return the numbers of the pieces of each memory, and what the numbers stand for.

    A piece is what stands between white space in the content, or all tags, or behind None the anchors; the last one is the cues with the day.
    """
    numbers, flat, starts, some = Numbers(), array("i"), array("q", [0]), list[int]()
    number = numbers.__getitem__
    for memory in memories:
        made = memory.created_at
        if anchors := live_anchors(memory):
            some.append(number((None, anchors)))
        some += map(number, memory.content.split())
        some.append(number(memory.tags))
        some.append(number((memory.cues, made and made.date())))
        starts.append(len(flat) + len(some))
        if len(some) > _SOME:
            flat.fromlist(some)
            some.clear()
    flat.fromlist(some)
    return Table(np.frombuffer(flat, np.int32), np.frombuffer(starts, np.int64)), list(numbers)


def text_of(piece: Any) -> str:
    """Return the text of a piece, as it is embedded."""
    if isinstance(piece, str):
        return piece
    if piece and piece[0] is None:
        return ""
    return " ".join(piece[0] if piece and isinstance(piece[0], tuple) else piece)


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
