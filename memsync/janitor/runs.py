"""The files of runs, `local/janitor/RUN.jsonl`: each line that a janitor touched, written before it is touched.

Runs are kept: together they hold every text that a janitor took out. What `undo` took back ends in `.undone`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memsync.memories.project import Reach
from memsync.records import Scope
from memsync.store import files


def directory(reach: Reach, scope: Scope) -> Path:
    """Return where the runs of a store are kept."""
    return reach.store(scope).place.local / "janitor"


def names(reach: Reach) -> list[str]:
    """Return the names of the runs that can be undone, the latest first."""
    found = {path.stem for scope in reach.stores for path in directory(reach, scope).glob("*.jsonl")}
    return sorted(found, reverse=True)


def new_name(reach: Reach) -> str:
    """Return the name of a run that begins now."""
    begun = f"{reach.clock():%Y%m%d-%H%M%S}"
    taken = {path.name for scope in reach.stores for path in directory(reach, scope).glob(f"{begun}*")}
    number = 1
    while any(name.startswith(f"{begun}-{number:02d}.") for name in taken):
        number += 1
    return f"{begun}-{number:02d}"


def append(reach: Reach, scope: Scope, run: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add *lines* to the file of *run*, durably.

    Raises:
        StoreFull, StoreNotWritable: nothing was added.
    """
    place = reach.store(scope).place
    files.make_local(place.local, private=place.private, tree=place.tree)
    files.make_dirs(directory(reach, scope), private=place.private)
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    files.append(directory(reach, scope) / f"{run}.jsonl", data.encode("utf-8", "surrogatepass"), private=place.private)
