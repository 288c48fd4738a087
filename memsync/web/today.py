"""The front page *Today*: what waits for somebody, what changed since he was here, what agents were given, and whether all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from memsync.agents.notes import scope_of
from memsync.agents.sessions import Session, list_sessions
from memsync.janitor.waiting import Waiting
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import format_time, parse_time
from memsync.web.desk import Given, Page, Routes
from memsync.web.review import name_kind
from memsync.web.shelf import Shelf

routes = Routes()
_ROWS: Final = 8
_DAY: Final = timedelta(days=1)
_PAUSE: Final = timedelta(minutes=30)  # without a look at this page; who comes back then was away
_VISITS: Final = ":desk"  # beside the sessions of agents, none of which has such an id


class Changed(NamedTuple):
    """The memories that were written since somebody was here, the latest first, and how many by each author."""

    since: datetime
    entries: Sequence[Entry]
    total: int
    authors: Sequence[tuple[str, int]]


@routes.reads("/", Waiting, Shelf)
def show(waiting: Waiting, shelf: Shelf, project: Project, _: Given) -> Page:
    """Return the front page; that it was looked at is noted."""
    kinds = Counter(name.partition(":")[0] for name in waiting.names(project))
    look = shelf.look(project)
    view: dict[str, Any] = {
        "live": look.live,
        "skills": len(project.skills.list()),
        "waits": [(kind, name_kind(kind), count) for kind, count in kinds.items()],
        "is_reading": waiting.is_reading,
        "changed": _find_changed(shelf, project, _note_visit(project)),
        "sessions": _list_recent(project),
    }
    return Page("today.html", view)


def _note_visit(project: Project) -> datetime:
    """Return when somebody looked at this page before he went away; a day ago where nobody did."""
    now, scope = project.clock(), scope_of(project.layout, project.settings)
    seen: dict[str, str] = {}

    def change(known: dict[str, Any]) -> dict[str, Any]:
        last = parse_time(known.get("last"))
        before = known.get("last" if last and now - last > _PAUSE else "before")
        seen.update(before=before or "")
        return {"last": format_time(now), "before": before}

    place = project.layout.place(scope) if scope else None
    if scope and place and place.directory.is_dir():  # a look makes no store
        project.state(scope).change_variables(_VISITS, now, change)
    return parse_time(seen.get("before")) or now - _DAY


def _find_changed(shelf: Shelf, project: Project, since: datetime) -> Changed:
    written = [
        (memory.written_at, make)
        for memory, make in shelf.look(project).pairs()
        if memory.written_at and memory.written_at > since and memory.archived_at is None
    ]
    written.sort(key=lambda one: one[0], reverse=True)
    authors = Counter(make().memory.author or "somebody" for _, make in written)
    first = [project.mark(make()) for _, make in written[:_ROWS]]
    return Changed(since, first, len(written), authors.most_common(_ROWS))


def _list_recent(project: Project) -> list[tuple[Session, datetime]]:
    """Return the sessions of the last day with when something happened last."""
    found = ((one, parse_time(one.events[-1].at)) for one in list_sessions(project))
    return [(one, last) for one, last in found if last and project.clock() - last < _DAY][:_ROWS]
