"""When the commits that touched a file were written, without reading any version of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memsync.errors import NoHistory
from memsync.git.history import PLAIN
from memsync.store.checkout import Checkout

_WORDS: Final = ("log", "--full-history", "--topo-order", "--no-color", "--format=%H %at")
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def list_dates(root: Path, name: str, *revs: str) -> list[tuple[str, datetime]]:
    """Return each commit that led to *revs* and touched the file *name*, in the order of `history.steps`, with its author's date.

    A date that no calendar has is the latest of all.

    Raises:
        NoHistory: git failed.
    """
    done = Checkout(root).run(*PLAIN, *_WORDS, *revs, "--", f":(top,literal){name}", patience=None)
    if done.code:
        raise NoHistory(f"git says: {done.err.strip() or 'nothing, but it failed'}")
    rows = (row.split(" ") for row in done.out.decode().splitlines())
    return [(commit, _read_date(seconds)) for commit, seconds in rows]


def _read_date(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return _LATEST
