"""One store: the only writer of a memories.jsonl.

A write appends under the lock after looking at the file again; an export brings the file to canonical form.
What is in memory is a copy of the file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from memsync.errors import MemoryNotFound, StoreError, blaming
from memsync.format import codec, jsonl, merge, pending
from memsync.format.codec import Line, bare
from memsync.records import Change, Memory, format_time, tick
from memsync.store import changes as diff
from memsync.store import checkout, files, local_history
from memsync.store.changes import Exported
from memsync.store.lock import lock
from memsync.store.places import Place
from memsync.store.reading import NOWHERE, Reading

_ATTEMPTS: Final = 10


class Store(Reading):
    """The memories of one place.

    Reading methods show the file as of the last `refresh`; writing methods are called inside `writing()`, are durable when
    they return, and return what changed. Safe to share between threads, and from many processes. `in_log_form`: has lines that no export put in order.
    With `on_commit`, or while `hold` names a reason, writes go to the pending file; reading lays one over the other.
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.on_commit = False
        self.hold: Callable[[], str] = str
        self.before_write: Callable[[], object] = str  # under the lock, with the file freshly read
        self._waits = False  # whether writes go to the pending file
        self.in_log_form = False
        self.touched: dict[str, Memory | None] = {}  # what this object wrote, by id, as it was before

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock with the file freshly read: decide and write inside."""
        with self._mutex:
            files.prepare(self.place)
            with lock(self.place.local / "lock"):
                self.refresh()
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
        return last != len(self._lines) or (
            first != last and pending.is_due(self._lines[:first], self._lines[first:last])
        )

    def add(self, memories: Iterable[Memory]) -> list[Change]:
        """Append new *memories* with one fsync."""
        return self.write(memories, {})

    def update(self, edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new versions: id -> JSON fields to set. Other fields keep their bytes."""
        return self.write((), edits)

    def write(self, memories: Iterable[Memory | bytes], edits: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        """Append new *memories* (lines as they are) and new versions with one fsync: all of them, or on an error none."""
        old = [self._current[id_].raw for id_ in edits]
        new = diff.edit_lines(self._lines, self._current, edits) if edits else []
        self._keep_replaced(edits)
        memories = list(memories)
        self._close_log([m for m in memories if isinstance(m, bytes)])
        spelled = iter(jsonl.encode_all([m for m in memories if not isinstance(m, bytes)]))
        return self._append([m if isinstance(m, bytes) else next(spelled) for m in memories] + new, old)

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
        return self.remove_dated(dict.fromkeys(ids, now), keep=keep)

    def remove_dated(self, moments: Mapping[str, datetime], *, keep: bool = True) -> list[Change]:
        """Append removals, each with its date, as `remove` does."""
        moments = diff.date_after(self._lines, self._current, moments)
        old = [self._current[id_].raw for id_ in moments]
        self._keep_replaced(moments if keep else ())
        return self._append([codec.encode_tombstone(*one) for one in moments.items()], old, keep=keep)

    def restore(self, id_: str, now: datetime, *, raw: bytes | None = None) -> list[Change]:
        """Append the last replaced or removed line of *id_* again, or the line *raw* of it.

        One whose removal is in no commit comes back byte for byte, any other as a new edit, which a merge keeps.

        Raises:
            MemoryNotFound: this machine keeps no earlier version of it.
        """
        if (raw := raw or self.replaced().get(id_)) is None:
            raise MemoryNotFound(id_, " that was changed or removed on this machine")
        return self.restore_lines({id_: raw}, {id_: now})

    def restore_lines(self, raws: Mapping[str, bytes], moments: Mapping[str, datetime]) -> list[Change]:
        """Append the lines *raws* of records again, by id, as `restore` does with one, all of them at once: each may need an export before."""
        self._close_log([*raws.values()])
        live = {id_: line.raw for id_ in raws if (line := self._current.get(id_)) and line.memory}
        self._keep_replaced(live)
        dated = diff.date_after(self._lines, self._current, moments)
        others = [id_ for id_ in raws if id_ not in live]
        new = {*live, *filter(lambda id_: self._is_known_gone(id_, raws[id_]), others)}
        was = {id_: codec.decode(raws[id_]).memory for id_ in new}  # somewhere it may stand as it was written
        later = {id_: tick(dated[id_], memory.written_at if memory else None) for id_, memory in was.items()}
        spelled = {
            id_: codec.edit(raws[id_], {"id": id_, "updated_at": format_time(later[id_])}) if id_ in new else raws[id_]
            for id_ in (*others, *live)
        }
        return self._append([*spelled.values()], [*live.values()])

    def _is_known_gone(self, id_: str, raw: bytes) -> bool:
        """Tell whether *raw* is older than the removal of *id_* in the file, or others may know of that."""
        is_older = id_ in self._current and all(known.raw != raw for known in self._lines)
        return is_older or (not self.place.private and checkout.has_removed(self.path, id_))

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
        lines, was = self._read_for_export(path)
        read = lines
        if settle is None and jsonl.in_conflict(lines) and checkout.is_unmerged(path):
            return Exported(path, changed=False, held="git is merging it; `memsync sync` resolves that")
        if settle or not jsonl.have_own_ids(lines):
            lines = (settle or merge.settle)(lines)
        dropped = [] if settle or lines is read or lines == read else diff.find_dropped(read, lines)
        lines, away = self._lay_waiting_over(lines)
        kept = jsonl.keep(lines, collapse=collapse)
        if (lines is not read or kept == lines) and _is_spelled(path, kept):
            return self._end_export(away, None)
        diff.refuse_loss(path, lines, kept)
        dropped += diff.find_dropped(lines, kept) if collapse else []
        local_history.keep(self.place.local, dropped, private=self.place.private)
        temp, new = self.place.local / "export.tmp", jsonl.spell_blocks(kept)
        late = files.replace_blocks(path, new, was=was, temp=temp, private=self.place.private, may_grow=True)
        if late is None:
            return None
        if late:
            files.append(path, late, private=self.place.private)
        return self._end_export(away, kept)

    def _read_for_export(self, path: Path) -> tuple[list[Line], Iterable[bytes]]:
        """Return the lines of the file as it is now, and its bytes in blocks; of one that was just read they are what we know."""
        seen = (self._stamp or NOWHERE)[0]
        if seen == files.stamp(path) != files.ABSENT and self._known.is_all(seen.size):
            return (lines := [*self._lines]), jsonl.Blocks(lines)  # what was read is not held a second time
        data, _ = files.read(path)
        added = self._known.find_added(BytesIO(data))
        return jsonl.read_lines(data, self.lines()) if added is None else [*self._lines, *added], [data]

    def _lay_waiting_over(self, lines: list[Line]) -> tuple[list[Line], bytes]:
        """Return *lines* of the file with what belongs into it by now, and what goes on waiting."""
        if not (waiting := files.read(self.place.pending)[0]):
            return lines, b""
        held, away = pending.split(lines, waiting, partial(checkout.had, self.path))
        return pending.lay_over(lines, held)[0], away

    def _end_export(self, away: bytes, kept: list[Line] | None) -> Exported:
        """Forget what waited, now that the file has it as *kept*, or has not changed; but for what waits for another branch."""
        held, _ = files.read(self.place.pending)
        if away and away != held:
            files.rewrite(self.place.pending, away, was=held, private=self.place.private)
        elif not away:
            with blaming(self.place.pending):
                self.place.pending.unlink(missing_ok=True)
        before = self._stamp
        if kept is not None:  # the file is compared with that, and not read
            was = self._current
            self._lay_out(kept, away)
            self.followers.tell(diff.compare_lines(was, self._current))
        self.refresh()
        if self._stamp is not None and (self._stamp == before or self._lines == kept):
            self._ordered = self._stamp
        self.in_log_form = False
        return Exported(self.path, changed=kept is not None)

    def _close_log(self, old: Sequence[object]) -> None:
        """Export before *old* lines are added where the log replaces something: none may follow what is later."""
        if old and not self._waits and self._ends[0] != len(self):
            self._export_once(False, None)
            self.refresh()

    def _append(self, raws: list[bytes], old: Sequence[bytes] = (), *, keep: bool = True) -> list[Change]:
        """Append *raws*, the last of which replace the lines *old*.

        In the file each of *old* is repeated first: so a reader sees where another side of a merge of text has changed
        that line in its place, and that no other has where an older record follows.
        """
        if not raws:
            return []
        data = b"".join(raw + b"\n" for raw in self._add_bases(raws, old))
        lines = (pending.read if self._waits else jsonl.read_lines)(data)
        if is_split := self._would_split(lines):
            self._export_once(False, None)  # which takes out most of what others have replaced in their own way
            self.refresh()
            is_split = self._would_split(lines)
        last = self._ends[1]
        path = self.place.pending if self._waits else self.path
        files.make_dirs(path.parent, private=self.place.private)
        seen, self._stamp = self._stamp or NOWHERE, None  # until all of it is taken in
        new_ids = (line.id for line in lines if line.id is not None and line.id not in self.touched)
        self.touched |= {id_: self.get(id_) for id_ in new_ids}
        before, after = files.append(path, data, private=self.place.private)
        local_history.note(self.place.local, raws if keep else (), private=self.place.private)
        self.in_log_form = not self._waits
        is_other = before != seen[self._waits] or (self._waits and self.look()[0] != seen[0])
        is_cut = any(line.problem for line in self._lines[-1:])
        if is_other or is_cut or is_split or last != len(self._lines):
            return self.refresh()  # others wrote in between without the lock, or what was there says another thing now
        with self.followers.whole():
            changes = self._take_in(lines, waiting=self._waits)
            self._stamp = (seen[0], after) if self._waits else (after, seen[1])
            return self.followers.tell(changes)

    def _add_bases(self, raws: list[bytes], old: Sequence[bytes]) -> list[bytes]:
        """Return *raws* with what each replaces before it: of the last ones *old*, or in a pending file what is committed."""
        if self._waits:
            end, last = self._ends
            parts = self._show_base(self._lines[:end]), self._lines[end:last], self._lines[last:]
            return pending.add_bases(raws, *parts, find_head=partial(checkout.find_head, self.path))
        first = len(raws) - len(old)
        return raws[:first] + [raw for pair in zip(map(bare, old), raws[first:], strict=True) for raw in pair]

    def _would_split(self, lines: Sequence[Line]) -> bool:
        """Tell whether a record may have two versions where *lines* stand behind what was read of the file."""
        return not self._waits and self._known.may_be_split_by(lines)

    def _keep_replaced(self, ids: Collection[str]) -> None:
        """Keep the lines of *ids*, which may leave the file, in the local history; of each the one that counts comes last."""
        several = {id_ for id_ in ids if id_ in self._repeated}
        earlier = [line.raw for line in self._lines if line.id in several and line.memory] if several else []
        raws = [*earlier, *(self._current[id_].raw for id_ in ids)]
        local_history.keep(self.place.local, [*map(_leave_out_hidden, raws)], private=self.place.private)


def _leave_out_hidden(raw: bytes) -> bytes:
    """Return the line *raw* without what no reader sees of it, the first of repeated keys, if that looks like a secret."""
    said = codec.drop_repeats(raw.decode("utf-8")).encode()
    if said == raw:
        return raw
    from memsync.safety.secrets import scan

    seen = {*codec.list_texts(said)}
    hidden = (f"{name}: {text}" for name, text in codec.list_texts(raw) if (name, text) not in seen)
    return said if any(map(scan, hidden)) else raw


def _is_spelled(path: Path, lines: Sequence[Line]) -> bool:
    """Tell whether the file at *path* is *lines* as an export spells them; it is read in blocks, because a large one is held already."""
    with files.open_to_read(path) as (file, _):
        return all(files.begins_with(file, block) for block in jsonl.spell_blocks(lines)) and not file.read(1)
