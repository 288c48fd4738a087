"""What changed between two looks at a store, who is told, what an export changed, and where the lines are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.errors import ExportRefused
from memsync.format import jsonl
from memsync.format.codec import NEVER, LateLine, Line, bare, edit
from memsync.index.terms import number_form
from memsync.records import Change, Memory, content_hash, format_time, normal_form, parse_time, tick
from memsync.system.texts import count

_FEW: Final = 16  # texts that are looked for one by one


class Exported(NamedTuple):
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None


def compare_lines(before: Mapping[str, Line], after: Mapping[str, Line]) -> list[Change]:
    """Return what differs between two sets of current lines, by id."""
    if before == after:  # most lines are the same objects
        return []
    moved = {id_ for id_, line in after.items() if before.get(id_) is not line}
    moved |= {id_ for id_ in before if id_ not in after}  # a difference of keys would copy all of them
    nothing = Line(b"")
    return compare_memories(
        {id_: memory for id_ in moved if (memory := before.get(id_, nothing).memory)},
        {id_: memory for id_ in moved if (memory := after.get(id_, nothing).memory)},
    )


def compare_memories(before: Mapping[str, Memory], after: Mapping[str, Memory]) -> list[Change]:
    """Return what differs between two sets of memories, by id."""
    if before == after:  # most are the same objects
        return []
    pairs = ((id_, before.get(id_), after.get(id_)) for id_ in sorted(before.keys() | after.keys()))
    return [Change(id_, old, new) for id_, old, new in pairs if old is not new and old != new]


def refuse_loss(path: Path, lines: Sequence[Line], kept: Sequence[Line]) -> None:
    """Do nothing unless *kept*, which are to be written to *path*, lack a live memory of *lines*.

    Raises:
        ExportRefused: it does, which is a bug.
    """
    there = {line.id for line in kept if line.is_record}
    absent = {id_ for id_ in jsonl.ids_of(lines) if id_ not in there}
    if lost := absent and {id_ for id_, line in jsonl.current(lines).items() if line.is_record and id_ in absent}:
        why = f"the canonical form would lose {count(len(lost), 'memory')}"
        raise ExportRefused(path, why, "please report this; nothing was changed")


def find_dropped(lines: Sequence[Line], kept: Sequence[Line]) -> list[bytes]:
    """Return all *lines* of the records of which *kept* lacks one, and then what is kept of them."""
    there = {bare(line.raw) for line in kept}
    gone = {line.id for line in lines if line.memory and bare(line.raw) not in there}
    return [line.raw for line in chain(lines, kept) if line.id in gone]


def date_after(
    lines: Iterable[Line], current: Mapping[str, Line], moments: Mapping[str, datetime]
) -> dict[str, datetime]:
    """Return *moments* by id, each after every line of its record, by which a merge goes: a hand may have put one without a time last."""
    late = {id_: NEVER for id_, at in moments.items() if id_ in current and not NEVER < current[id_].moment < at}
    for line in lines if late else ():
        if line.id in late:
            late[line.id] = max(late[line.id], line.moment)
    return {id_: tick(at, late[id_]) if id_ in late else at for id_, at in moments.items()}


def edit_lines(
    lines: Iterable[Line], current: Mapping[str, Line], edits: Mapping[str, Mapping[str, Any]]
) -> list[bytes]:
    """Return a new line for each id of *edits*, its fields set; a time among them is after those of all *lines* of the record."""
    said = {id_: at for id_, fields in edits.items() if (at := parse_time(fields.get("updated_at")))}
    dated = {id_: {"updated_at": format_time(at)} for id_, at in date_after(lines, current, said).items()}
    return [edit(current[id_].raw, {"id": id_, **fields, **dated.get(id_, {})}) for id_, fields in edits.items()]


class Hashes:
    """Which live memories have a content hash, mostly one; and how many supersede an id.

    All texts are hashed when a hash is asked for, or a text often: for a few texts it is quicker to look through them.
    """

    def __init__(self, current: Callable[[], Mapping[str, Line]]) -> None:
        self._current = current
        self._ids: dict[int, tuple[str, ...]] | None = None  # by the first half of the hash, in order
        self._asked = 0
        from collections import Counter

        self.superseded = Counter(old for memory in list_replacing([*current().values()]) for old in memory.supersedes)

    def find(self, hash_: str, text: str = "") -> Iterable[str]:
        """Return the ids of the memories that may have that hash, which *text* has if it is given; none without one."""
        if not hash_:
            return ()
        self._asked += 1
        if self._ids is None and text and self._asked <= _FEW:
            form = normal_form(text)
            return _list_alike([*self._current().values()], number_form(form), form)
        if self._ids is None:
            self._ids = {}
            for line in self._current().values():
                if line.memory:
                    self._add(self._ids, line.memory)
        return self._ids.get(_shorten(hash_), ())

    def _add(self, ids: dict[int, tuple[str, ...]], memory: Memory) -> None:
        key = _shorten(content_hash(memory.content))
        ids[key] = (*ids.get(key, ()), memory.id)

    def apply(self, changes: Iterable[Change]) -> None:
        """Take in what changed."""
        for change in changes:
            if change.before:
                self.superseded.subtract(change.before.supersedes)
                if self._ids is not None:
                    key = _shorten(content_hash(change.before.content))
                    self._ids[key] = tuple(id_ for id_ in self._ids.get(key, ()) if id_ != change.id)
            if change.after:
                self.superseded.update(change.after.supersedes)
                if self._ids is not None:
                    self._add(self._ids, change.after)


def _shorten(hash_: str) -> int:
    """Return as much of *hash_* as tells most texts apart: 100,000 whole ones take 40 MB."""
    return int(hash_[:15] or "0", 16)


def list_replacing(lines: Iterable[Line]) -> list[Memory]:
    """Return those memories of *lines* that replace others."""
    lines = [line for line in lines if not isinstance(line, LateLine) or line.replaces]
    return [line.memory for line in lines if line.memory and line.memory.supersedes]


def _list_alike(lines: Iterable[Line], number: int, form: str) -> list[str]:
    """Return the ids of those of *lines* whose texts have that normal *form*, which has this *number*; most begin with another letter."""
    first = form[:1]
    return [
        memory.id
        for line in lines
        if (not isinstance(line, LateLine) or line.form == number)
        and (memory := line.memory)
        and memory.content.lstrip()[:1].lower()[:1] == first
        and normal_form(memory.content) == form
    ]


class Followers:
    """Who is told of every change of a store: one listener, and the hashes of the texts."""

    def __init__(self) -> None:
        self.listener: Callable[[Sequence[Change]], None] | None = None
        self.hashes: Hashes | None = None

    @property
    def are_none(self) -> bool:
        """Whether nobody is to be told."""
        return self.listener is None and self.hashes is None

    def is_superseded(self, id_: str) -> bool:
        """Tell whether a live memory supersedes *id_*; only after the hashes were asked for."""
        return bool(self.hashes and self.hashes.superseded[id_])

    def tell(self, changes: list[Change]) -> list[Change]:
        """Tell all of *changes*, and return them."""
        if self.hashes is not None:
            self.hashes.apply(changes)
        if changes and self.listener is not None:
            self.listener(changes)
        return changes

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Let all go if an exception (Ctrl-C) comes between a change and its telling."""
        try:
            yield
        except BaseException:
            self.let_go()
            raise

    def let_go(self) -> None:
        """Forget who was told: something may have been missed, so each has to begin anew."""
        self.listener = self.hashes = None
