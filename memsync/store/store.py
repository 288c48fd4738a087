"""One store: the only writer of a memories.jsonl.

A write appends under the lock after looking at the file again; an export brings the file to canonical form.
What is in memory is a copy of the file and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from memsync.errors import MemoryNotFound, StoreError, StoreUnreadable, blaming
from memsync.format import codec, jsonl
from memsync.format.codec import Line, bare
from memsync.format.jsonl import Problem
from memsync.format.late import merge, pending, text_merges
from memsync.records import Change, Memory, format_time
from memsync.store import changes as diff
from memsync.store import checkout, files, grown, local_history
from memsync.store.changes import Exported
from memsync.store.lock import lock
from memsync.store.places import Place
from memsync.system.logs import Log

log = Log(__name__)

Stamps = tuple[files.Stamp, files.Stamp]  # of the file and of the pending one
NOWHERE: Final = (files.ABSENT, files.ABSENT)
_ATTEMPTS: Final = 10


class Store:
    """The memories of one place.

    Reading methods show the file as of the last `refresh`; writing methods are called inside `writing()`, are durable when
    they return, and return what changed. Safe to share between threads, and from many processes. `in_log_form`: has lines that no export put in order.
    With `on_commit`, or while `hold` names a reason, writes go to the pending file; reading lays one over the other.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.on_commit = False
        self.hold: Callable[[], str] = str
        self.before_write: Callable[[], object] = str  # under the lock, with the file freshly read
        self._waits = False  # whether writes go to the pending file
        self._mutex = threading.RLock()
        self._stamp: Stamps | None = None
        self._lines: list[Line] = []  # of the file, then of the pending one, then what had to be merged
        self._ends = (0, 0)  # where in _lines the two files end
        self._current: dict[str, Line] = {}
        self._in_conflict = self._is_split = False  # by git; by a merge of text that left two versions of a record
        self.in_log_form = False
        self.touched: dict[str, Memory | None] = {}  # what this object wrote, by id, as it was before
        self.followers = diff.Followers()
        self._later = grown.Later()

    @property
    def path(self) -> Path:
        """The file, links followed.

        Raises:
            OutsideTree: a link leads out of the repository.
        """
        return files.resolve_inside(self.place.memories, self.place.tree)

    def follow(self, listener: Callable[[Sequence[Change]], None], since: Mapping[str, Memory]) -> None:
        """Call *listener* (the only one) with what changed *since*, and from now on with every change, in order.

        Cut off by an exception, the listener is let go.
        """
        with self._mutex:
            self.refresh()
            self.followers.listener = listener
            if found := diff.compare_memories(since, self.memories()):
                listener(found)

    def refresh(self, *, whole: bool = False) -> list[Change]:
        """Read the file again if its stamp changed, and return what is different since the last look.

        Of a file that only grew, for one who follows it, the end is read at once and the whole soon after; or now, if *whole*.

        Raises:
            StoreUnreadable, OutsideTree
        """
        with self._mutex, self.followers.whole():
            if self._stamp is not None and self.look() == self._stamp and not (whole and self._later.is_due):
                return []
            if not whole and (changes := self._follow_growth()) is not None:
                return changes
            self._later.cancel()
            was_whole, self._stamp = self._stamp is not None, None  # until all of it is taken in
            # This one first: an export writes the file and then removes this, and twice the same changes nothing.
            held, held_seen = files.read(self.place.pending)
            data, seen = files.read(self.path)
            if jsonl.is_utf16(data):
                raise StoreUnreadable(self.path, "is UTF-16", "save it as UTF-8")
            if was_whole and not held and (added := self._known.find_added(data)) is not None:
                changes = self._take_in(added, waiting=False)
                self._stamp = seen, held_seen
                return self.followers.tell(changes)
            before = self._current
            lines = jsonl.read_lines(data, self.lines())
            self._lines, self._ends = pending.lay_over(lines, held)
            self._current = merge.current(lines) | jsonl.current(self._lines[len(lines) :])
            self._in_conflict = jsonl.in_conflict(lines)
            self._is_split = not self._in_conflict and bool(text_merges.find(lines))
            self._stamp = seen, held_seen
            if not before and self.followers.are_none:
                return []  # nothing to compare with, and nobody to tell
            return self.followers.tell(diff.compare_lines(before, self._current))

    @property
    def _known(self) -> grown.Known:
        return grown.Known(self._lines, self._ends[0] == len(self._lines) and not self._in_conflict, self._current)

    def _follow_growth(self) -> list[Change] | None:
        """Take in what the file has more than at the last look; None: all of it must be read."""
        if self._stamp is None or self.followers.are_none:
            return None
        if (found := self._known.read_end(self.path, self.place.pending, self._stamp)) is None:
            return None
        self._stamp = None  # until all of it is taken in
        changes = self._take_in(found[0], waiting=False)
        self._stamp = found[1], files.ABSENT
        self._later.plan(partial(self.refresh, whole=True))
        return self.followers.tell(changes)

    def look(self) -> Stamps:
        """Return the stamps of both files as they are now."""
        return files.stamp(self.path), files.stamp(self.place.pending)

    def memories(self) -> dict[str, Memory]:
        """Return the live memories by id; the caller may keep the dictionary."""
        with self._mutex:
            return {id_: line.memory for id_, line in self._current.items() if line.memory}

    def lines(self) -> dict[bytes, Line]:
        """Return what was read, by its bytes: another version of the file has most of it too."""
        with self._mutex:
            return {line.raw: line for line in self._lines}

    def replacing(self) -> list[Memory]:
        """Return the memories that replace others. Takes no lock, so that who holds another store's may ask."""
        return [line.memory for line in list(self._current.values()) if line.memory and line.memory.supersedes]

    def get(self, id_: str) -> Memory | None:
        """Return the live memory *id_*, by its whole id."""
        return line.memory if (line := self._current.get(id_)) else None

    def raw(self, id_: str) -> bytes:
        """Return the bytes of the line that counts for *id_*."""
        return self._current[id_].raw

    def knows(self, id_: str) -> bool:
        """Tell whether a line has that id, be it a live memory or a removal."""
        return id_ in self._current

    def __len__(self) -> int:
        return len(self._current)

    def by_hash(self, hash_: str, *, besides: str = "", text: str = "") -> Memory | None:
        """Return a memory with that content hash, that of *text* if it is given, and another id than *besides*; an archived one only if there is no other."""
        with self._mutex:
            hashes = self.followers.hashes = self.followers.hashes or diff.Hashes(self.memories)
            found = (m for id_ in hashes.find(hash_, text) if id_ != besides and (m := self.get(id_)))
            return min(found, key=lambda memory: memory.archived_at is not None, default=None)

    def problems(self) -> list[Problem]:
        """Return what a person should look at in the file, by line."""
        return [problem for problem in jsonl.problems(list(self._lines)) if problem.number <= self._ends[0]]

    def first_problem(self) -> tuple[int, int, str] | None:
        """Return how many lines have problems, and the number and the problem of the first; None if none has."""
        found = [problem for problem in self.problems() if not problem.harmless]
        return (len(found), found[0].number, found[0].why) if found else None

    @property
    def stamp(self) -> Stamps | None:
        """What both files looked like when they were last read or written; None before."""
        return self._stamp

    @property
    def waiting(self) -> int:
        """How many memories have changes that wait for a commit."""
        with self._mutex:
            return len({line.id for line in self._lines[self._ends[0] : self._ends[1]] if line.id is not None})

    def spans(self) -> tuple[Stamps, dict[str, diff.Span]]:
        """Return the stamps and, by id, where each live memory's line is; not of one that had to be merged."""
        with self._mutex:
            if self._later.is_due:
                self.refresh(whole=True)  # a cache outlives us
            return self._stamp or NOWHERE, diff.find_spans(self._lines, self._ends, self._current)

    def is_canonical(self) -> bool:
        """Tell whether an export would change nothing, but for what waits, as of the last `refresh`."""
        with self._mutex:
            lines, size = self._lines[: self._ends[0]], (self._stamp or NOWHERE)[0].size
        return jsonl.in_conflict(lines) or jsonl.is_in_order(lines, max(size, 0))

    def nameless(self) -> list[str]:
        """Return the derived ids of records that were written by hand without one."""
        with self._mutex:
            return [id_ for id_, line in self._current.items() if line.nameless]

    def replaced(self) -> dict[str, bytes]:
        """Return, by id, the last line of the local history that says something else than the file does now."""
        return local_history.read(self.place.local, self.get)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock with the file freshly read: decide and write inside.

        Raises:
            LockTimeout, StoreNotWritable, StoreUnreadable, OutsideTree
        """
        with self._mutex:
            files.make_local(self.place.local, private=self.place.private, tree=self.place.tree)
            with lock(self.place.local / "lock"):
                self.refresh(whole=True)
                self._waits = self.on_commit or bool(self.hold())
                if not self._waits and (self._is_split or self.is_due()):
                    done = self._export_once(False, None)
                    self.refresh()
                    self._waits = done is None or bool(done.held)  # the file is in conflict
                self.before_write()
                yield

    def is_due(self) -> bool:
        """Tell whether a change waits that belongs into the file, and not on another branch."""
        first, last = self._ends
        return last != len(self._lines) or pending.is_due(self._lines[:first], self._lines[first:last])

    def add(self, memories: Iterable[Memory]) -> list[Change]:
        """Append new *memories* with one fsync."""
        return self.write(memories, {})

    def update(self, edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new versions: id -> JSON fields to set. Other fields keep their bytes."""
        return self.write((), edits)

    def write(self, memories: Iterable[Memory | bytes], edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new *memories* (lines as they are) and new versions with one fsync: all of them, or on an error none."""
        old = [self._current[id_].raw for id_ in edits]
        new = diff.edit_lines(self._lines, self._current, edits)
        self._keep_replaced(old)
        memories = list(memories)
        self._close_log([m for m in memories if isinstance(m, bytes)])
        return self._append([m if isinstance(m, bytes) else codec.encode(m) for m in memories] + new, old)

    def adopt(self, other: Store, only: Collection[str] | None = None, *, history: bool = True) -> list[str]:
        """Append the live lines and the *history* of *other* (of *only* these ids); return the ids that both now have."""
        if history:
            local_history.carry(other.place.local, self.place.local, only, private=self.place.private)
        with other._mutex:
            lines = [line for id_, line in other._current.items() if line.memory and (only is None or id_ in only)]
        same = [line for line in lines if (mine := self.get(line.id or "")) and mine == line.memory]
        new = [line for line in lines if not self.get(line.id or "")]
        self._close_log(new)
        self._append([line.raw.rstrip(b"\r") for line in new])
        return [line.id for line in same + new if line.id]

    def remove(self, ids: Iterable[str], now: datetime, *, keep: bool = True) -> list[Change]:
        """Append removals. The local history keeps the lines, from which `restore` takes them; or else it is left alone."""
        moments = diff.date_after(self._lines, self._current, dict.fromkeys(ids, now))
        old = [self._current[id_].raw for id_ in moments]
        self._keep_replaced(old if keep else [])
        return self._append([codec.encode_tombstone(*one) for one in moments.items()], old, keep=keep)

    def restore(self, id_: str, now: datetime, *, raw: bytes | None = None) -> list[Change]:
        """Append the last replaced or removed line of *id_* again, or the line *raw* of it.

        One whose removal is in no commit comes back byte for byte, any other as a new edit, which a merge keeps.

        Raises:
            MemoryNotFound: this machine keeps no earlier version of it.
        """
        if (raw := raw or self.replaced().get(id_)) is None:
            raise MemoryNotFound(id_, " that was changed or removed on this machine")
        self._close_log([raw])
        line = self._current.get(id_)
        live = [line.raw] if line and line.memory else []
        self._keep_replaced(live)
        is_older = line is not None and not live and all(known.raw != raw for known in self._lines)  # than its removal
        if live or is_older or (not self.place.private and checkout.has_removed(self.path, id_)):
            dated = diff.date_after(self._lines, self._current, {id_: now})
            raw = codec.edit(raw, {"id": id_, "updated_at": format_time(dated[id_])})
        return self._append([raw], live)

    def export(self, *, collapse: bool = False, settle: Callable[[list[Line]], list[Line]] | None = None) -> Exported:
        """Bring the file to canonical form by atomic replace, with what waited; a second time changes no byte.

        What `hold` speaks for and what git is merging is left alone, unless *settle* is there to take
        the conflicts out. Edits that others make in the same moment are kept.

        Raises:
            ExportRefused: the canonical form would lack a live memory (a bug).
            StoreFull, StoreNotWritable: nothing was changed.
        """
        if self.look() == NOWHERE:
            return Exported(self.path, changed=False)
        if settle is None and (reason := self.hold()):
            return Exported(self.path, changed=False, held=reason)
        with self.writing():
            for _ in range(_ATTEMPTS):
                if (done := self._export_once(collapse, settle)) is not None:
                    return done
                self.refresh()
            raise StoreError(self.path, "kept changing during the export", "try again when the other writer is done")

    def _export_once(self, collapse: bool, settle: Callable[[list[Line]], list[Line]] | None) -> Exported | None:
        path = self.path
        data, _ = files.read(path)
        lines = jsonl.read_lines(data, self.lines())
        if settle is None and jsonl.in_conflict(lines) and checkout.is_unmerged(path):
            return Exported(path, changed=False, held="git is merging it; `memsync sync` resolves that")
        lines = (settle or merge.settle)(lines)
        held, away = pending.split(lines, files.read(self.place.pending)[0], partial(checkout.had, path))
        lines, _ = pending.lay_over(lines, held)
        new = jsonl.export(lines, collapse=collapse)
        if new == data:
            return self._end_export(away, changed=False)
        diff.refuse_loss(path, lines, new)
        if collapse:
            self._keep_replaced(diff.find_collapsed(lines, new))
        temp = self.place.local / "export.tmp"
        late = files.replace(path, new, was=data, temp=temp, private=self.place.private, may_grow=True)
        if late is None:
            return None
        if late:
            files.append(path, late, private=self.place.private)
        return self._end_export(away, changed=True)

    def _end_export(self, away: bytes, *, changed: bool) -> Exported:
        """Forget what waited, now that it is in the file, but for what waits for another branch."""
        held, _ = files.read(self.place.pending)
        if away and away != held:
            files.rewrite(self.place.pending, away, was=held, private=self.place.private)
        elif not away:
            with blaming(self.place.pending):
                self.place.pending.unlink(missing_ok=True)
        self.refresh()
        self.in_log_form = False
        return Exported(self.path, changed=changed)

    def _close_log(self, old: Sequence[object]) -> None:
        """Export before *old* lines are added where the log replaces something: none may follow what is later."""
        if old and not self._waits and self._ends[0] != len(self._current):
            self._export_once(False, None)
            self.refresh()

    def _append(self, raws: list[bytes], old: Sequence[bytes] = (), *, keep: bool = True) -> list[Change]:
        """Append *raws*, the last of which replace the lines *old*.

        In a file that git may merge as text each of *old* is repeated first: so a reader sees where
        another side has changed that line in its place.
        """
        if not raws:
            return []
        end, last = self._ends
        new, find_head = raws, partial(checkout.find_head, self.path)
        if self._waits:
            parts = self._lines[:end], self._lines[end:last], self._lines[last:]
            new = pending.add_bases(raws, *parts, find_head=find_head)
        elif not self.place.private:
            first = len(raws) - len(old)
            new = raws[:first] + [raw for pair in zip(map(bare, old), raws[first:], strict=True) for raw in pair]
        path = self.place.pending if self._waits else self.path
        files.make_dirs(path.parent, private=self.place.private)
        seen, self._stamp = self._stamp or NOWHERE, None  # until all of it is taken in
        data = b"".join(raw + b"\n" for raw in new)
        lines = pending.read(data)
        self.touched = {line.id: self.get(line.id) for line in lines if line.id is not None} | self.touched
        before, after = files.append(path, data, private=self.place.private)
        local_history.note(self.place.local, raws if keep else (), private=self.place.private)
        self.in_log_form = not self._waits
        if before != seen[self._waits] or last != len(self._lines) or (self._waits and self.look()[0] != seen[0]):
            return self.refresh()  # somebody without the lock wrote in between, or merged lines are in the way
        with self.followers.whole():
            changes = self._take_in(lines, waiting=self._waits)
            self._stamp = (seen[0], after) if self._waits else (after, seen[1])
            return self.followers.tell(changes)

    def _take_in(self, lines: list[Line], *, waiting: bool) -> list[Change]:
        """Add *lines* after the others, and return what they change."""
        latest = {line.id: line for line in lines if line.id is not None}
        changes = [Change(id_, self.get(id_), line.memory) for id_, line in latest.items()]
        self._lines += lines
        self._ends = (self._ends[0] if waiting else len(self._lines), len(self._lines))
        self._current |= latest
        return [change for change in changes if change.before != change.after]

    def _keep_replaced(self, raws: list[bytes]) -> None:
        """Keep replaced lines in the local history before they can leave the file."""
        local_history.keep(self.place.local, raws, private=self.place.private)
