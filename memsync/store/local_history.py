"""The local history of a store: the lines that edits and removals replaced, up to a limit of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from memsync.format import jsonl
from memsync.records import Memory, same_but_for_time
from memsync.store import files

_LIMIT: Final = 8 * 2**20


def read(local: Path, get: Callable[[str], Memory | None]) -> dict[str, bytes]:
    """Return, by id, the last line that differs from what *get* returns."""
    kept: dict[str, bytes] = {}
    for name in ("history.1.jsonl", "history.jsonl"):
        data, _ = files.read(local / name)
        for line in jsonl.read_lines(data):
            if line.id and line.memory and not same_but_for_time(line.memory, get(line.id)):
                kept[line.id] = line.raw
    return kept


def keep(local: Path, raws: Sequence[bytes], *, private: bool) -> None:
    """Add *raws*, lines that are about to be replaced."""
    path = local / "history.jsonl"
    if files.stamp(path).size > _LIMIT:
        path.replace(path.with_name("history.1.jsonl"))
    if raws:
        files.append(path, b"".join(raw.rstrip(b"\r") + b"\n" for raw in raws), private=private)
