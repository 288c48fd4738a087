"""The forward index: the terms of each record in their order, as numbers, so that nobody splits its text again to weigh it.

The number of a term is its key (`terms.term_key`), the same in every index; the arrays have where it stands among the keys.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from memsync.index.tokens import Said, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memsync.index.pieces import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Slot *s* says ``terms[starts[2 * s]:starts[2 * s + 1]]``, and up to ``starts[2 * s + 2]`` stand those by which it is found beside these.

    *terms* are places among the keys of the postings; those of where a record is anchored are not among them.
    """

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]


def build_forward(documents: Table, hidden: NDArray[Any], is_place: NDArray[np.bool_]) -> Forward:
    """Return the terms of *documents*, which end with so many *hidden* ones, without those of which *is_place* says that they name a place."""
    flat, ends = documents.flat, documents.starts
    if is_place.any():
        is_said = ~is_place[flat]
        flat, ends = flat[is_said], np.append(0, np.cumsum(is_said))[ends]
    starts = np.zeros(2 * len(hidden) + 1, np.int64)
    starts[2::2] = ends[1:]
    starts[1::2] = ends[1:] - hidden
    return Forward(terms=flat, starts=starts)


class SlotTerms:
    """What the record of each slot says: by the arrays, whose terms are places among *keys*, and beside them of late records."""

    def __init__(self, base: Forward, keys: NDArray[np.uint64]) -> None:
        self._base, self._keys = base, keys
        self._count = len(base.starts) // 2
        self._late: dict[int, tuple[array[int], int]] = {}

    def read(self, slot: int) -> Said:
        """Return what the record of *slot* says."""
        if slot >= self._count:
            numbers, said = self._late[slot]
            return say(numbers.tolist(), said)
        start, middle, end = self._base.starts[2 * slot : 2 * slot + 3].tolist()
        return say(self._keys.take(self._base.terms[start:end]).tolist(), middle - start)

    def add(self, slot: int, numbers: Sequence[int], said: int) -> None:
        """Hold the *numbers* of the terms of *slot*, which is new; it says so many of them."""
        self._late[slot] = array("Q", numbers), said

    def forget(self, slot: int) -> None:
        """Hold no more of *slot*, if it came late."""
        self._late.pop(slot, None)

    def taken(self, alive: NDArray[np.bool_], keys: NDArray[np.uint64]) -> Forward:
        """Return the terms of the *alive* slots without gaps, as places among *keys*, which has all of them."""
        rows = np.repeat(alive[: self._count], 2)
        sizes = np.diff(self._base.starts)
        places = keys.searchsorted(self._keys).astype(np.int32)
        terms = places[self._base.terms if rows.all() else self._base.terms[np.repeat(rows, sizes)]]
        late = [self._late[slot] for slot in range(self._count, len(alive)) if alive[slot]]
        numbers = np.fromiter(chain.from_iterable(numbers for numbers, _ in late), np.uint64)
        behind = np.array([(said, len(numbers) - said) for numbers, said in late], np.int64).reshape(-1)
        return Forward(
            terms=np.concatenate((terms, keys.searchsorted(numbers).astype(np.int32))),
            starts=np.concatenate(([0], np.cumsum(np.concatenate((sizes[rows], behind))))),
        )
