"""The files of runs, `local/janitor/RUN.jsonl`: each line that a janitor touched, written before it is touched; and undoing a run from it.

Runs are kept: together they hold every text that a janitor took out. What `undo` took back ends in `.undone`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memsync.errors import MemsyncError, Remedy, StoreUnreadable, blaming
from memsync.format.codec import decode, fields_of
from memsync.janitor.plan import seal
from memsync.memories.project import Project
from memsync.records import SCOPES, Memory, Scope, content_hash, format_time, tick
from memsync.store import files
from memsync.store.store import Store
from memsync.system.limits import read_json


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


def value_of(memory: Memory, name: str) -> Any:
    """Return the field *name* as JSON; None where it says nothing."""
    if name in ("importance", "source_type"):
        return getattr(memory, name)
    return fields_of(memory).get(name)


def undo(project: Project, run: str | None = None) -> list[str]:
    """Undo a run, the last one unless *run* names another, and say what was done. Later edits are kept.

    Raises:
        MemsyncError: there is no such run.
        StoreError: it can be undone again.
    """
    known = names(project)
    if not known:
        raise MemsyncError("no run of the janitor is left to undo; ", Remedy("undo"), " takes back the last command")
    if run and run not in known:
        raise MemsyncError(
            f"there is no run {run!r} to undo; ", Remedy("janitor undo --list"), " shows those there are"
        )
    run = run or known[0]
    done: list[str] = []
    for scope in SCOPES:
        if scope in project.stores and (path := directory(project, scope) / f"{run}.jsonl").exists():
            done += _undo_file(project, scope, path)
            with blaming(path):
                path.rename(path.with_suffix(".undone"))
    return done


def _undo_file(project: Project, scope: Scope, path: Path) -> Iterator[str]:
    data, _ = files.read(path)
    try:
        lines = [line for raw in data.split(b"\n") if raw.endswith(b"}") and isinstance(line := read_json(raw), dict)]
    except ValueError as error:
        raise StoreUnreadable(path, f"has a line that cannot be read ({error})", "take that line out") from None
    state = project.state(scope)
    for line in lines:
        state.set_reviewed(line.get("logged", ()), "reversed")
        state.set_reviewed(line.get("unreviewed", ()), "unreviewed")
    store = project.store_to_write(scope)
    touched = {id_ for line in lines for id_ in line.get("before", ())}
    with store.writing():
        for line in reversed(lines):
            if "step" in line:
                yield from _undo_step(project, store, line, touched)


def _undo_step(project: Project, store: Store, line: Mapping[str, Any], touched: Collection[str]) -> Iterator[str]:
    for id_, changes in line.get("changes", {}).items():
        if changes:
            yield from _undo_edit(project, store, id_, changes)
    if dropped := line.get("dropped"):
        yield _undo_drop(store, dropped, line, touched)
    if added := line.get("added"):
        memory = store.get(added["id"])
        if memory and seal(memory) == added["seal"]:
            store.remove([memory.id], tick(project.clock(), memory.written_at))
            yield f"{memory.id} is taken out again"


def _undo_edit(project: Project, store: Store, id_: str, changes: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    memory = store.get(id_)
    if memory is None:
        yield f"{id_} is gone; left so"
        return
    back = {
        name: was
        for name, (was, new) in changes.items()
        if name != "updated_at" and value_of(memory, name) == new and was != new
    }
    if back:
        store.update({id_: {**back, "updated_at": format_time(tick(project.clock(), memory.written_at))}})
        yield f"{id_} has its {' and '.join(sorted(back))} back" if "archived_at" not in back else f"{id_} is back"
    if later := sorted(changes.keys() - back.keys() - {"updated_at"}):
        yield f"{id_} keeps its {' and '.join(later)}, changed since"


def _undo_drop(store: Store, id_: str, line: Mapping[str, Any], touched: Collection[str]) -> str:
    raw = line["before"][id_].encode("utf-8", "surrogatepass").rstrip(b"\r")
    memory = decode(raw).memory
    if store.get(id_):
        return f"{id_} is there already"
    if memory is None:
        return f"{id_} cannot be read any more; its line is in the undone run"
    same = store.by_hash(content_hash(memory.content))
    if same and same.id not in touched:  # the run's own records stood side by side before
        return f"{id_} stays out: {same.id} says the same"
    store.write([raw], {})
    return f"{id_} is back"
