"""The lines of a file that a cache knows: found by their ids and read one by one, as long as nobody wants all of them."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from memsync.errors import StoreError
from memsync.format.codec import Line, make_late
from memsync.index.heads import Heads
from memsync.store import files
from memsync.system import local as below
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from array import array

_BLOCK: Final = 1 << 16  # bytes that are copied or compared at once


class Moved(Exception):
    """The file does not have the lines that its stamp stands for."""


class Came(NamedTuple):
    """A line that came since the cache: before how many of its lines it belongs, and where it stands."""

    line: Line
    at: int
    start: int


class Table:
    """The lines of the file at *path*: records with ids of their own, in the order of an export, and those that were added since.

    *slots*: those that live, in the order of the file, which is that of their ids; *lines* has their places.
    """

    def __init__(
        self, path: Path, stamp: files.Stamp, heads: Heads, lines: Sequence[int], slots: Sequence[int]
    ) -> None:
        self.path, self.stamp = path, stamp
        self.before: dict[str, Line] | None = None  # the lines that the cache knew, once all of them were read
        self.came: list[Came] = []
        self.added: list[Line] = []  # to the end, in no order yet
        self._heads, self._lines, self._slots = heads, lines, slots
        self._size = stamp.size  # without what was added
        self._read: dict[str, Line] = {}

    def __len__(self) -> int:
        return len(self._slots) + len(self.came) + len(self.added)

    def knows(self, id_: str) -> bool:
        """Tell whether there is a line with that id."""
        return any(line.id == id_ for line in self._new()) or self._find_slot(id_) is not None

    def find(self, id_: str) -> Line | None:
        """Return the line of *id_*.

        Raises:
            Moved: the file is no longer the one that was looked at.
        """
        if (line := next((line for line in self._new() if line.id == id_), None)) is None:
            line = self._read.get(id_)
        if line is None and (slot := self._find_slot(id_)) is not None:
            line = self._read[id_] = self._read_slot(slot, id_)
        return line

    def find_alike(self, form: int) -> Iterator[Line]:
        """Yield the lines whose texts may have the normal form with the number *form*.

        Raises:
            Moved
        """
        yield from self._find_all(_find_in(self._heads.forms, form))
        yield from self.added

    def find_replacing(self) -> Iterator[Line]:
        """Yield the lines that may replace others.

        Raises:
            Moved
        """
        yield from self._find_all(_find_in(self._heads.replaces, 1))
        yield from self.added

    def can_take(self, lines: Iterable[Line]) -> bool:
        """Tell whether *lines* are records that are not there yet."""
        ids = [line.id or "" for line in lines if line.is_record and not line.problem]
        return all(ids) and len(set(ids)) == len(ids) == len([*lines]) and not any(map(self.knows, ids))

    def put_in_order(self) -> list[Came]:
        """Return the lines that were added, in the order of an export, each with the place where it belongs."""
        found: list[Came] = []
        moved = 0
        for line in sorted(self.added, key=lambda line: line.id or ""):
            at = self._find_next(line.id or "")
            found.append(Came(line, at, self._find_place(line.id or "", at) + moved))
            moved += len(line.raw) + 1
        return found

    def is_in_order(self, lines: Sequence[Came]) -> bool:
        """Tell whether *lines* stand where they belong."""
        return [one.line for one in lines] == self.added and (not lines or lines[0].start == self._size)

    def settle(self, lines: Sequence[Came]) -> None:
        """Take *lines*, which `put_in_order` returned, for lines of the file that stand where they belong."""
        self.came = [one._replace(start=one.start + _size_before(lines, one.line.id)) for one in self.came] + [*lines]
        self._size, self.added = self._size + sum(map(_size_of, lines)), []

    def list_new(self) -> list[tuple[tuple[int, int], Line]]:
        """Return each line that came since the cache, with its place."""
        ends = accumulate(map(_size, self.added), initial=self._size)
        new = [*((one.start, one.line) for one in self.came), *zip(ends, self.added, strict=False)]
        return [((start, start + len(line.raw)), line) for start, line in new]

    def list_places(self, lines: Sequence[int]) -> array[int]:
        """Return *lines*, the places of all lines of the cache, as they are now."""
        from array import array

        places = array("q", lines)
        starts, ends = places[1::3], places[2::3]
        came = sorted(self.came, key=lambda one: one.at)
        edges = [*(one.at for one in came), len(self._slots)]
        for (first, behind), by in zip(pairwise(edges), accumulate(map(_size_of, came)), strict=True):
            for slot in self._slots[first:behind]:
                starts[slot] += by
                ends[slot] += by
        places[1::3], places[2::3] = starts, ends
        return places

    def read_all(self) -> list[Line]:
        """Return all lines in the order of the file, those of the cache to be read late.

        Raises:
            Moved
        """
        heads, places = self._heads, self.list_places(self._lines)
        starts = places[1::3].tolist()
        slots = self._slots
        new = {start: line for (start, _), line in self.list_new()}
        firsts = sorted([*map(starts.__getitem__, slots), *new])
        with self._open() as source:
            raws = [line[:-1] for line in source]
        if [*firsts, self.stamp.size] != [*accumulate(map((1).__add__, map(len, raws)), initial=0)]:
            raise Moved
        old = raws if not new else [raw for raw, first in zip(raws, firsts, strict=True) if first not in new]
        ids = [*map(heads.ids.__getitem__, slots)]
        said = (map(column.__getitem__, slots) for column in (heads.forms, heads.replaces))
        lines: list[Line] = [*make_late(old, ids, *said)]
        self.before = dict(zip(ids, lines, strict=True))
        for at, (first, raw) in enumerate(zip(firsts, raws, strict=True) if new else ()):
            if line := new.get(first):
                if line.raw != raw:
                    raise Moved
                lines.insert(at, line)
        return lines

    def blocks_in_order(self, lines: Sequence[Came]) -> Iterator[bytes]:
        """Yield the bytes of the file with *lines*, which stand at its end, in their places.

        Raises:
            Moved
        """
        with self._open() as source:
            place, last = 0, b"\n"
            for one, moved in zip(lines, accumulate(map(_size_of, lines), initial=0), strict=False):
                for block in _read_until(source, one.start - moved - place):
                    yield block
                    last = block[-1:]
                if last != b"\n":
                    raise Moved
                place = one.start - moved
                yield one.line.raw + b"\n"
            yield from _read_until(source, self._size - place)

    def _new(self) -> Iterator[Line]:
        yield from (one.line for one in self.came)
        yield from self.added

    def _find_slot(self, id_: str) -> int | None:
        at = self._find_next(id_)
        is_there = at < len(self._slots) and self._heads.id_at(self._slots[at]) == id_
        return self._slots[at] if is_there else None

    def _find_next(self, id_: str) -> int:
        """Return how many lines that the cache knows are before *id_*."""
        return bisect_left(self._slots, id_, key=self._heads.id_at)

    def _find_all(self, slots: Iterable[int]) -> list[Line]:
        """Return the lines of those of *slots* that are in the file and live, and what came, in the order of the file."""
        ids = sorted({*map(self._heads.id_at, slots), *(one.line.id or "" for one in self.came)})
        return [line for id_ in ids if (line := self.find(id_))]

    def _place(self, slot: int) -> tuple[int, int]:
        """Return where the line of *slot* begins and ends now."""
        start, end = self._lines[3 * slot + 1 : 3 * slot + 3]
        by = _size_before(self.came, self._heads.id_at(slot))
        return start + by, end + by

    def _find_place(self, id_: str, at: int) -> int:
        """Return where the line begins before which *id_* belongs; *at* of those that the cache knows are before it."""
        starts = [self._place(slot)[0] for slot in self._slots[at : at + 1]]
        starts += [one.start for one in self.came if (one.line.id or "") > id_]
        return min(starts, default=self._size)

    def _read_slot(self, slot: int, id_: str) -> Line:
        start, end = self._place(slot)
        first = max(start - 1, 0)
        with self._open(0) as source:
            source.seek(first)
            raw = source.read(end + 1 - first)
        begun, raw, ended = raw[: start - first], raw[start - first : -1], raw[-1:]
        heads = self._heads
        if begun.strip(b"\n") or ended != b"\n" or len(raw) != end - start or b"\n" in raw:
            raise Moved
        line = next(make_late([raw], [id_], [heads.forms[slot]], [heads.replaces[slot]]))
        if line.memory is None or line.memory.id != id_:
            raise Moved
        return line

    def _open(self, buffering: int = _BLOCK) -> BinaryIO:
        try:
            source = open(below.open_file(self.path, os.O_RDONLY), "rb", buffering)  # noqa: SIM115 - the caller's to close
        except (OSError, StoreError):
            raise Moved from None
        if files.stamp_of(source) != self.stamp:
            source.close()
            raise Moved
        return source


class Before:
    """The bytes of a file as they were before *lines* were put in order, out of what is at *temp* or, in its place by now, at *path*."""

    def __init__(self, temp: Path, path: Path, lines: Sequence[Came], added: Sequence[Line]) -> None:
        self.made = files.ABSENT  # the stamp of what was made, once that is there
        self._paths = temp, path
        self._lines, self._added = lines, added

    def __iter__(self) -> Iterator[bytes]:
        path = next(filter(os.path.exists, self._paths))
        with open(below.open_file(path, os.O_RDONLY), "rb", _BLOCK) as source:
            if path == self._paths[0]:  # what is in its place by now, somebody may have put there
                self.made = files.stamp_of(source)
            for one in self._lines:
                yield from _read_until(source, one.start - source.tell())
                source.seek(_size(one.line), os.SEEK_CUR)
            yield from iter(lambda: source.read(_BLOCK), b"")
        yield from (line.raw + b"\n" for line in self._added)


def _read_until(source: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the next *size* bytes of *source* in blocks.

    Raises:
        Moved: it has fewer.
    """
    while size:
        block = source.read(min(_BLOCK, size))
        if not block:
            raise Moved
        size -= len(block)
        yield block


def _find_in(column: Sequence[int], value: int) -> Iterator[int]:
    """Yield where *value* is in *column*."""
    with suppress(ValueError):
        at = -1
        while True:
            yield (at := column.index(value, at + 1))


def _size(line: Line) -> int:
    return len(line.raw) + 1


def _size_of(one: Came) -> int:
    return _size(one.line)


def _size_before(lines: Iterable[Came], id_: str | None) -> int:
    """Return how many bytes those of *lines* have whose ids are before *id_*."""
    return sum(_size(one.line) for one in lines if (one.line.id or "") < (id_ or ""))
