"""What a store holds in memory: a copy of its files, read again when their stamps change, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import RLock
from typing import BinaryIO, Final, NamedTuple

from memsync.errors import StoreUnreadable
from memsync.format import jsonl, merge, pending
from memsync.format.codec import Line
from memsync.format.jsonl import Problem
from memsync.records import Change, Memory, content_hash, sent_id
from memsync.store import changes as diff
from memsync.store import checkout, files, local_history
from memsync.store.filters import find_maker, smudge
from memsync.store.places import Place
from memsync.system.programs import collector_paused

_LARGE: Final = 1 << 16  # bytes of a file from which on its known lines are worth asking for
_POINTER: Final = 256  # bytes of a pointer of git-lfs that are enough to know it
Stamps = tuple[files.Stamp, files.Stamp]  # of the file and of the pending one
NOWHERE: Final = (files.ABSENT, files.ABSENT)


class Known(NamedTuple):
    """What a store has read: its lines, whether nothing waits, is in conflict or has sides, and the line that counts for each id."""

    lines: Sequence[Line]
    is_plain: bool
    current: Mapping[str, Line]

    def is_all(self, size: int) -> bool:
        """Tell whether what is known is all of the file that was read with it and has *size* bytes: nothing waits, and its last line has an end."""
        return self.is_plain and jsonl.count_bytes(self.lines) == size

    def find_added(self, source: BinaryIO) -> list[Line] | None:
        """Return the lines that *source*, a whole file, has after those we know; None if it differs in another way."""
        if not self.lines or not self.is_plain or self.lines[-1].problem:
            return None
        # Some at once: there is no second copy of a large file.
        if any(source.read(len(block)) != block for block in jsonl.join_blocks(self.lines)):
            return None
        added = jsonl.read_lines(source.read())
        return None if jsonl.in_conflict(added) or self.may_be_split_by(added) else added

    def may_be_split_by(self, added: Sequence[Line]) -> bool:
        """Tell whether lines *added* behind those that are known may make two sides of a record, or records over several lines; False is certain."""
        if any(line.problem and line.id is None for line in added):
            return True
        are_new = jsonl.have_own_ids(added) and self.current.keys().isdisjoint(jsonl.ids_of(added))
        are_apart = are_new and len(self.current) == len(self.lines)  # no record has two lines
        return not are_apart and merge.may_add_sides(self.lines, added, self.current)


class Reading:
    """The memories of one place as of the last `refresh`; `Store` writes them, too."""

    def __init__(self, place: Place) -> None:
        self.place = place
        # Returns the lines that are known by their bytes before the first look.
        self.known: Callable[[], Mapping[bytes, Line]] = dict
        self._mutex = RLock()
        self._stamp: Stamps | None = None
        self._lines: list[Line] = []  # of the file, then of the pending one, then what had to be merged
        self._ends = (0, 0)  # where in _lines the two files end
        self._current: dict[str, Line] = {}
        self._in_conflict = False  # by git
        self._is_split = False  # a record has two versions by a merge of text, or several lines by a formatter
        self._repeated: Collection[str] = ()  # the ids that had several lines when the file was read
        self.followers = diff.Followers()
        self._ordered: Stamps = NOWHERE  # what the files looked like after the last export

    @property
    def path(self) -> Path:
        """The file, links followed.

        Raises:
            OutsideTree: a link leads out of the repository.
        """
        return files.resolve_inside(self.place.memories, self.place.tree)

    def held(self) -> AbstractContextManager[object]:
        """Have the store stay as it is in memory for other threads."""
        return self._mutex

    def follow(self, listener: Callable[[Sequence[Change]], None], since: Mapping[str, Memory]) -> Stamps:
        """Call *listener* (the only one) with what changed *since*, and from now on with every change, in order.

        Return the stamps of the files from which it is told. Cut off by an exception, the listener is let go.
        """
        with self._mutex:
            self.refresh()
            self.followers.listener = listener
            if found := diff.compare_memories(since, self.memories()):
                listener(found)
            return self._stamp or NOWHERE

    def refresh(self, known: Callable[[], Mapping[bytes, Line]] | None = None) -> list[Change]:
        """Read the file again if its stamp changed, and return what is different since the last look.

        Lines that are *known* by their bytes, here or by what `known` says, are not parsed again, and of a file that only grew the new ones alone are read.
        """
        with self._mutex, self.followers.whole():
            if self._stamp is not None and self._looks_as_read():
                return []
            was_whole, self._stamp = self._stamp is not None, None  # until all of it is taken in
            # This one first: an export writes the file and then removes this, and twice the same changes nothing.
            held, held_seen = files.read(self.place.pending)
            with files.open_to_read(self.path) as (source, found):
                self._refuse_foreign(source)
                added = self._known.find_added(source) if was_whole and not held else None
                lines = self._read_all(source, found, known or self.known) if added is None else []
                seen = found if found == files.ABSENT else found._replace(size=source.tell())
            if added is not None:
                changes, self._stamp = self._take_in(added, waiting=False), (seen, held_seen)
                return self.followers.tell(changes)
            before = self._current
            self._lay_out(lines, held)
            self._stamp = seen, held_seen
            if not before and self.followers.are_none:
                return []  # nothing to compare with, and nobody to tell
            return self.followers.tell(diff.compare_lines(before, self._current))

    def _read_all(self, source: BinaryIO, seen: files.Stamp, known: Callable[[], Mapping[bytes, Line]]) -> list[Line]:
        source.seek(0)
        with collector_paused(lasting=False):
            return jsonl.read_open(source, self.lines() or (known() if seen.size >= _LARGE else {}))

    def compare(self, known: dict[bytes, int]) -> tuple[list[Line], Stamps] | None:
        """Return the lines of the file that are not *known*, with the stamps of both files, and take out of *known* each that is there.

        None where something waits, or the last line has no end. Nothing is taken in.
        """
        held, held_seen = files.read(self.place.pending)
        if held:
            return None
        new, raw, size = [], b"", 0
        with files.open_to_read(self.path) as (source, found):
            self._refuse_foreign(source)
            for raw in source:
                if known.pop(raw[:-1], None) is None:
                    new.append(raw)
            size = source.tell()
        if raw[-1:] != b"\n":
            return None
        return jsonl.read_lines(b"".join(new)), (found._replace(size=size), held_seen)

    def _lay_out(self, lines: list[Line], held: bytes) -> None:
        """Take *lines* as those of the file, under those of the pending file *held*, and find what counts."""
        is_simple = jsonl.have_own_ids(lines)
        shown = lines if is_simple else self._show_base(lines)
        laid, (first, last) = pending.lay_over(shown, held)
        self._lines = laid if shown is lines else [*lines, *laid[first:]]
        self._ends = len(lines), len(lines) + last - first
        self._current = jsonl.current(lines) if is_simple else merge.current(shown)
        self._current |= jsonl.current(laid[first:])
        self._repeated = () if is_simple else jsonl.repeated_ids(lines)
        self._in_conflict = not is_simple and jsonl.in_conflict(lines)
        self._is_split = not (is_simple or self._in_conflict) and bool(merge.find(lines) or jsonl.find(lines))

    def _show_base(self, lines: list[Line]) -> list[Line]:
        """Return *lines* of the file with what both sides of a conflict came from, where git is in the middle of it."""
        if jsonl.in_conflict(lines) and (data := checkout.read_stages(self.path).get(1)):
            with suppress(StoreUnreadable):
                return merge.insert_base(lines, jsonl.read_lines(smudge(*checkout.find_checkout(self.path), data)))
        return lines

    def _refuse_foreign(self, source: BinaryIO) -> None:
        """Do nothing, unless the file is no text that lines can be added to."""
        head = source.read(_POINTER)
        if jsonl.is_utf16(head):
            raise StoreUnreadable(self.path, "is UTF-16", "save it as UTF-8")
        if find_maker(head):
            why = "is what git-lfs or git-crypt made of it, not the memories"
            raise StoreUnreadable(self.path, why, "run `git lfs pull` or `git-crypt unlock`")
        source.seek(0)

    @property
    def _known(self) -> Known:
        is_plain = self._ends[0] == len(self._lines) and not (self._in_conflict or self._is_split)
        return Known(self._lines, is_plain, self._current)

    def _looks_as_read(self) -> bool:
        """Tell whether both files are as they were read. Where links lead is looked at before something is read: for each recall it would take longer than this."""
        return (files.stamp(self.place.memories), files.stamp(self.place.pending)) == self._stamp

    def look(self) -> Stamps:
        """Return the stamps of both files as they are now."""
        return files.stamp(self.path), files.stamp(self.place.pending)

    def memories(self) -> dict[str, Memory]:
        """Return the live memories by id; the caller may keep the dictionary."""
        with self._mutex:
            return {id_: line.memory for id_, line in self._current.items() if line.memory}

    def ids(self) -> list[str]:
        """Return the id of each live memory; none is read for that."""
        with self._mutex:
            return [id_ for id_, line in self._current.items() if line.is_record]

    def lines(self) -> dict[bytes, Line]:
        """Return what was read, by its bytes: another version of the file has most of it too."""
        with self._mutex:
            return {line.raw: line for line in self._lines}

    def replacing(self) -> list[Memory]:
        """Return the memories that replace others. Takes no lock, so that who holds another store's may ask."""
        return diff.list_replacing(list(self._current.values()))

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

    def current_lines(self) -> dict[str, Line]:
        """Return the line that counts for each id; the caller may keep the dictionary."""
        with self._mutex:
            return dict(self._current)

    def count_live(self) -> int:
        """Return how many memories there are."""
        return sum(line.is_record for line in self._current.values())

    def get_sent(self, sent: str) -> Memory | None:
        """Return the memory whose id was *sent* by a form or a command, as `sent_id` has it; None if it is gone."""
        if memory := self.get(sent):
            return memory
        return next((memory for id_, memory in self.memories().items() if sent_id(id_) == sent), None)

    def by_hash(self, hash_: str, *, besides: str = "", text: str = "") -> Memory | None:
        """Return a memory with that content hash, that of *text* if it is given, and another id than *besides*; an archived one only if there is no other."""
        with self._mutex:
            hashes = self.followers.hashes = self.followers.hashes or diff.Hashes(lambda: self._current)
            found = (
                m
                for id_ in hashes.find(hash_, text)
                if id_ != besides and (m := self.get(id_)) and content_hash(m.content) == hash_
            )
            return min(found, key=lambda memory: memory.archived_at is not None, default=None)

    def problems(self) -> list[Problem]:
        """Return what a person should look at in the file, by line."""
        return [problem for problem in jsonl.problems(list(self._lines)) if problem.number <= self._ends[0]]

    def first_problem(self) -> tuple[int, int, str] | None:
        """Return how many lines have problems, and the number and the problem of the first; None if none has."""
        found = [] if self.is_plain() else [problem for problem in self.problems() if not problem.harmless]
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

    def is_plain(self) -> bool:
        """Tell whether each line of the file is a record of its own, there is nothing to say of any, and nothing waits."""
        with self._mutex:
            lines, is_one_each = self._lines, self._ends[0] == len(self._lines) == len(self._current)
            return is_one_each and not self._is_split and all(line.is_record and not line.problem for line in lines)

    def is_canonical(self) -> bool:
        """Tell whether an export would change nothing, but for what waits, as of the last `refresh`."""
        with self._mutex:
            if self._ordered == self._stamp:
                return True
            lines, size = self._lines[: self._ends[0]], (self._stamp or NOWHERE)[0].size
        return jsonl.in_conflict(lines) or jsonl.is_in_order(lines, max(size, 0))

    def nameless(self) -> list[str]:
        """Return the derived ids of records that were written by hand without one."""
        with self._mutex:
            return [id_ for id_, line in self._current.items() if line.nameless]

    def replaced(self) -> dict[str, bytes]:
        """Return, by id, the last line of the local history that says something else than the file does now."""
        return local_history.read(self.place.local, self.get)

    def _take_in(self, lines: list[Line], *, waiting: bool) -> list[Change]:
        latest = {line.id: line for line in lines if line.id is not None}
        changes = [Change(id_, self.get(id_), line.memory) for id_, line in latest.items()]
        self._lines += lines
        self._ends = (self._ends[0] if waiting else len(self._lines), len(self._lines))
        self._current |= latest
        return [change for change in changes if change.before != change.after]
