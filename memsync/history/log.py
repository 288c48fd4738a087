"""What changed when and by whom, over all stores in reach, the newest first; and what people mean by since when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from sys import maxsize
from typing import Any, Final

from memsync.errors import NoHistory, UsageError
from memsync.format.codec import fields_of
from memsync.git import history
from memsync.history import events
from memsync.history.events import Event, Kind
from memsync.history.lines import files_of
from memsync.memories.project import Project
from memsync.records import Memory, Scope, format_time

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_FIRST: Final = 2  # commits that are read first for each row; most have one
_MORE: Final = 8  # times as many the next time
_SPAN: Final = re.compile(
    r"(\d{1,5}|an?|last)?\s*(minute|min|hour|hr|h|day|d|week|wk|w|month|mo|year|yr|y)s?(?:\s+ago)?", re.IGNORECASE
)
_DAYS: Final = {"m": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "mo": 30, "y": 365}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened to one memory. `event` has both versions, where git or the work tree shows them."""

    when: datetime | None
    who: str
    kind: Kind
    scope: Scope
    memory: Memory
    event: Event | None = None

    @property
    def is_committed(self) -> bool:
        """Whether a commit has it."""
        return bool(self.event and self.event.commit)

    def as_dict(self) -> dict[str, Any]:
        """Return when, who, what and which, as JSON."""
        told = (
            self.event.as_dict()
            if self.event
            else {"id": self.memory.id, "kind": self.kind, "after": fields_of(self.memory)}
        )
        return {**told, "when": self.when and format_time(self.when), "author": self.who or None, "scope": self.scope}


def read_log(
    project: Project, since: datetime | None = None, *, scope: Scope | None = None, limit: int | None = None
) -> tuple[list[Row], bool]:
    """Return what happened *since* to memories of *scope*, the newest first, *limit* at most, and whether there is more.

    That is commits, what is not committed yet, and what is outside of git. Of the commits no more are read than that takes.
    """
    others = [where for where in project.stores if where != "project" and scope in (None, where)]
    rest = [row for where in others for row in _read_store(project, where)]
    if scope not in (None, "project"):
        return _cut(rest, since, limit)
    most: float = _FIRST * limit if limit else inf
    while True:
        found, left = _read_project(project, most)
        rows, is_more = _cut([*found, *rest], since, limit)
        if left is None or (since is not None and left < since):
            return rows, is_more
        if is_more and (rows[-1].when or _NEVER) >= left:  # one row more, because the other commits may hold none
            return rows, is_more
        most *= _MORE


def _cut(found: list[Row], since: datetime | None, limit: int | None) -> tuple[list[Row], bool]:
    """Return the newest of what was *found*, and whether others were."""
    kept = [row for row in found if since is None or (row.when and row.when >= since)]
    rows = sorted(kept, key=lambda row: row.when or _NEVER, reverse=True)
    return rows[:limit], len(rows) > len(rows[:limit])


def _read_project(project: Project, most: float) -> tuple[list[Row], datetime | None]:
    """Return what *most* commits did, the latest, what is not committed yet, and when the newest of the other commits was written."""
    try:
        happened, left = events.newest_events(project, int(min(most, maxsize)))
    except NoHistory:
        return (list(_read_store(project, "project")) if "project" in project.stores else []), None
    return [_as_row(project, event) for event in happened], left


def _as_row(project: Project, event: Event) -> Row:
    memory = event.after or event.before
    assert memory
    if event.commit:
        return Row(event.commit.when, event.commit.author, event.kind, "project", memory, event)
    is_gone = event.after is None  # when is written in the removal, which nobody shows
    when = project.clock() if is_gone else memory.written_at
    return Row(when, memory.author or "", event.kind, "project", memory, event)


def _read_store(project: Project, scope: Scope) -> Iterator[Row]:
    """Yield the last that happened to each memory of a store that git does not see."""
    store = project.store(scope)
    store.refresh()
    for memory in store.memories().values():
        kind: Kind = "added" if memory.updated_at in (None, memory.created_at) else "changed"
        yield Row(memory.written_at, memory.author or "", kind, scope, memory)


def find_moment(project: Project, text: str) -> datetime:
    """Return the moment that *text* names: 7d, "1 week", yesterday, 2026-11-01 (here, at midnight), or when a revision was committed.

    Raises:
        UsageError: none of these.
    """
    now = project.clock()
    if (moment := _read_span(text.strip(), now) or _read_date(text.strip(), now)) is not None:
        return moment
    try:
        return history.resolve(files_of(project).root, text).when
    except NoHistory:
        raise UsageError(
            f'{text!r} is no time and no revision; give 7d, "2 weeks", 2026-11-01, yesterday or a commit'
        ) from None


def _read_span(text: str, now: datetime) -> datetime | None:
    if not (found := _SPAN.fullmatch(text)):
        return None
    unit = found[2].lower()
    number = int(found[1]) if (found[1] or "").isdecimal() else 1
    days = number * _DAYS["mo" if unit.startswith("mo") else unit[0]]
    return now - timedelta(days=min(days, 36_500))


def _read_date(text: str, now: datetime) -> datetime | None:
    back = {"today": 0, "yesterday": 1}.get(text.lower())
    if back is not None:
        return (now.astimezone() - timedelta(days=back)).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return datetime.fromisoformat(text).astimezone()  # without an offset it is the clock on the wall here
    except (ValueError, OverflowError):
        return None
