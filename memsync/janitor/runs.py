"""The files of runs, `local/janitor/RUN.jsonl`: each line that a janitor touched, written before it is touched.

Runs are kept: together they hold every text that a janitor took out. What `undo` took back ends in `.undone`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memsync.memories.project import Project
from memsync.records import Scope
from memsync.store import files


def directory(project: Project, scope: Scope) -> Path:
    """Return where the runs of a store are kept."""
    return project.store(scope).place.local / "janitor"


def names(project: Project) -> list[str]:
    """Return the names of the runs that can be undone, the latest first."""
    found = {path.stem for scope in project.stores for path in directory(project, scope).glob("*.jsonl")}
    return sorted(found, reverse=True)


def new_name(project: Project) -> str:
    """Return the name of a run that begins now."""
    begun = f"{project.clock():%Y%m%d-%H%M%S}"
    taken = {path.name for scope in project.stores for path in directory(project, scope).glob(f"{begun}*")}
    number = 1
    while any(name.startswith(f"{begun}-{number:02d}.") for name in taken):
        number += 1
    return f"{begun}-{number:02d}"


def append(project: Project, scope: Scope, run: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add *lines* to the file of *run*, durably.

    Raises:
        StoreFull, StoreNotWritable: nothing was added.
    """
    place = project.store(scope).place
    files.prepare(place)
    files.make_dirs(directory(project, scope), private=place.private)
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    files.append(
        directory(project, scope) / f"{run}.jsonl", data.encode("utf-8", "surrogatepass"), private=place.private
    )
