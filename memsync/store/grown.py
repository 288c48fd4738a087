"""A file that grew: what was added is read from its end, and that the rest is as it was, is looked at a moment later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.errors import MemsyncError
from memsync.format import jsonl
from memsync.format.codec import Line
from memsync.store import files
from memsync.system.named import NamedTuple

_BLOCK: Final = 4096  # bytes of what is known, that must still stand before what is new
_MOST: Final = 1 << 20  # new bytes; with more, reading all of it is no longer the larger part
_SOON: Final = 1.0  # seconds until the whole is read


class Known(NamedTuple):
    """What a store has read: its lines, whether nothing waits or is in conflict, and the line that counts for each id."""

    lines: Sequence[Line]
    is_plain: bool
    current: Mapping[str, Line]

    def find_added(self, data: bytes) -> list[Line] | None:
        """Return the lines that *data* has after those we know; None if it differs in another way."""
        if not self.lines or not self.is_plain or self.lines[-1].problem:
            return None
        known = b"\n".join(line.raw for line in self.lines) + b"\n"
        return self._read(data[len(known) :]) if data.startswith(known) else None

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
        """Return the lines of *data*, if each may follow what is known."""
        added = jsonl.read_lines(data)
        is_older = any((old := self.current.get(line.id or "")) and line.moment < old.moment for line in added)
        return None if is_older or jsonl.in_conflict(added) else added


class Later:
    """A look at the whole file that is still to come."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    @property
    def is_due(self) -> bool:
        """Whether part of the file was taken for what it was."""
        return self._timer is not None

    def plan(self, look: Callable[[], object]) -> None:
        """Call *look* soon, once, in a thread of its own, in which nobody waits for an error."""

        def run() -> None:
            with suppress(MemsyncError, OSError):
                look()

        if self._timer is None:
            self._timer = threading.Timer(_SOON, run)
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        """Forget it: the whole is read now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
