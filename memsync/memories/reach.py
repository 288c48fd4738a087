"""Memories of other repositories: those above a nested store, which it inherits, and those that this machine knows.

Each is asked with its own index; scores are on one scale, so that the answers are put in one order. What is nearer stands
for what is farther away: with the same id or text, and where it says that it supersedes it. In a repository a memory may be scoped to the folder of the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zlib import crc32

from memsync.errors import ConfigError, MemoryNotFound, StoreError, UsageError
from memsync.memories.filters import Filters, Order, as_hit, search, sort_by_importance
from memsync.memories.results import Entry, Hit, Recall
from memsync.records import Memory, Scope, normal_form
from memsync.store import files
from memsync.store.places import Layout, locate
from memsync.system.home import find_own

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.store.store import Store

_FOLDER: Final = "repositories"  # of the home store: one small file for each, so that nobody waits for a lock


def find_above(project: Project) -> Project | None:
    """Return the project whose memories *project* inherits: that of the next store above, up to the top of the work tree."""
    if (layout := locate_above(project.layout, project.env)) is None:
        return None
    above = type(project)(layout, clock=project.clock, env=project.env)
    above.repo = str(layout.root)
    return above


def locate_above(layout: Layout, env: Mapping[str, str]) -> Layout | None:
    """Return where the next store above that of *layout* is, up to the top of the work tree; None: there is none."""
    root, git = layout.root, layout.git
    if root is None or git is None or root == git.root or layout.project is None:
        return None
    above = locate(root.parent, env)
    place = above.project
    return above if place and (place.memories.exists() or place.pending.exists()) else None


def own(project: Project, entry: Entry) -> Project:
    """Return the project that *entry* is of: *project*, or one above it."""
    while entry.repo != project.repo and project.above:
        project = project.above
    return project


def walk(project: Project) -> Iterator[tuple[Project, Scope, Store]]:
    """Yield each store in reach, the nearer first: those of *project*, and of those above what is shared there."""
    yield from ((project, scope, store) for scope, store in project.stores.items())
    above = project.above
    while above:
        above.stores.refresh()
        yield above, "project", above.stores["project"]
        above = above.above


def find_inherited(project: Project, ref: str, error: MemoryNotFound) -> Entry:
    """Return the memory that *ref* names in a store above."""
    if project.above is None:
        raise error
    with suppress(MemoryNotFound):
        return project.above.get(ref, "project")
    raise error


def list_hidden(project: Project) -> set[str]:
    """Return the ids that the store of *project* stands for, with a version of its own or as superseded."""
    project.stores.refresh()
    held = project.stores["project"].memories() if "project" in project.stores else {}
    return {*held, *(old for memory in held.values() if not memory.archived_at for old in memory.supersedes)}


def search_all(project: Project, query: str, filters: Filters, *, limit: int) -> Recall:
    """Return what answers *query* in *project* and in the stores above, best first, not marked yet."""
    found = search(project, query, filters, limit=limit)
    if (above := project.above) is None or "project" not in filters.scopes:
        return found
    return join([found, search_all(above, query, _narrow(project, filters), limit=limit)], limit)


def list_memories(
    project: Project, filters: Filters, *, limit: int | None = None, order: Order | None = None
) -> list[Entry]:
    """Return the memories that pass *filters*, those above too, most important first or by *order*."""
    entries = list(project.entries(filters))
    if (above := project.above) is not None and "project" in filters.scopes:
        entries += list_memories(above, _narrow(project, filters))
    texts: dict[str, Entry] = {}
    for entry in entries:  # the nearer first
        texts.setdefault(normal_form(entry.content) if project.above else entry.scope + entry.id, entry)
    return [project.mark(entry) for entry in sort_by_importance(texts.values(), order)[:limit]]


def _narrow(project: Project, filters: Filters) -> Filters:
    shared: tuple[Scope, ...] = ("project",)
    return replace(filters, scopes=shared, exclude={*filters.exclude, *list_hidden(project)})


def join(found: Sequence[Recall], limit: int) -> Recall:
    """Return one recall for all of *found*, each in its own order, the better next hit first; at a tie the nearer."""
    rows = [list(one) for one in found]
    hits: dict[str, Hit] = {}
    while any(rows) and len(hits) < limit:
        best = max((row for row in rows if row), key=lambda row: _worth_of(row[0]))
        hit = best.pop(0)
        hits.setdefault(normal_form(hit.content), hit)
    gate = max((one.gate for one in found), default=0.0)
    first = found[0]
    refused = {id_: sure for one in reversed(found) for id_, sure in one.refused.items()}
    degraded = next((one.degraded for one in found if one.degraded), "")
    called = {term: others for one in reversed(found) for term, others in one.called.items()}
    return replace(first, hits=tuple(hits.values()), gate=gate, refused=refused, degraded=degraded, called=called)


def _worth_of(hit: Hit) -> float:
    return hit.score * hit.parts.get("boost", 1.0) if hit.parts else hit.effective_importance


def recall_in(projects: Sequence[Project], query: str | None, filters: Filters, *, limit: int | None = None) -> Recall:
    """Return what answers *query* in any of *projects*, best first; without a query the most important. Counts no use."""
    limit = projects[0].settings.recall_limit if limit is None else limit
    found = []
    for number, project in enumerate(projects):
        scopes = [scope for scope in filters.scopes if scope != "global" or number == 0]
        chosen = replace(filters, scopes=scopes)
        if query and query.strip():
            one = project.search(query, chosen, limit=limit)
        else:
            one = Recall(hits=tuple(as_hit(entry) for entry in project.list_all(chosen, limit=limit)))
        root = str(project.layout.root or "")
        found.append(replace(one, hits=tuple(replace(hit, repo=hit.repo or root) for hit in one)))
    return join(found, limit)


def open_named(project: Project, paths: Sequence[str]) -> list[Project]:
    """Return the projects that *paths* are in, each once.

    Raises:
        UsageError: one of them is in none that has memories.
    """
    found = {}
    for path in paths:
        if (one := _open(project, Path(path).expanduser())) is None:
            raise UsageError(f"{path}: no repository with memories")
        found[one.layout.root] = one
    return list(found.values())


def open_known(project: Project) -> list[Project]:
    """Return *project* and the others that this machine has worked with and that are still there."""
    found = {project.layout.root: project}
    folder = find_own(project.env)
    names = os.path.join(folder, _FOLDER)
    for name in sorted(os.listdir(names)) if folder and os.path.isdir(names) else ():
        with suppress(OSError, ConfigError, StoreError):
            path = Path(os.fsdecode(files.read(Path(names, name))[0]).strip())
            if path not in found and path.is_dir() and (one := _open(project, path)):
                found.setdefault(one.layout.root, one)
    return list(found.values())


def _open(project: Project, path: Path) -> Project | None:
    layout = locate(path, project.env)
    if layout.root is None or not any(place and place.memories.exists() for place in (layout.project, layout.private)):
        return None
    return type(project)(layout, clock=project.clock, env=project.env)


def note_known(project: Project) -> None:
    """Note in the home store that there is *project*, for `open_known`. Never fails."""
    path = find_note(project)
    if path is None or not path.parent.parent.is_dir():
        return
    with suppress(OSError, StoreError):
        if not path.exists():
            files.make_dirs(path.parent, private=True)
            files.create(path, os.fsencode(f"{project.layout.root}\n"), private=True)


def find_note(project: Project) -> Path | None:
    """Return where the home store notes that there is *project*."""
    home, root = find_own(project.env), project.layout.root
    return Path(home, _FOLDER, f"{crc32(os.fsencode(root)):08x}") if home and root else None


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
