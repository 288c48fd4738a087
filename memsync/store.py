"""One store: the only writer of a memories.jsonl.

A write appends under the lock after looking at the file again; an export
brings the file to canonical form. What is in memory is a copy of the file and
nothing else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memsync import codec, files, jsonl, merge
from memsync.codec import Line
from memsync.errors import AmbiguousId, ExportRefused, MemoryNotFound, StoreError, StoreUnreadable
from memsync.jsonl import Problem
from memsync.records import Change, Memory, content_hash, format_time
from memsync.routing import Place

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 10
_HISTORY_LIMIT: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None


class Store:
    """The memories of one place.

    Reading methods show the file as of the last `refresh`; writing methods are
    called inside `writing()`, are durable when they return, and return what
    changed. Safe to share between threads and to use from many processes.
    `in_log_form` tells that this object wrote lines that no export put in order.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._mutex = threading.RLock()
        self._stamp: files.Stamp | None = None
        self._lines: list[Line] = []
        self._current: dict[str, Line] = {}
        self._by_hash: dict[str, dict[str, None]] | None = None  # hash -> ids in order; mostly one
        self.in_log_form = False
        self._listener: Callable[[Sequence[Change]], None] | None = None

    @property
    def path(self) -> Path:
        """The file, links followed.

        Raises:
            OutsideTree: a link leads out of the repository.
        """
        return files.resolve_inside(self.place.memories, self.place.tree)

    def follow(self, listener: Callable[[Sequence[Change]], None], since: Mapping[str, Memory]) -> None:
        """Call *listener* (the only one) with what changed *since*, and from now on with every change, in order."""
        with self._mutex:
            self.refresh()
            self._listener = listener
            if changes := _changes(since, self.memories()):
                listener(changes)

    # reading

    def refresh(self) -> list[Change]:
        """Read the file again if its stamp changed, and return what is different since the last look.

        Raises:
            StoreUnreadable, OutsideTree
        """
        with self._mutex:
            path = self.path
            if self._stamp is not None and files.stamp(path) == self._stamp:
                return []
            was_whole = self._stamp is not None
            self._stamp = None  # until all of it is taken in
            data, seen = files.read(path)
            if jsonl.is_utf16(data):
                raise StoreUnreadable(path, "is UTF-16", "save it as UTF-8")
            if was_whole and (added := self._added(data)) is not None:
                changes = self._take_in(added)
                self._stamp = seen
                return self._announce(changes)
            before = self._current
            self._lines = jsonl.read_lines(data, self._known())
            self._current = merge.current(self._lines)
            self._stamp = seen
            if not before and self._listener is None and self._by_hash is None:
                return []  # nothing to compare with, and nobody to tell
            return self._announce(_diff(before, self._current))

    def _known(self) -> dict[bytes, Line]:
        return {line.raw: line for line in self._lines}

    def memories(self) -> dict[str, Memory]:
        """Return the live memories by id; the caller may keep the dictionary."""
        with self._mutex:
            return {id_: line.memory for id_, line in self._current.items() if line.memory}

    def get(self, id_: str) -> Memory | None:
        """Return the live memory *id_*, by its whole id."""
        line = self._current.get(id_)
        return line.memory if line else None

    def knows(self, id_: str) -> bool:
        """Tell whether a line has that id, be it a live memory or a removal."""
        return id_ in self._current

    def __len__(self) -> int:
        return len(self._current)

    def by_hash(self, hash_: str, *, besides: str = "") -> Memory | None:
        """Return a live memory with that content hash and another id than *besides*."""
        with self._mutex:
            if self._by_hash is None:
                self._by_hash = {}
                self._index_hashes([Change(id_, None, memory) for id_, memory in self.memories().items()])
            return next((m for id_ in self._by_hash.get(hash_, ()) if id_ != besides and (m := self.get(id_))), None)

    def problems(self) -> list[Problem]:
        """Return what a person should look at in the file, by line."""
        with self._mutex:
            return jsonl.problems(self._lines)

    def first_problem(self) -> tuple[int, int, str] | None:
        """Return how many lines need a look, and the first of them with what is wrong; None if all are well."""
        found = [problem for problem in self.problems() if not problem.harmless]
        return (len(found), found[0].number, found[0].why) if found else None

    @property
    def stamp(self) -> files.Stamp | None:
        """The stamp of the file as it was last read or written; None before."""
        return self._stamp

    def spans(self) -> tuple[files.Stamp, dict[str, tuple[int, int, Memory]]]:
        """Return the stamp and, by id, where each live memory's line begins and ends in the file, in bytes."""
        with self._mutex:
            place, found = 0, {}
            for line in self._lines:
                end = place + len(line.raw)
                if line.id is not None and line.memory and self._current.get(line.id) is line:
                    found[line.id] = (place, end, line.memory)
                place = end + 1
            return self._stamp or files.ABSENT, found

    def is_spent(self) -> bool:
        """Tell whether nothing of the file would be left after an export."""
        with self._mutex:
            return not jsonl.export(self._lines)

    def is_canonical(self) -> bool:
        """Tell whether an export would change nothing."""
        data, _ = files.read(self.path)
        return jsonl.in_conflict(self._lines) or jsonl.export(jsonl.read_lines(data)) == data

    def nameless(self) -> list[str]:
        """Return the derived ids of records that were written by hand without one."""
        with self._mutex:
            return [id_ for id_, line in self._current.items() if line.nameless]

    def replaced(self) -> dict[str, bytes]:
        """Return, by id, the last line of the local history that says something else than the file does now."""
        kept: dict[str, bytes] = {}
        for name in ("history.1.jsonl", "history.jsonl"):
            data, _ = files.read(self.place.local / name)
            for line in jsonl.read_lines(data):
                if line.id and line.memory and not _same_but_for_time(line.memory, self.get(line.id)):
                    kept[line.id] = line.raw
        return kept

    # writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock with the file freshly read: decide and write inside.

        Raises:
            LockTimeout, StoreNotWritable, StoreUnreadable, OutsideTree
        """
        with self._mutex:
            files.make_local(self.place.local, private=self.place.private, tree=self.place.tree)
            with files.lock(self.place.local / "lock"):
                self.refresh()
                yield

    def add(self, memories: Iterable[Memory]) -> list[Change]:
        """Append new *memories* with one fsync."""
        return self.write(memories, {})

    def update(self, edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new versions: id -> JSON fields to set. Other fields keep their bytes."""
        return self.write((), edits)

    def write(self, memories: Iterable[Memory], edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new *memories* and new versions with one fsync: all of them, or on an error none."""
        old = [self._current[id_].raw for id_ in edits]
        new = [codec.edit(raw, {"id": id_, **fields}) for raw, (id_, fields) in zip(old, edits.items(), strict=True)]
        self._keep_replaced(old)
        return self._append([codec.encode(memory) for memory in memories] + new)

    def adopt(self, other: Store) -> list[str]:
        """Append the live lines and the history of *other*, byte for byte; return the ids that both now have."""
        self._keep_replaced(list(other.replaced().values()))
        with other._mutex:
            lines = [line for line in other._current.values() if line.memory and line.id]
        same = [line for line in lines if (mine := self.get(line.id or "")) and mine == line.memory]
        new = [line for line in lines if not self.get(line.id or "")]
        self._append([line.raw.rstrip(b"\r") for line in new])
        return [line.id for line in same + new if line.id]

    def remove(self, ids: Iterable[str], now: datetime, *, keep: bool = True) -> list[Change]:
        """Append removals. The lines stay in the local history, from which `restore` takes them, unless told otherwise."""
        ids = list(ids)
        self._keep_replaced([self._current[id_].raw for id_ in ids] if keep else [])
        return self._append([codec.encode_tombstone(id_, now) for id_ in ids])

    def restore(self, id_: str, now: datetime) -> list[Change]:
        """Append the last replaced or removed line of *id_* again.

        A removed memory comes back byte for byte; over a live one the old
        version is written as a new edit, so that a merge keeps it.

        Raises:
            MemoryNotFound: this machine keeps no earlier version of it.
        """
        raw = self.replaced().get(id_)
        if raw is None:
            raise MemoryNotFound(id_, " that was changed or removed on this machine")
        line = self._current.get(id_)
        if line and line.memory:
            self._keep_replaced([line.raw])
            raw = codec.edit(raw, {"id": id_, "updated_at": format_time(now)})
        return self._append([raw])

    def export(self, *, collapse: bool = False) -> Exported:
        """Bring the file to canonical form by atomic replace; a second time changes no byte.

        A file with conflict markers is left alone. Edits that others make in
        the same moment are kept.

        Raises:
            ExportRefused: the canonical form would lack a live memory (a bug).
            StoreFull, StoreNotWritable: nothing was changed.
        """
        if files.stamp(self.path) == files.ABSENT:
            return Exported(self.path, changed=False)
        with self.writing():
            for _ in range(_ATTEMPTS):
                if (done := self._export_once(collapse)) is not None:
                    return done
                self.refresh()
            raise StoreError(
                self.path, "kept changing while it was exported", "try again when the other writer is done"
            )

    def _export_once(self, collapse: bool) -> Exported | None:
        path = self.path
        data, _ = files.read(path)
        lines = jsonl.read_lines(data, self._known())
        if jsonl.in_conflict(lines):
            return Exported(path, changed=False, held="it has git conflict markers; resolve the conflict first")
        new = jsonl.export(lines, collapse=collapse)
        if new == data:
            self.in_log_form = False
            return Exported(path, changed=False)
        self._guard_against_shrinking(lines, new)
        if collapse:
            kept = set(new.split(b"\n"))
            self._keep_replaced([line.raw for line in lines if line.memory and line.raw not in kept])
        temp = self.place.local / "export.tmp"
        late = files.replace(path, new, was=data, temp=temp, private=self.place.private, may_grow=True)
        if late is None:
            return None
        if late:
            files.append(path, late, private=self.place.private)
        self.refresh()
        self.in_log_form = False
        return Exported(path, changed=True)

    def _guard_against_shrinking(self, lines: list[Line], new: bytes) -> None:
        live = {id_ for id_, line in merge.current(lines).items() if line.memory}
        after = {line.id for line in jsonl.read_lines(new, self._known()) if line.memory}
        if lost := live - after:
            raise ExportRefused(
                self.path,
                f"the canonical form would lose {len(lost)} memories",
                "please report this; nothing was changed",
            )

    def _append(self, raws: list[bytes]) -> list[Change]:
        if not raws:
            return []
        path = self.path
        files.make_dirs(path.parent, private=self.place.private)
        seen, self._stamp = self._stamp, None  # until all of it is taken in
        before, after = files.append(path, b"".join(raw + b"\n" for raw in raws), private=self.place.private)
        self.in_log_form = True
        if before != seen:
            return self.refresh()  # somebody without the lock wrote in between
        changes = self._take_in(map(jsonl.read_line, raws))
        self._stamp = after
        return self._announce(changes)

    def _added(self, data: bytes) -> list[Line] | None:
        """Return the lines that *data* has behind those we know; None if it differs otherwise."""
        if not self._lines or self._lines[-1].problem or jsonl.in_conflict(self._lines):
            return None
        known = b"\n".join(line.raw for line in self._lines) + b"\n"
        if not data.startswith(known):
            return None
        added = jsonl.read_lines(data[len(known) :])
        return None if jsonl.in_conflict(added) else added

    def _take_in(self, lines: Iterable[Line]) -> list[Change]:
        """Put *lines* behind the others, and return what they change."""
        lines = list(lines)
        latest = {line.id: line for line in lines if line.id is not None}
        nothing = Line(b"")
        changes = [Change(id_, self._current.get(id_, nothing).memory, line.memory) for id_, line in latest.items()]
        self._lines += lines
        self._current |= latest
        return [change for change in changes if change.before != change.after]

    def _keep_replaced(self, raws: list[bytes]) -> None:
        """Keep replaced lines in the local history before they can leave the file."""
        path = self.place.local / "history.jsonl"
        if files.stamp(path).size > _HISTORY_LIMIT:
            path.replace(path.with_name("history.1.jsonl"))
        if raws:
            files.append(path, b"".join(raw.rstrip(b"\r") + b"\n" for raw in raws), private=self.place.private)

    def _announce(self, changes: list[Change]) -> list[Change]:
        if self._by_hash is not None:
            self._index_hashes(changes)
        if changes and self._listener is not None:
            self._listener(changes)
        return changes

    def _index_hashes(self, changes: Sequence[Change]) -> None:
        assert self._by_hash is not None
        for change in changes:
            if change.before:
                self._by_hash.get(content_hash(change.before.content), {}).pop(change.id, None)
            if change.after:
                self._by_hash.setdefault(content_hash(change.after.content), {})[change.id] = None


def _diff(before: Mapping[str, Line], after: Mapping[str, Line]) -> list[Change]:
    """Return what differs between two sets of current lines, by id."""
    moved = {id_ for id_, line in after.items() if before.get(id_) is not line} | (before.keys() - after.keys())
    nothing = Line(b"")
    return _changes(
        {id_: memory for id_ in moved if (memory := before.get(id_, nothing).memory)},
        {id_: memory for id_ in moved if (memory := after.get(id_, nothing).memory)},
    )


def _changes(before: Mapping[str, Memory], after: Mapping[str, Memory]) -> list[Change]:
    pairs = ((id_, before.get(id_), after.get(id_)) for id_ in sorted(before.keys() | after.keys()))
    return [Change(id_, old, new) for id_, old, new in pairs if old is not new and old != new]


def _same_but_for_time(one: Memory, other: Memory | None) -> bool:
    return other is not None and one._replace(updated_at=None) == other._replace(updated_at=None)


def find_id(ref: str, ids: Iterable[str]) -> str:
    """Return the one of *ids* that *ref* begins, with or without its `mm-`.

    Raises:
        MemoryNotFound, AmbiguousId
    """
    lower = ref.strip().lower()
    fits = sorted({id_ for id_ in ids if lower and id_.lower().startswith((lower, f"mm-{lower}"))})
    if len(fits) == 1 or ref in fits:
        return ref if ref in fits else fits[0]
    raise AmbiguousId(ref, fits) if fits else MemoryNotFound(ref)
