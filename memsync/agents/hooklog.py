"""What hooks did, a line of JSON each, in the local directory of the store: `hooks.log`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.agents.ledger import state_scope
from memsync.errors import StoreError
from memsync.memories.project import Project
from memsync.store import files
from memsync.system import local
from memsync.system.limits import read_json

_NAME: Final = "hooks.log"
_EARLIER: Final = "hooks.1.log"
_LIMIT: Final = 256 * 1024  # bytes


def local_dir(project: Project) -> Path | None:
    """Return where hooks note things: a directory that is never tracked, if the store beside it is there."""
    scope = state_scope(project)
    place = project.layout.place(scope) if scope else None
    return place.local if place and place.directory.is_dir() else None


def write(project: Project, note: Mapping[str, Any]) -> None:
    """Add *note* to the log, as a line of JSON; prompts are not in it. Never fails."""
    scope = state_scope(project)
    directory = local_dir(project)
    if directory is None or scope is None:
        return
    place = project.layout.place(scope)
    with suppress(OSError, StoreError):
        files.make_local(directory, private=place.private, tree=place.tree)
        _append(directory / _NAME, note)


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


def last(project: Project) -> dict[str, Any] | None:
    """Return the last line of the log that is about what was given, or why nothing."""
    return next((note for note in _read(project, _NAME) if note.get("event") in ("session-start", "prompt")), None)


def read(project: Project) -> list[dict[str, Any]]:
    """Return all lines of the log that can be read, the oldest first."""
    return [*_read(project, _NAME), *_read(project, _EARLIER)][::-1]


def _read(project: Project, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one file, the latest first."""
    directory = local_dir(project)
    lines: list[bytes] = []
    with suppress(StoreError):
        lines = files.read(directory / name)[0].splitlines() if directory else []
    for line in reversed(lines):
        with suppress(ValueError):
            note = read_json(line)
            if isinstance(note, dict):
                yield note
