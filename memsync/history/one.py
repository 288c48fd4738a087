"""Which lines of the memory file are about one memory, and reading them in all its versions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from memsync.git import history
from memsync.git.rows import rows_with
from memsync.history.lines import files_of
from memsync.memories.project import Project
from memsync.records import may_be_shown, shown_id

_CLOCKS_DIFFER: Final = timedelta(days=1)


def narrow(
    project: Project, ref: str, matches: Callable[[str], bool]
) -> tuple[Callable[[bytes], bytes] | None, datetime | None]:
    """Return what picks the lines of *ref* from a version of the file, and when it was not there yet; None: unknown."""
    store = project.store("project")
    store.refresh()
    if may_be_shown(ref) or any(map(matches, store.nameless())):
        return None, None  # no line has its id as it is written here
    memory = store.get(ref)
    if memory is None:
        return partial(rows_with, [ref.strip().removeprefix("mm-")]), None
    born = memory.created_at - _CLOCKS_DIFFER if memory.created_at else None
    return partial(rows_with, [ref], exact=True), born


def make_matcher(ref: str | None) -> Callable[[str], bool]:
    """Return what tells whether an id is one that *ref* may name; without one every id is."""
    if ref is None:
        return bool
    lower = ref.strip().lower()
    is_meant: Callable[[str], bool] = lambda id_: id_ == ref or id_.lower().startswith((lower, f"mm-{lower}"))  # noqa: E731
    if may_be_shown(ref):
        return lambda id_: is_meant(id_) or shown_id(id_).startswith(lower)
    return is_meant


def reader(project: Project, ref: str) -> Callable[[dict[str, bytes]], None] | None:
    """Return what reads the lines of *ref* in all that led to HEAD into a dict, for `events`; it needs the project no more.

    Where nothing that led to HEAD has one, those of every branch, tag and stash.

    None: its lines cannot be told from others without reading all.

    Raises:
        NoHistory: there is no git.
    """
    files = files_of(project)
    head = history.head(files.root)
    pick, born = narrow(project, ref, make_matcher(ref))
    if pick is None or not head:
        return None
    is_here = project.store("project").get(ref) is not None

    def read(held: dict[str, bytes]) -> None:
        was_there = is_here
        for revs in ([head], [head, *history.EVERYWHERE]):
            names = history.names_of(files.root, files.path, revs)
            for _ in history.steps(files.root, names, revs=revs, pick=pick, born=born, held=held):
                was_there = True
            if was_there:
                return

    return read
