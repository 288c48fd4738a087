"""Opening a SQLite file below `.gobby/local`: for its owner alone, and without following links."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.store.files import create, stamp
from memsync.store.lock import lock
from memsync.system import local

_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
_LOCK: Final = "lock.database"
_WAIT: Final = 2.0  # seconds for another who makes the file, which takes no time


def connect(path: Path, *, wait: float) -> tuple[sqlite3.Connection, int]:
    """Open the database at *path*, in a directory that was prepared, and return it with the inode of its file.

    What others hold is waited for *wait* seconds.

    Raises:
        sqlite3.Error, StoreError, OSError
    """
    if not os.path.lexists(path):
        _make(path)
    for suffix in _SUFFIXES:
        local.refuse_links(path.with_name(path.name + suffix))  # SQLite follows them
    inode = stamp(path).inode  # before SQLite opens it: of another file put there meanwhile it is not
    db = sqlite3.connect(path, timeout=wait, check_same_thread=False)
    try:
        with suppress(sqlite3.OperationalError):
            # Two first openers may race for WAL; the loser works without asking again.
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except UnicodeDecodeError as error:  # SQLite quotes what is damaged
        db.close()
        raise sqlite3.DatabaseError(str(error)) from None
    except sqlite3.Error:
        db.close()
        raise
    return db, inode


def _make(path: Path) -> None:
    """Make the file: SQLite would make it for all to read, and what it makes beside it has its mode.

    SQLite would take the log of a file that is gone for that of another one there. Only without a file nobody uses it.
    """
    with lock(path.with_name(_LOCK), wait=_WAIT, is_told=False):
        if not os.path.lexists(path):
            _remove_log(path)
            create(path, b"", private=True)


def remove(path: Path) -> None:
    """Remove the database at *path*, as far as that can be done; the log first, or it might be that of a new file there."""
    _remove_log(path)
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _remove_log(path: Path) -> None:
    for suffix in _SUFFIXES[1:]:
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
