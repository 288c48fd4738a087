"""How the work tree differs from a commit: of a large file git's patch says where, so that no version of it is read."""

from __future__ import annotations

from functools import partial

from memsync.format import jsonl
from memsync.git import patches
from memsync.git.rows import rows_with
from memsync.history.events import Event, differences_now
from memsync.history.lines import Files, lines_known, read_live
from memsync.memories.project import Project


def find_uncommitted(project: Project, files: Files, commit: str) -> list[Event]:
    """Return how the work tree differs from *commit*, a whole name or "" before the first one, as `differences` does.

    Raises:
        NoHistory: git failed.
    """
    if not commit:
        return differences_now(project, {})
    ids = _find_ids(project, files, commit)
    if ids is None:
        return differences_now(project, read_live(files.root, files.path, commit, lines_known(project)))
    if not ids:
        return []
    pick = partial(rows_with, ids, exact=True)
    return differences_now(project, read_live(files.root, files.path, commit, {}, pick), ids.__contains__)


def _find_ids(project: Project, files: Files, commit: str) -> set[str] | None:
    """Return which memories git's patch speaks of; None where all must be looked at."""
    store = project.store("project")
    store.refresh()
    if store.waiting or store.nameless() or (rows := patches.rows_now(files.root, files.path, commit)) is None:
        return None
    lines = [jsonl.read_line(row) for row in rows]
    return None if any(line.id is None or line.nameless for line in lines) else {line.id for line in lines if line.id}
