"""Taking out of a repository all that memsync keeps for it, after a copy of the memories was written elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

from memsync.errors import MemsyncError, Remedy, UsageError, blaming
from memsync.git import attributes
from memsync.git.stage import keep_out
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.reach import find_note
from memsync.memories.results import Entry
from memsync.records import Scope
from memsync.store import checkout, files
from memsync.store.identity import key_file
from memsync.store.places import CONFIG, MEMORIES, WORKFLOWS, Place, find_git_local
from memsync.system.home import find_home
from memsync.system.texts import count
from memsync.transfer import writers

_OURS: Final = frozenset({MEMORIES, CONFIG, WORKFLOWS, ".gitignore", "local"})


# What goes with a project; the user's own store for every project stays.
_GOING: Final[tuple[Scope, ...]] = ("project", "private")


class Copy(NamedTuple):
    """A copy that was written before a purge, what it holds, and the words after `memsync` that bring that back."""

    path: Path
    scope: Scope
    held: str
    command: str


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
    if layout.private:
        found.append(Doomed(layout.private.directory, f"{_count(project, 'private')}, private; counts and logs"))
    if layout.git:
        found.append(Doomed(key_file(layout.git), "where the private ones are"))
        found.append(Doomed(find_git_local(layout.git, layout.root), "counts and logs")) if layout.root else None
    if layout.root:
        found += [Doomed(path, "empty") for path in _list_empty(project, layout.root)]
        if any(map(attributes.is_ours, files.read(layout.root / ".gitattributes")[0].splitlines())):
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


def save_copies(project: Project, to: Path | None = None) -> list[Copy]:
    """Write what goes at a purge to *to* and beside it, else into the home: what is shared and what is private apart; return what there is.

    Raises:
        StoreError: a copy could not be written.
        MemsyncError: a store has lines that cannot be read, so that a copy would not hold all; or *to* is there already.
    """
    project.stores.refresh()
    for scope in _GOING:
        store = project.stores.get(scope)
        if store and (problem := store.first_problem()):
            where = f"{store.place.memories}:{problem[1]}: {problem[2]}"
            raise MemsyncError(
                f"{where}, so a copy would not hold all; nothing was removed; ", Remedy("doctor"), " shows more"
            )
    root = project.layout.root or project.layout.start
    name = f"memsync-{root.name}-{project.clock():%Y%m%d-%H%M%S}.jsonl"
    path = to or Path(find_home(project.env) or root.parent) / name
    going = {scope: list(project.entries(Filters(scopes=[scope], archived=True))) for scope in _GOING}
    copies = [_save_memories(project, _name_copy(path, scope), found, scope) for scope, found in going.items() if found]
    if private := [entry for entry in project.skills.list() if entry.scope == "private"]:
        folder = _name_copy(path, "private").with_suffix(".skills")
        files.make_dirs(folder, private=True)
        project.skills.export(folder, scope="private")
        back = f"skill import --private {quote(str(folder))}"
        copies.append(Copy(folder, "private", count(len(private), "private skill"), back))
    return copies


def _name_copy(path: Path, scope: Scope) -> Path:
    return path if scope == "project" else path.with_name(f"{path.stem}-{scope}{path.suffix}")


def _save_memories(project: Project, path: Path, found: list[Entry], scope: Scope) -> Copy:
    with keep_out(project.layout.git if scope != "project" else None, path), blaming(path):
        if not files.create(path, writers.spell(found, "jsonl").encode("utf-8", "replace"), private=True):
            raise UsageError(f"{path} is there already; nothing was removed; name another file for the copies")
    held = count(len(found), "memory") if scope == "project" else count(len(found), f"{scope} memory")
    return Copy(path, scope, held, f"import --restore {quote(str(path))}")


def list_ways_back(project: Project, copies: list[Copy]) -> list[str]:
    """Return the commands that bring back what *copies* hold, each thing where it was."""
    if not copies:
        return []
    init, end = ["init"], []
    if project.settings.stealth and any(
        copy.scope == "project" for copy in copies
    ):  # which may only come back before it
        end = ["config --stealth on --keep"]
    elif project.settings.stealth:
        init = ["init --stealth"]
    return [f"memsync {words}" for words in (*init, *(copy.command for copy in copies), *end)]


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
            elif one.path.is_dir() and not one.path.is_symlink():
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
