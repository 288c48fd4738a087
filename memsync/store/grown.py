"""A file that grew: what was added is read from its end, and that the rest is as it was, is looked at a moment later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from memsync.errors import MemsyncError
from memsync.format import jsonl, text_merges
from memsync.format.codec import Line
from memsync.store import files
from memsync.system.named import NamedTuple

_BLOCK: Final = 4096  # bytes of what is known, that must still stand before what is new
_MOST: Final = 1 << 20  # new bytes; with more, reading all of it is no longer the larger part
_SOON: Final = 1.0  # seconds until the whole is read


class Known(NamedTuple):
    """What a store has read: its lines, whether nothing waits, is in conflict or has sides, and the line that counts for each id."""

    lines: Sequence[Line]
    is_plain: bool
    current: Mapping[str, Line]

    def read_whole(
        self, source: BinaryIO, find_raws: Callable[[], Mapping[bytes, Line]], *, may_grow: bool
    ) -> tuple[list[Line] | None, list[Line]]:
        """Return the lines that *source* has after those we know, which `find_raws` has by their bytes; or None, and all that it has."""
        source.seek(0)
        if may_grow and (added := self._find_added(source)) is not None:
            return added, []
        source.seek(0)
        return None, jsonl.read_open(source, find_raws())

    def is_all(self, size: int) -> bool:
        """Tell whether what is known is all of the file that was read with it and has *size* bytes: nothing waits, and its last line has an end."""
        return self.is_plain and jsonl.count_bytes(self.lines) == size

    def find_added(self, data: bytes) -> list[Line] | None:
        """Return the lines that *data*, a whole file, has after those we know; None if it differs in another way."""
        return self._find_added(BytesIO(data))

    def _find_added(self, source: BinaryIO) -> list[Line] | None:
        if not self.lines or not self.is_plain or self.lines[-1].problem:
            return None
        return self._read(source.read()) if all(self._compare(source, len(self.lines))) else None

    def begins(self, path: Path, count: int) -> bool:
        """Tell whether the file at *path* begins with the first *count* lines that we know. Slow, but other threads have their turn."""
        with files.open_to_read(path) as (source, _):
            for is_same in self._compare(source, count):
                if not is_same:
                    return False
                time.sleep(0)
        return True

    def _compare(self, source: BinaryIO, count: int) -> Iterator[bool]:
        """Yield whether *source* goes on with the first *count* lines that we know, some of them at once: there is no second copy of a large file."""
        for block in jsonl.join_blocks(islice(self.lines, count)):
            yield source.read(len(block)) == block

    def read_end(
        self, path: Path, pending: Path, both: tuple[files.Stamp, files.Stamp]
    ) -> tuple[list[Line], files.Stamp] | None:
        """Return the lines that *path* has beyond what was seen of it, and its stamp; None if it is not the same file, grown.

        *both*: what it and *pending* looked like, where nothing may wait. Only the last block of what is known is compared: an edit before that is not noticed here.
        """
        seen, *waiting = both
        if {*waiting, files.stamp(pending)} != {files.ABSENT}:
            return None
        if not self.lines or not self.is_plain or self.lines[-1].problem:
            return None
        last = self._join_last()
        file, now = files.open_stamped(path)
        if file is None:
            return None
        with file:
            if now.inode != seen.inode or len(last) > seen.size or not 0 < now.size - seen.size <= _MOST:
                return None
            file.seek(seen.size - len(last))
            data = file.read(len(last) + now.size - seen.size)
        added = self._read(data[len(last) :]) if data.startswith(last) else None
        return None if added is None else (added, now._replace(size=seen.size - len(last) + len(data)))

    def _join_last(self) -> bytes:
        """Return the last lines that we know, at least a block of them if there are so many."""
        size, raws = 0, list[bytes]()
        for line in reversed(self.lines):
            raws.append(line.raw + b"\n")
            if (size := size + len(raws[-1])) >= _BLOCK:
                break
        return b"".join(reversed(raws))

    def _read(self, data: bytes) -> list[Line] | None:
        """Return the lines of *data*, if each may follow what is known and makes no side of a merge of text."""
        added = jsonl.read_lines(data)
        return None if jsonl.in_conflict(added) or self.may_be_split_by(added) else added

    def may_be_split_by(self, added: Sequence[Line]) -> bool:
        """Tell whether lines *added* behind those that are known may make two sides of a record, or records over several lines; False is certain."""
        if any(line.problem and line.id is None for line in added):
            return True
        are_new = jsonl.have_own_ids(added) and self.current.keys().isdisjoint(jsonl.ids_of(added))
        are_apart = are_new and len(self.current) == len(self.lines)  # no record has two lines
        return not are_apart and text_merges.may_add_sides(self.lines, added, self.current)


class Later:
    """A look at the whole file that is still to come; *mutex* is held by who reads it."""

    def __init__(self, mutex: threading.RLock) -> None:
        self._mutex = mutex
        self._timer: threading.Timer | None = None

    @property
    def is_due(self) -> bool:
        """Whether part of the file was taken for what it was."""
        return self._timer is not None

    def plan(self, known: Known, path: Path, pending: Path, look: Callable[[], object]) -> None:
        """See soon whether what is *known* stands in *path* yet, in a thread of its own that holds up nobody; *look* at it if not."""

        def run() -> None:
            with suppress(MemsyncError, OSError):
                count = len(known.lines)  # which may grow meanwhile
                if not known.begins(path, count) or files.stamp(pending) != files.ABSENT:
                    look()
                    return
                with self._mutex:
                    if self._timer is timer:
                        self._timer = None
                        if len(known.lines) != count:
                            self.plan(known, path, pending, look)

        if self._timer is None:
            timer = self._timer = threading.Timer(_SOON, run)
            timer.daemon = True
            timer.start()

    def cancel(self) -> None:
        """Forget it: the whole is read now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
