"""What hooks did, a line of JSON each, in the local directory of the store: `hooks.log`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.errors import StoreError
from memsync.records import Scope
from memsync.store import files
from memsync.store.places import Layout
from memsync.system import local
from memsync.system.limits import read_object

_NAME: Final = "hooks.log"
_EARLIER: Final = "hooks.1.log"
_LIMIT: Final = 256 * 1024  # bytes


def write(layout: Layout, scope: Scope | None, note: Mapping[str, Any]) -> None:
    """Add *note* to the log of *scope*, as a line of JSON, if the store beside it is there; prompts are not in it. Never fails."""
    if (place := layout.place(scope) if scope else None) is None or not place.directory.is_dir():
        return
    with suppress(OSError, StoreError):
        files.prepare(place)
        _append(place.local / _NAME, note)


def _append(path: Path, note: Mapping[str, Any]) -> None:
    """Add a line to *path*, which is kept below twice the limit.

    Raises:
        OSError
    """
    if files.stamp(path).size > _LIMIT:
        path.replace(path.with_name(_EARLIER))
    line = json.dumps(note, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    fd = local.open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, local.file_mode(path, private=True))
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def last(layout: Layout, scope: Scope | None) -> dict[str, Any] | None:
    """Return the last line of the log that is about what was given, or why nothing."""
    return next(
        (note for note in _read(layout, scope, _NAME) if note.get("event") in ("session-start", "prompt")), None
    )


def read(layout: Layout, scope: Scope | None) -> list[dict[str, Any]]:
    """Return all lines of the log that can be read, the oldest first."""
    return [*_read(layout, scope, _NAME), *_read(layout, scope, _EARLIER)][::-1]


def _read(layout: Layout, scope: Scope | None, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one file, the latest first."""
    lines: list[bytes] = []
    with suppress(StoreError):
        lines = files.read(layout.place(scope).local / name)[0].splitlines() if scope else []
    yield from filter(None, map(read_object, reversed(lines)))
