"""The head of each record in a cache: what tells its place in a list before the record is read.

An id, an importance, the last moment at which it was written, in microseconds since 1970; and for a writer what its text
may be equal to, and whether it replaces others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from memsync.records import normal_form
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from memsync.index.delta import Delta
    from memsync.records import Memory

NEVER: Final = -(1 << 62)  # the moment of a record without a time
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Head(NamedTuple):
    """What is known of a record without reading it; `form` is equal where the normal forms of two texts are, and seldom else."""

    id: str
    importance: float
    moment: int
    form: int
    replaces: bool


def head_of(memory: Memory) -> Head:
    """Return the head of *memory*."""
    updated, created = memory.updated_at, memory.created_at
    last = max(updated, created) if updated and created else updated or created
    form = number_form(normal_form(memory.content))
    return Head(memory.id, memory.importance, count_moment(last) if last else NEVER, form, bool(memory.supersedes))


def number_form(form: str) -> int:
    """Return the number that stands for a normal *form*."""
    return crc32(form.encode("utf-8", "surrogatepass"))


def count_moment(moment: datetime) -> int:
    """Return the microseconds from 1970 to *moment*."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def name_arrays(memories: Iterable[Memory]) -> dict[str, array[Any]]:
    """Return the heads of *memories* as arrays, by name."""
    ids, importance, moments, forms, replaces = list(zip(*map(head_of, memories), strict=True)) or [()] * len(
        Head._fields
    )
    letters = [id_.encode("utf-8", "surrogatepass") for id_ in ids]
    return {
        "heads.letters": array("B", b"".join(letters)),
        "heads.ends": array("i", accumulate(map(len, letters))),
        "heads.importance": array("d", importance),
        "heads.moments": array("q", moments),
        "heads.forms": array("q", forms),
        "heads.replaces": array("B", replaces),
    }


class Heads:
    """The heads of a cache and of what came later, by slot."""

    def __init__(self, views: Mapping[str, Any], delta: Delta) -> None:
        late = [Head(*one) for one in delta.about.get("heads", ())]
        letters, ends = bytes(views["heads.letters"]), views["heads.ends"].tolist()
        text = letters.decode("ascii") if letters.isascii() else None  # of which each letter is a byte
        places = zip([0, *ends], ends, strict=False)
        own = [text[a:b] if text is not None else letters[a:b].decode("utf-8", "surrogatepass") for a, b in places]
        self.ids: Sequence[str] = [*own, *(head.id for head in late)]
        self._dead = frozenset(delta.dead)
        self.importance: Sequence[float] = [*views["heads.importance"].tolist(), *(head.importance for head in late)]
        self.moments: Sequence[int] = [*views["heads.moments"].tolist(), *(head.moment for head in late)]
        self.forms: Sequence[int] = [*views["heads.forms"].tolist(), *(head.form for head in late)]
        self.replaces: Sequence[int] = [*views["heads.replaces"].tolist(), *(head.replaces for head in late)]

    def __iter__(self) -> Iterator[int]:
        """Yield the slots that live."""
        slots = range(len(self.moments))
        return (slot for slot in slots if slot not in self._dead) if self._dead else iter(slots)


def all_heads(before: Sequence[Sequence[Any]], memories: Iterable[Memory]) -> list[Sequence[Any]]:
    """Return the heads of late records, those *before* and those of *memories*."""
    return list(chain(before, map(head_of, memories)))
