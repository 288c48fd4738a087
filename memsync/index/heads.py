"""The head of each record in a cache: what tells its place in a list before the record is read.

An id, an importance, and the last moment at which it was written, in microseconds since 1970.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final

from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from memsync.index.delta import Delta
    from memsync.records import Memory

NEVER: Final = -(1 << 62)  # the moment of a record without a time
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Head(NamedTuple):
    """What is known of a record without reading it."""

    id: str
    importance: float
    moment: int


def head_of(memory: Memory) -> Head:
    """Return the head of *memory*."""
    moments = [count_moment(moment) for moment in (memory.updated_at, memory.created_at) if moment]
    return Head(memory.id, memory.importance, max(moments, default=NEVER))


def count_moment(moment: datetime) -> int:
    """Return the microseconds from 1970 to *moment*."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def name_arrays(memories: Iterable[Memory]) -> dict[str, array[Any]]:
    """Return the heads of *memories* as arrays, by name."""
    found = list(map(head_of, memories))
    ids = [head.id.encode("utf-8", "surrogatepass") for head in found]
    return {
        "heads.letters": array("B", b"".join(ids)),
        "heads.ends": array("i", accumulate(map(len, ids))),
        "heads.importance": array("d", (head.importance for head in found)),
        "heads.moments": array("q", (head.moment for head in found)),
    }


class Heads:
    """The heads of a cache and of what came later, by slot."""

    def __init__(self, views: Mapping[str, Any], delta: Delta) -> None:
        late = [Head(*one) for one in delta.about.get("heads", ())]
        self._letters, self._ends = bytes(views["heads.letters"]), views["heads.ends"].tolist()
        self._late, self._dead = late, frozenset(delta.dead)
        self.importance: Sequence[float] = [*views["heads.importance"].tolist(), *(head.importance for head in late)]
        self.moments: Sequence[int] = [*views["heads.moments"].tolist(), *(head.moment for head in late)]

    def __iter__(self) -> Iterator[int]:
        """Yield the slots that live."""
        return (slot for slot in range(len(self.moments)) if slot not in self._dead)

    def id(self, slot: int) -> str:
        """Return the id of the record in *slot*."""
        if slot >= len(self._ends):
            return self._late[slot - len(self._ends)].id
        start = self._ends[slot - 1] if slot else 0
        return self._letters[start : self._ends[slot]].decode("utf-8", "surrogatepass")


def all_heads(before: Sequence[Sequence[Any]], memories: Iterable[Memory]) -> list[Sequence[Any]]:
    """Return the heads of late records, those *before* and those of *memories*."""
    return list(chain(before, map(head_of, memories)))
