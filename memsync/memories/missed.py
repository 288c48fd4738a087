"""Having the cache of the index made where a short command missed it: in a process of its own, for nobody waits for that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from memsync.errors import StoreError
from memsync.memories.asking import BUILT, as_lists
from memsync.store import files
from memsync.system import local, programs

if TYPE_CHECKING:
    from memsync.memories.project import Project

_LARGE: Final = 256 * 1024  # bytes of memories, from which on reading them takes longer than a short command
_MARK: Final = "missed"


def have_cache_made(project: Project) -> None:
    """Start a process that makes the cache, if `is_missed` says so.

    Without it each `list` in a clone where nobody recalls or writes reads all memories.
    """
    if is_missed(project):
        programs.start_apart("-C", str(project.layout.start), "index", "rebuild", "--missing")


def is_missed(project: Project) -> bool:
    """Tell, once for the files as they are now, that there is no cache of them, though one can be kept and is worth it."""
    path, place = project.finder.path, project.stores.cache_place
    if path is None or place is None or project.settings.embedder not in BUILT:
        return False
    stamps = {scope: as_lists(store.look()) for scope, store in project.stores.items()}
    size = sum(max(stamp[1], 0) for both in stamps.values() for stamp in both)
    held, mark, seen = project.finder.file.load(), path.with_name(_MARK), json.dumps(stamps).encode()
    try:
        if size < _LARGE or (held and held.about["stamps"] == stamps) or files.read(mark)[0] == seen:
            return False
        project.finder.make_room(place, path)
        local.put(mark, [seen], mode=0o600)
    except (OSError, StoreError):
        return False
    return True
