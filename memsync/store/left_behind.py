"""What lies where nobody looks any more: of a worktree that git removed, and where an older memsync has it (docs/adr/0107)."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.errors import MemsyncError, blaming
from memsync.format import pending
from memsync.store import files, local_history
from memsync.store.lock import lock
from memsync.store.places import STORE_DIR, WORKTREES, GitDirs, Layout, Place
from memsync.system import local
from memsync.system.logs import Log
from memsync.system.texts import count

log = Log(__name__)

_WAIT: Final = 2.0  # seconds for an older memsync that writes
_STAY: Final = ("pending.jsonl", "history.jsonl", "history.1.jsonl")


def take_over(layout: Layout) -> None:
    """Bring what was left behind to the local files of the project of *layout*. Never fails: what cannot be had now stays."""
    git, place = layout.git, layout.project
    if git is None or place is None:
        return
    # An older memsync may have written there since the last time.
    is_used = layout.former and any((layout.former / name).exists() for name in (*_STAY, "candidates"))
    found = [(layout.former, "")] if layout.former and is_used else []
    found += [(path, name) for name, path in _find_orphans(git, place)]
    for path, name in found:
        try:
            number = _take_one(path, place)
        except (MemsyncError, OSError) as error:
            log.info("%s is not taken over: %s", path, error)
            continue
        if name:
            with suppress(OSError):
                shutil.rmtree(git.common / "memsync" / WORKTREES / name)
            if number:
                waits = f"{count(number, 'change')} that {'waits' if number == 1 else 'wait'} for a commit"
                log.warning("took over from the worktree %s, which is gone: %s", name, waits)


def _find_orphans(git: GitDirs, place: Place) -> list[tuple[str, Path]]:
    """Return name and local files of each worktree that git knows no more, of the same project in it."""
    folder = git.common / "memsync" / WORKTREES
    if not folder.is_dir():
        return []
    below = place.directory.parent.relative_to(git.root)
    gone = [name for name in sorted(os.listdir(folder)) if not (git.common / WORKTREES / name).exists()]
    found = [(name, folder / name / below / local.LOCAL) for name in gone]
    return [(name, path) for name, path in found if path.is_dir()]


def find_lost_folders(git: GitDirs) -> list[tuple[str, str, int]]:
    """Return of each linked worktree whose folder is gone its name, its path, and how many changes wait there."""
    found = []
    for path in sorted((git.common / "memsync" / WORKTREES).glob(f"*/**/{STORE_DIR}/local/pending.jsonl")):
        name = path.relative_to(git.common / "memsync" / WORKTREES).parts[0]
        link = git.common / WORKTREES / name / "gitdir"
        with suppress(OSError):
            top = Path(link.read_text(encoding="utf-8", errors="surrogateescape").strip()).parent
            if not top.exists():
                found.append((name, str(top), _count_waiting(files.read(path)[0])))
    return found


def _count_waiting(data: bytes) -> int:
    return len({line.id for line in pending.read(data) if line.id})


def _take_one(path: Path, place: Place) -> int:
    """Take the local files at *path* over, and return how many changes waited there."""
    if why := local.explain_distrust(path):
        raise OSError(why)
    files.prepare(place)
    with lock(place.local / "lock"), lock(path / "lock", wait=_WAIT, is_told=False):
        local_history.carry(path, place.local, private=place.private)
        data, own = files.read(path / "pending.jsonl")[0], files.read(place.pending)[0]
        if data:
            waiting = [
                line.raw for line in pending.read(own + data) if line.id
            ]  # of two versions of one the earlier can be restored
            local_history.keep(place.local, waiting, private=place.private)
            files.rewrite(place.pending, pending.join(own, data), was=own, private=place.private)
        with blaming(path):
            for name in _STAY:
                (path / name).unlink(missing_ok=True)
            local.move_into(path, place.local)
    return _count_waiting(data)
