"""What a store holds in memory: a copy of its files, read again when their stamps change, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import BinaryIO, Final

from memsync.errors import StoreUnreadable
from memsync.format import jsonl, merge, pending, spread, text_merges
from memsync.format.codec import Line
from memsync.format.jsonl import Problem
from memsync.records import Change, Memory, content_hash, sent_id
from memsync.store import changes as diff
from memsync.store import files, grown, local_history
from memsync.store.filters import find_maker
from memsync.store.places import Place
from memsync.store.table import Moved, Table

_POINTER: Final = 256  # bytes of a pointer of git-lfs that are enough to know it
Stamps = tuple[files.Stamp, files.Stamp]  # of the file and of the pending one
NOWHERE: Final = (files.ABSENT, files.ABSENT)


class Reading:
    """The memories of one place as of the last `refresh`; `Store` writes them, too."""

    def __init__(self, place: Place) -> None:
        self.place = place
        # Returns the lines of an open file with that stamp, to be read late, all of them or one by one, or None; nothing may wait.
        self.recognise: Callable[[files.Stamp, BinaryIO], list[Line] | Table | None] | None = None
        self._mutex = RLock()
        self._stamp: Stamps | None = None
        self._table: Table | None = None  # stands for all lines until somebody wants them
        self._is_dropped = False  # it was, and the lines are not there yet: who asks without the lock waits
        self._all: list[Line] = []  # of the file, then of the pending one, then what had to be merged
        self._ends = (0, 0)  # where in _all the two files end
        self._by_id: dict[str, Line] = {}
        self._in_conflict = False  # by git
        self._is_split = False  # a record has two versions by a merge of text, or several lines by a formatter
        self._repeated: Collection[str] = ()  # the ids that had several lines when the file was read
        self.followers = diff.Followers()
        self._later = grown.Later(self._mutex)
        self._written: list[Line] = []  # by the export that just ends
        self._ordered: Stamps = NOWHERE  # what the files looked like after the last export

    @property
    def path(self) -> Path:
        """The file, links followed.

        Raises:
            OutsideTree: a link leads out of the repository.
        """
        return files.resolve_inside(self.place.memories, self.place.tree)

    @property
    def _lines(self) -> list[Line]:
        self._spread()
        return self._all

    @property
    def _current(self) -> dict[str, Line]:
        self._spread()
        return self._by_id

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
            if self._stamp is not None and self._looks_as_read() and not (whole and self._later.is_due):
                return []
            self._drop_table()
            if not whole and (changes := self._follow_growth()) is not None:
                return changes
            self._later.cancel()
            was_whole, self._stamp = self._stamp is not None, None  # until all of it is taken in
            # This one first: an export writes the file and then removes this, and twice the same changes nothing.
            held, held_seen = files.read(self.place.pending)
            with files.open_to_read(self.path) as (source, found):
                self._refuse_foreign(source)
                lines = self._recognise_all(source, found, held_seen)
                if isinstance(lines, Table):
                    self._lay_table(lines)
                    self._stamp = found, held_seen
                    return []
                if lines is not None:
                    added = None
                else:
                    added, lines = self._known.read_whole(source, self.lines, may_grow=was_whole and not held)
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

    def _lay_out(self, lines: list[Line], held: bytes) -> None:
        """Take *lines* as those of the file, under those of the pending file *held*, and find what counts."""
        is_simple = jsonl.have_own_ids(lines)
        self._all, self._ends = pending.lay_over(lines, held) if held else (lines, (len(lines), len(lines)))
        self._by_id = jsonl.current(lines) if is_simple else merge.current(lines)
        self._by_id |= jsonl.current(self._all[len(lines) :])
        self._is_dropped = False
        self._repeated = () if is_simple else jsonl.repeated_ids(lines)
        self._in_conflict = not is_simple and jsonl.in_conflict(lines)
        self._is_split = not (is_simple or self._in_conflict) and bool(text_merges.find(lines) or spread.find(lines))

    def _lay_table(self, table: Table) -> None:
        self._table, self._all, self._by_id, self._ends = table, [], {}, (len(table), len(table))
        self._repeated = ()
        self._in_conflict = self._is_split = self._is_dropped = False

    def _spread(self) -> None:
        """Hold all lines, if it was a table that stood for them."""
        if self._table is None and not self._is_dropped:
            return
        with self._mutex:
            while (table := self._table) is not None:
                try:
                    lines = table.read_all()
                except Moved:  # a cache may know the file that is there now, too
                    if self._looks_as_read():
                        self.recognise = None  # it has this one wrong, and would have it again and again
                    self._drop_table()
                    self.refresh(whole=True)
                else:
                    self._lay_out(lines, b"")
                    self._table = None  # who asks without the lock finds one or the other

    def _drop_table(self) -> None:
        """Forget the table, if there is one, and who was told of what it has: the file is another."""
        if self._table is not None:
            self._is_dropped, self._table, self._stamp, self._ends = True, None, None, (0, 0)
            self.followers.let_go()

    def _refuse_foreign(self, source: BinaryIO) -> None:
        """Do nothing, unless the file is no text that lines can be added to."""
        head = source.read(_POINTER)
        if jsonl.is_utf16(head):
            raise StoreUnreadable(self.path, "is UTF-16", "save it as UTF-8")
        if find_maker(head):
            why = "is what git-lfs or git-crypt made of it, not the memories"
            raise StoreUnreadable(self.path, why, "run `git lfs pull` or `git-crypt unlock`")
        source.seek(0)

    def _recognise_all(self, source: BinaryIO, seen: files.Stamp, held_seen: files.Stamp) -> list[Line] | Table | None:
        """Return the lines of *source* if that is what was just written, or what a cache knows, which is asked once."""
        source.seek(0)
        if (new := self._written) and all(files.begins_with(source, block) for block in jsonl.join_blocks(new)):
            return None if source.read(1) else new
        if self.recognise is None or self._all or not self.followers.are_none or held_seen != files.ABSENT:
            return None
        source.seek(0)
        return self.recognise(seen, source)

    @property
    def _known(self) -> grown.Known:
        is_plain = self._ends[0] == len(self._lines) and not (self._in_conflict or self._is_split)
        return grown.Known(self._lines, is_plain, self._current)

    def _follow_growth(self) -> list[Change] | None:
        """Take in what the file has more than at the last look; None: all of it must be read."""
        if self._stamp is None or self.followers.are_none:
            return None
        if (found := self._known.read_end(self.path, self.place.pending, self._stamp)) is None:
            return None
        self._stamp = None  # until all of it is taken in
        changes = self._take_in(found[0], waiting=False)
        self._stamp = found[1], files.ABSENT
        self._later.plan(self._known, self.path, self.place.pending, partial(self.refresh, whole=True))
        return self.followers.tell(changes)

    def _looks_as_read(self) -> bool:
        """Tell whether both files are as they were read. Where links lead is looked at before something is read: for each recall it would take longer than this."""
        return (files.stamp(self.place.memories), files.stamp(self.place.pending)) == self._stamp

    def look(self) -> Stamps:
        """Return the stamps of both files as they are now."""
        return files.stamp(self.path), files.stamp(self.place.pending)

    def _find(self, id_: str) -> Line | None:
        """Return the line that counts for *id_*."""
        if (table := self._table) is not None:
            with suppress(Moved):
                return table.find(id_)
        return self._current.get(id_)

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
        return diff.list_replacing(self._list_replacing())

    def _list_replacing(self) -> Sequence[Line]:
        """Return the lines that may replace others."""
        if (table := self._table) is not None:
            with suppress(Moved):
                return list(table.find_replacing())
        return list(self._current.values())

    def _list_alike(self, form: int) -> Sequence[Line]:
        """Return the lines whose texts may have the normal form with the number *form*."""
        if (table := self._table) is not None:
            with suppress(Moved):
                return list(table.find_alike(form))
        return list(self._current.values())

    def get(self, id_: str) -> Memory | None:
        """Return the live memory *id_*, by its whole id."""
        return line.memory if (line := self._find(id_)) else None

    def raw(self, id_: str) -> bytes:
        """Return the bytes of the line that counts for *id_*."""
        return self._current[id_].raw

    def knows(self, id_: str) -> bool:
        """Tell whether a line has that id, be it a live memory or a removal."""
        return id_ in self._current if (table := self._table) is None else table.knows(id_)

    def __len__(self) -> int:
        return len(self._current if (table := self._table) is None else table)

    def known_lines(self) -> Table | dict[str, Line]:
        """Return the line that counts for each id, or what stands for all lines as they are now, until it has changed."""
        return self.current_lines() if (table := self._table) is None else table

    def current_lines(self) -> dict[str, Line]:
        """Return the line that counts for each id; the caller may keep the dictionary."""
        with self._mutex:
            return dict(self._current)

    def count_live(self) -> int:
        """Return how many memories there are."""
        return sum(line.is_record for line in self._current.values()) if (table := self._table) is None else len(table)

    def get_sent(self, sent: str) -> Memory | None:
        """Return the memory whose id was *sent* by a form or a command, as `sent_id` has it; None if it is gone."""
        if memory := self.get(sent):
            return memory
        return next((memory for id_, memory in self.memories().items() if sent_id(id_) == sent), None)

    def by_hash(self, hash_: str, *, besides: str = "", text: str = "") -> Memory | None:
        """Return a memory with that content hash, that of *text* if it is given, and another id than *besides*; an archived one only if there is no other."""
        with self._mutex:
            hashes = self.followers.hashes = self.followers.hashes or diff.Hashes(
                lambda: self._current, self._list_alike, self._list_replacing
            )
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

    def spans(self) -> tuple[Stamps, dict[str, diff.Span]]:
        """Return the stamps and, by id, where each live memory's line is; not of one that had to be merged."""
        with self._mutex:
            if self._later.is_due:
                self.refresh(whole=True)  # a cache outlives us
            return self._stamp or NOWHERE, diff.find_spans(self._lines, self._ends, self._current)

    def is_plain(self) -> bool:
        """Tell whether each line of the file is a record of its own, there is nothing to say of any, and nothing waits."""
        with self._mutex:
            if self._table is not None:
                return True
            lines, is_one_each = self._lines, self._ends[0] == len(self._lines) == len(self._current)
            return is_one_each and not self._is_split and all(line.is_record and not line.problem for line in lines)

    def is_canonical(self) -> bool:
        """Tell whether an export would change nothing, but for what waits, as of the last `refresh`."""
        with self._mutex:
            if self._table is not None or self._ordered == self._stamp:
                return self._table is None or not self._table.added
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
        """Add *lines* after the others, and return what they change."""
        latest = {line.id: line for line in lines if line.id is not None}
        changes = [Change(id_, self.get(id_), line.memory) for id_, line in latest.items()]
        if self._table is not None:
            self._table.added += lines
            self._ends = (len(self._table), len(self._table))
        else:
            self._all += lines
            self._ends = (self._ends[0] if waiting else len(self._all), len(self._all))
            self._by_id |= latest
        return [change for change in changes if change.before != change.after]
