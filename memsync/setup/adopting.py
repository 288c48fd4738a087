"""Taking over a private store of an older memsync that does not say whose it is, at the user's word (docs/adr/0105)."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.errors import Remedy, UsageError, blaming
from memsync.memories.project import Project
from memsync.memories.stores import keep_key
from memsync.store.identity import find_unclaimed, is_unclaimed, take_over
from memsync.store.places import Place
from memsync.store.state import State
from memsync.store.store import Store
from memsync.system.texts import count

# What makes itself anew, or says nothing of a memory: it may go with the old store.
_MADE_ANEW: Final = ("lock*", "*.lock", "*.queue", "*.tmp", "index*", ".gitignore", "hooks*.log", "workflows.json")


def explain_unclaimed(project: Project) -> list[tuple[Path, str]]:
    """Return the private stores that may be this project's, and what to do about each."""
    layout = project.layout
    found = []
    for path in find_unclaimed(layout.home, layout.git, layout.root or layout.start) if layout.home else ():
        held = count(len(_open(path).memories()), "memory")
        what = (
            f"a private store of an older memsync ({held}), which may be another project's and is not used; if you have kept "
            f"private memories of this one before, `memsync doctor --adopt {path.name}` takes it over"
        )
        found.append((path, what))
    return found


def _open(path: Path) -> Store:
    store = Store(Place("private", path, None, private=True))
    store.refresh()
    return store


def adopt_store(project: Project, named: str) -> str:
    """Make the private store *named* that of *project*, beside what that has already, and say what happened.

    Raises:
        UsageError: it is none that waits for this.
        NoStore, StoreError: what was not taken over is still there.
    """
    place = project.layout.place("private")
    old = place.directory.parent / Path(named).name
    if not is_unclaimed(old) or not named.endswith(old.name):
        raise UsageError(
            f"{named} is no private store that waits for its project; ", Remedy("doctor"), " names those that do"
        )
    keep_key(project.layout)
    if place.memories.exists() and (old / place.memories.name).exists():
        _adopt_memories(project, _open(old))
    with blaming(old):
        assert project.layout.private_store
        take_over(old, place.directory, project.layout.private_store.identity)
        for pattern in _MADE_ANEW:
            for path in old.glob(f"local/{pattern}"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for directory in (old / "local", old):
            with suppress(OSError):
                directory.rmdir()
    stays = f"; what differs from what is there already stays in {old}" if old.exists() else ""
    return f"{old.name} is the private store of this project now, in {place.directory}{stays}"


def _adopt_memories(project: Project, old: Store) -> None:
    """Take the memories of *old* over, and what is known of them; those stay of which this project has another text."""
    own = project.store("private")
    with own.writing(), old.writing():
        same = own.adopt(old)
        old.remove([id_ for id_ in same if old.get(id_)], project.clock(), keep=False)
    states = [State(place.local / "state.db", private=True) for place in (own.place, old.place)]
    states[0].absorb(states[1])
    for store in (own, old):
        store.export()
    if not old.memories() and not old.first_problem():
        for name in (
            "memories.jsonl",
            "local/history.jsonl",
            "local/history.1.jsonl",
            "local/state.db",
            "local/undo.json",
        ):
            (old.place.directory / name).unlink(missing_ok=True)
