"""What changed between two looks at a store, and what an export changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memsync.errors import ExportRefused
from memsync.format import jsonl
from memsync.format.codec import Line
from memsync.records import Change, Memory, content_hash


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None


def compare_lines(before: Mapping[str, Line], after: Mapping[str, Line]) -> list[Change]:
    """Return what differs between two sets of current lines, by id."""
    moved = {id_ for id_, line in after.items() if before.get(id_) is not line} | (before.keys() - after.keys())
    nothing = Line(b"")
    return compare_memories(
        {id_: memory for id_ in moved if (memory := before.get(id_, nothing).memory)},
        {id_: memory for id_ in moved if (memory := after.get(id_, nothing).memory)},
    )


def compare_memories(before: Mapping[str, Memory], after: Mapping[str, Memory]) -> list[Change]:
    """Return what differs between two sets of memories, by id."""
    pairs = ((id_, before.get(id_), after.get(id_)) for id_ in sorted(before.keys() | after.keys()))
    return [Change(id_, old, new) for id_, old, new in pairs if old is not new and old != new]


def refuse_loss(path: Path, lines: Sequence[Line], new: bytes) -> None:
    """Do nothing unless *new*, what is to be written to *path*, lacks a live memory of *lines*.

    Raises:
        ExportRefused: it does, which is a bug.
    """
    live = {id_ for id_, line in jsonl.current(lines).items() if line.memory}
    after = {line.id for line in jsonl.read_lines(new, {line.raw: line for line in lines}) if line.memory}
    if lost := live - after:
        why = f"the canonical form would lose {len(lost)} memories"
        raise ExportRefused(path, why, "please report this; nothing was changed")


class Hashes:
    """Which live memories have a content hash: mostly one."""

    def __init__(self, memories: Mapping[str, Memory]) -> None:
        self._ids: dict[str, dict[str, None]] = {}  # by hash, in order
        self.apply([Change(id_, None, memory) for id_, memory in memories.items()])

    def find(self, hash_: str) -> Iterable[str]:
        """Return the ids of the memories with that hash."""
        return self._ids.get(hash_, ())

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in what changed."""
        for change in changes:
            if change.before:
                self._ids.get(content_hash(change.before.content), {}).pop(change.id, None)
            if change.after:
                self._ids.setdefault(content_hash(change.after.content), {})[change.id] = None
