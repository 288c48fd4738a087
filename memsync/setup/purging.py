"""Taking out of a repository all that memsync keeps for it, after a copy of the memories was written elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import MemsyncError, Remedy, blaming
from memsync.git import attributes
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.reach import find_note
from memsync.store import checkout, files
from memsync.store.places import CONFIG, MEMORIES, WORKFLOWS, Place, key_file
from memsync.system.home import find_home
from memsync.system.texts import count
from memsync.transfer import writers

_OURS: Final = frozenset({MEMORIES, CONFIG, WORKFLOWS, ".gitignore", "local"})


class Doomed(NamedTuple):
    """A path that goes, and what it holds."""

    path: Path
    what: str


def list_doomed(project: Project) -> list[Doomed]:
    """Return all that memsync keeps for the project, but for the settings of clients and git, which `uninstall` knows."""
    layout = project.layout
    found = []
    if layout.project:
        found += _list_ours(layout.project, _count(project, "project"))
    if layout.stealth:
        found.append(Doomed(layout.stealth.directory, f"{_count(project, 'stealth')}, private; counts and logs"))
    if layout.git:
        found.append(Doomed(key_file(layout.git).parent, "where the private ones are"))
    if layout.root:
        found += [Doomed(path, "empty") for path in _list_empty(project, layout.root)]
        if _our_lines(layout.root / ".gitattributes"):
            found.append(Doomed(layout.root / ".gitattributes", "our lines in it"))
    if note := find_note(project):
        found.append(Doomed(note, "that this machine knows it"))
    return [one for one in found if one.path.exists()]


def _list_ours(place: Place, held: str) -> list[Doomed]:
    """Return the directory of the store, or what is ours in it where another tool keeps something there too."""
    names = {path.name for path in place.directory.iterdir()} if place.directory.is_dir() else set()
    if names <= _OURS:
        return [Doomed(place.directory, held)]
    whats = {MEMORIES: held, CONFIG: "settings", WORKFLOWS: "workflows"}
    return [Doomed(place.directory / name, whats.get(name, "ours")) for name in sorted(names & _OURS)]


def _count(project: Project, scope: str) -> str:
    return count(sum(entry.scope == scope for entry in project.entries(Filters(archived=True))), "memory")


def _list_empty(project: Project, root: Path) -> Iterator[Path]:
    notes = [project.layout.git.common / "refs" / "notes"] if project.layout.git else []
    for path in (root / ".agents" / "skills", root / ".agents", *notes):
        with suppress(OSError):
            if not [one for one in path.iterdir() if one.name != "skills" or any(one.iterdir())]:
                yield path


def _our_lines(path: Path) -> bool:
    return bool({*files.read(path)[0].splitlines()} & {*attributes.LINES})


def export_all(project: Project, to: Path | None = None) -> Path | None:
    """Write every memory of the project, the private ones too, to *to*, else into the home; return where; None: there is none.

    Raises:
        StoreError: it could not be written.
        MemsyncError: a store has lines that cannot be read, so that the copy would not hold all.
    """
    found = [entry for entry in project.entries(Filters(archived=True)) if entry.scope != "global"]
    for scope, store in project.stores.items():
        if scope != "global" and (problem := store.first_problem()):
            where = f"{store.place.memories}:{problem[1]}: {problem[2]}"
            raise MemsyncError(
                f"{where}, so a copy would not hold all; nothing was removed; ", Remedy("doctor"), " shows more"
            )
    if not found:
        return None
    root = project.layout.root or project.layout.start
    name = f"memsync-{root.name}-{project.clock():%Y%m%d-%H%M%S}.jsonl"
    path = to or Path(find_home(project.env) or root.parent) / name
    with blaming(path):
        files.create(path, writers.spell(found, "jsonl").encode(), private=True)
    return path


def purge(doomed: list[Doomed]) -> list[str]:
    """Remove what *doomed* names, and say what is gone.

    Raises:
        StoreError: something could not be removed.
    """
    for one in doomed:
        with blaming(one.path):
            if one.path.name == ".gitattributes":
                _strip(one.path)
            elif one.what == "empty":
                one.path.rmdir()
            elif one.path.is_symlink():
                one.path.unlink()
            elif one.path.is_dir():
                shutil.rmtree(one.path)
            else:
                one.path.unlink()
    return [f"removed {one.path} ({one.what})" for one in doomed]


def _strip(path: Path) -> None:
    data, _ = files.read(path)
    if kept := attributes.remove_lines(data, b""):
        files.rewrite(path, kept, was=data)
    else:
        path.unlink()


def is_tracked(project: Project) -> bool:
    """Tell whether git has the memory file, so that the removal is to be committed."""
    place = project.layout.project
    return bool(project.layout.git and place and checkout.is_tracked(place.memories))
