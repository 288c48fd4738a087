"""The process that stays to answer for a project, `memsync serve`: where it is noted, and how a hook starts it. Imports next to nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from memsync.agents import wire
from memsync.system.home import run_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from memsync.store.places import Layout

IDLE: Final = 900.0  # seconds after which it ends, if nobody has asked
_NAME: Final = 6  # bytes that the path of its socket is longer, at most
_AGAIN: Final = 60.0  # seconds after a start until another one is tried: it may fail each time


def find_mark(layout: Layout, env: Mapping[str, str]) -> str:
    """Return the file that the one of the project of *layout* holds locked."""
    return f"{run_dir(os.path.realpath(layout.root or layout.start), env)}.serve"


def start(layout: Layout, env: Mapping[str, str]) -> None:
    """Start it for the project of *layout*, apart from this process, unless it is there or was started just now. Never fails."""
    if sys.platform == "win32":
        return  # no local sockets
    from pathlib import Path

    from memsync.errors import MemsyncError
    from memsync.store.files import make_dirs
    from memsync.store.lock import lock
    from memsync.system import programs

    with contextlib.suppress(OSError, MemsyncError):
        mark = Path(find_mark(layout, env))
        if len(os.fsencode(mark)) + _NAME > wire.LONGEST:
            return  # it could not listen
        make_dirs(mark.parent, private=True)
        if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < _AGAIN:
            return
        with lock(mark, wait=0.0, is_told=False):  # who holds it is at work; taking it changes the file's time
            pass
        programs.start_apart("-C", str(layout.start), "serve", "--idle", f"{IDLE:g}")
