"""Where the work is: which memories are scoped to the folder that a session was started in, and which to another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.memories.reach import own
from memsync.records import Memory

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.memories.results import Entry


def folders_of(memory: Memory) -> Iterator[str]:
    """Yield the folders that *memory* is anchored to, from the root on and with a slash; "" for what is anchored to no folder."""
    for text in memory.anchors:
        path = text.partition("#")[0]
        fixed = (
            path[: min(path.find(char) for char in "*?" if char in path)].rpartition("/")[0]
            if "*" in path or "?" in path
            else ""
        )
        yield path if path.endswith("/") else f"{fixed}/" if fixed else ""


def is_here(project: Project, start: Path, entry: Entry) -> bool:
    """Tell whether *entry*, of *project* or above it, is scoped to a folder that the work at *start* is in."""
    here = _find_here(own(project, entry), start)
    return bool(here) and any(folder and here.startswith(folder) for folder in folders_of(entry.memory))


def is_elsewhere(owner: Project, start: Path, memory: Memory) -> bool:
    """Tell whether *memory* of *owner* is scoped to folders only, and the work at *start* is in none of them nor above one."""
    if not memory.anchors or not (here := _find_here(owner, start)):
        return False
    return all(folder and not here.startswith(folder) and not folder.startswith(here) for folder in folders_of(memory))


def _find_here(owner: Project, start: Path) -> str:
    """Return the folder of *start* from the root of *owner* on, with a slash; "" at the root and outside of it."""
    root = owner.layout.root
    if root is None or not (inside := os.path.relpath(start, root)) or inside == "." or inside.startswith(".."):
        return ""
    return f"{inside.replace(os.sep, '/')}/"
