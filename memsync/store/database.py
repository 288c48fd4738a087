"""Opening a SQLite file below `.gobby/local`: for its owner alone, and without following links."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.store.files import create, stamp
from memsync.system import local

_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


def connect(path: Path, *, wait: float) -> tuple[sqlite3.Connection, int]:
    """Open the database at *path*, in a directory that was prepared, and return it with the inode of its file.

    What others hold is waited for *wait* seconds.

    Raises:
        sqlite3.Error, StoreError, OSError
    """
    if create(path, b"", private=True):  # SQLite would make it for all to read; what it makes beside it has its mode
        _remove_log(path)
    for suffix in _SUFFIXES:
        local.refuse_links(path.with_name(path.name + suffix))  # SQLite follows them
    inode = stamp(path).inode  # before SQLite opens it: of another file put there meanwhile it is not
    db = sqlite3.connect(path, timeout=wait, check_same_thread=False)
    try:
        with suppress(sqlite3.OperationalError):
            # Two first openers may race for WAL; the loser works without asking again.
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        db.close()
        raise
    return db, inode


def remove(path: Path) -> None:
    """Remove the database at *path*, as far as that can be done."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
    _remove_log(path)


def _remove_log(path: Path) -> None:
    """Remove what SQLite has written beside the database at *path*, which it would take for that of another file there."""
    for suffix in _SUFFIXES[1:]:
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
