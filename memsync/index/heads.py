"""The head of each record in a cache: what tells its place in a list before the record is read.

An id, an importance, the last moment at which it was written, in microseconds since 1970; for a writer what its text
may be equal to, and whether it replaces others; for who counts or looks for few, whether it is archived, and has anchors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, chain, filterfalse
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from memsync.records import normal_form
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from array import array
    from datetime import datetime

    from memsync.index.delta import Delta
    from memsync.records import Memory

NEVER: Final = -(1 << 62)  # the moment of a record without a time


class Head(NamedTuple):
    """What is known of a record without reading it; `form` is equal where the normal forms of two texts are, and seldom else."""

    id: str
    importance: float
    moment: int
    form: int
    replaces: bool
    archived: bool
    anchored: bool


def head_of(memory: Memory) -> Head:
    """Return the head of *memory*."""
    form = number_form(normal_form(memory.content))
    moment = _last_moment(memory.updated_at, memory.created_at)
    is_archived = memory.archived_at is not None
    return Head(memory.id, memory.importance, moment, form, bool(memory.supersedes), is_archived, bool(memory.anchors))


def _last_moment(updated: datetime | None, created: datetime | None) -> int:
    """Return the microseconds to when a record was last written."""
    if updated is not created and updated and created:
        updated = max(updated, created)
    last = updated or created
    return count_moment(last) if last else NEVER


def number_form(form: str) -> int:
    """Return the number that stands for a normal *form*."""
    return crc32(form.encode("utf-8", "surrogatepass"))


def count_moment(moment: datetime) -> int:
    """Return the microseconds from 1970 to *moment*."""
    since = moment - _epoch()
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@cache
def _epoch() -> datetime:
    from datetime import UTC, datetime  # who only counts has no moment to compare

    return datetime.fromtimestamp(0, UTC)


def name_arrays(memories: Iterable[Memory]) -> dict[str, array[Any]]:
    """Return the heads of *memories* as arrays, by name."""
    from array import array

    memories = list(memories)
    letters = [memory.id.encode("utf-8", "surrogatepass") for memory in memories]
    return {
        "heads.letters": array("B", b"".join(letters)),
        "heads.ends": array("i", accumulate(map(len, letters))),
        "heads.importance": array("d", [memory.importance for memory in memories]),
        "heads.moments": array("q", [_last_moment(memory.updated_at, memory.created_at) for memory in memories]),
        "heads.forms": array("q", [number_form(normal_form(memory.content)) for memory in memories]),
        "heads.replaces": array("B", [bool(memory.supersedes) for memory in memories]),
        "heads.archived": array("B", [memory.archived_at is not None for memory in memories]),
        "heads.anchored": array("B", [bool(memory.anchors) for memory in memories]),
    }


class Heads:
    """The heads of a cache and of what came later, by slot."""

    def __init__(self, views: Mapping[str, Any], delta: Delta) -> None:
        self._views, self.dead = views, frozenset(delta.dead)
        self._late = [Head(*one) for one in delta.about.get("heads", ())]

    @cached_property
    def ids(self) -> Sequence[str]:
        """The id of each."""
        letters, ends = bytes(self._views["heads.letters"]), self._views["heads.ends"].tolist()
        parts = map(slice, [0, *ends], ends)
        own: Iterable[str]
        if letters.isascii():  # each letter is a byte
            own = map(letters.decode("ascii").__getitem__, parts)
        else:
            own = (letters[part].decode("utf-8", "surrogatepass") for part in parts)
        return [*own, *(head.id for head in self._late)]

    def id_at(self, slot: int) -> str:
        """Return the id of *slot*; of a few, without those of all."""
        ends = self._views["heads.ends"]
        if slot >= len(ends):
            return self._late[slot - len(ends)].id
        letters = self._views["heads.letters"][ends[slot - 1] if slot else 0 : ends[slot]]
        return bytes(letters).decode("utf-8", "surrogatepass")

    @cached_property
    def importance(self) -> Sequence[float]:
        """What each is worth."""
        return [*self._views["heads.importance"].tolist(), *(head.importance for head in self._late)]

    @cached_property
    def moments(self) -> Sequence[int]:
        """When each was last written."""
        return [*self._views["heads.moments"].tolist(), *(head.moment for head in self._late)]

    @cached_property
    def forms(self) -> Sequence[int]:
        """The number of the normal form of each text."""
        return [*self._views["heads.forms"].tolist(), *(head.form for head in self._late)]

    @cached_property
    def replaces(self) -> Sequence[int]:
        """Whether each replaces others."""
        return [*self._views["heads.replaces"].tolist(), *(head.replaces for head in self._late)]

    @property
    def archived(self) -> bytes:
        """Whether each is archived."""
        return bytes(self._views["heads.archived"]) + bytes(head.archived for head in self._late)

    @property
    def anchored(self) -> bytes:
        """Whether each has anchors."""
        return bytes(self._views["heads.anchored"]) + bytes(head.anchored for head in self._late)

    def count_current(self) -> int:
        """Return how many live and are not archived."""
        gone = bytearray(self.archived)
        for slot in self.dead:
            gone[slot] = True
        return gone.count(0)

    def __iter__(self) -> Iterator[int]:
        """Yield the slots that live."""
        slots = range(len(self._views["heads.ends"]) + len(self._late))
        return filterfalse(self.dead.__contains__, slots)


def all_heads(before: Sequence[Sequence[Any]], memories: Iterable[Memory]) -> list[Sequence[Any]]:
    """Return the heads of late records, those *before* and those of *memories*."""
    return list(chain(before, map(head_of, memories)))
