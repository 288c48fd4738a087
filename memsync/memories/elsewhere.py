"""Another process that makes a large index for one that stays: making it takes three times the memory of having it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.store import files

if TYPE_CHECKING:
    from subprocess import Popen

_LARGE: Final = 8_000_000  # bytes of memories, from which on another process makes the index
_STEP: Final = 0.05  # seconds between two looks


class Elsewhere:
    """Starts such processes, one at a time, and knows whether they are done. `start`, which does, is None in a process that ends soon."""

    def __init__(self) -> None:
        self.start: Callable[[], Popen[bytes]] | None = None
        self._process: Popen[bytes] | None = None
        self._wanted = ""

    def is_for(self, memories: Iterable[Path]) -> bool:
        """Tell whether an index of the files *memories* is made by another process."""
        return self.start is not None and sum(path.stat().st_size for path in memories if path.exists()) >= _LARGE

    def wait_for(self, path: Path) -> None:
        """Have the index made, and return when it is at *path*, or when it is said to fail."""
        assert self.start
        before, process = files.stamp(path), self.start()
        while process.poll() is None and files.stamp(path) == before:
            time.sleep(_STEP)

    @property
    def may_save(self) -> bool:
        """Whether what a process of ours has mapped may be replaced by another: not on Windows."""
        return sys.platform != "win32"

    @property
    def is_done(self) -> bool:
        """Whether a process that was to save has ended; it is told once."""
        if self._process is None or self._process.poll() is None:
            return False
        self._process = None
        return True

    def save(self, wanted: str) -> None:
        """Have saved what is *wanted*, unless that was tried: where it failed, it fails again."""
        assert self.start
        if self._process is None and wanted != self._wanted:
            self._process, self._wanted = self.start(), wanted
