"""The head of a record: what tells its place in a list, and what a new text may be equal to, before the record is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from memsync.records import normal_form

if TYPE_CHECKING:
    from memsync.records import Memory

NEVER: Final = -(1 << 62)  # the moment of a record without a time
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Head(NamedTuple):
    """What is known of a record without reading it.

    `moment` is when it was written last, in microseconds since 1970; `form` is equal where the normal forms of two texts
    are, and seldom else.
    """

    id: str
    importance: float
    moment: int
    form: int
    replaces: bool
    archived: bool
    anchored: bool
    author: str | None


def head_of(memory: Memory) -> Head:
    """Return the head of *memory*."""
    last = max(filter(None, (memory.updated_at, memory.created_at)), default=None)
    moment = count_moment(last) if last else NEVER
    form = number_form(normal_form(memory.content))
    flags = bool(memory.supersedes), memory.archived_at is not None, bool(memory.anchors)
    return Head(memory.id, memory.importance, moment, form, *flags, memory.author)


def number_form(form: str) -> int:
    """Return the number that stands for a normal *form*."""
    return crc32(form.encode("utf-8", "surrogatepass"))


def count_moment(moment: datetime) -> int:
    """Return the microseconds from 1970 to *moment*."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
