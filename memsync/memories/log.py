"""What changed when and by whom, over all stores in reach, the newest first, memories and skills alike; and what people mean by since when."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import inf
from pathlib import Path
from sys import maxsize
from typing import Any, Final, Literal, NamedTuple

from memsync.errors import NoHistory, SkillNotFound, StoreError, UsageError
from memsync.format.codec import Line, fields_of
from memsync.git import history
from memsync.git.history import Commit, compare_lines
from memsync.memories import events
from memsync.memories.anchors import parse
from memsync.memories.events import Event, Kind, describe_commit, files_of, find_uncommitted, read_steps
from memsync.memories.project import Project
from memsync.records import Memory, Scope, format_time, same_but_for_time
from memsync.skills import check
from memsync.skills.store import SKILL_FILE
from memsync.store.files import read, resolve_inside

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


class SkillEvent(NamedTuple):
    """What one commit, or the work tree since then (no commit), did to the lines of a SKILL.md."""

    commit: Commit | None
    path: str
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        rows = {"added": self.added, "removed": self.removed}
        return {
            **describe_commit(self.commit),
            "subject": self.commit and self.commit.subject,
            "path": self.path,
            **{name: [row.decode("utf-8", "replace") for row in some] for name, some in rows.items()},
        }


def skill_events(project: Project, name: str) -> list[SkillEvent]:
    """Return what happened to the skill *name* of the project, newest first; also under its earlier names.

    Raises:
        NoHistory: the project is not in a checkout, or git failed.
        InvalidSkill: *name* is not the name of a skill.
        SkillNotFound: neither git nor the work tree has it.
    """
    files = files_of(project)
    path = f"{files.skills}/{check.clean_name(name)}/{SKILL_FILE}"
    has_commits = bool(history.head(files.root))
    names = history.names_of(files.root, path) if has_commits else []
    found = [
        SkillEvent(step.commit, step.path, step.added, step.replaced)
        for step in (history.steps(files.root, names) if names else ())
    ]
    (committed,) = history.read(files.root, [("HEAD", path)]) if has_commits else (None,)
    try:
        now = read(resolve_inside(files.root / path, files.root))[0].replace(b"\r\n", b"\n")
    except StoreError:
        now = committed or b""
    added, removed, _ = compare_lines(now, committed or b"")
    if added or removed:
        found.insert(0, SkillEvent(None, path, added, removed))
    if not found:
        raise SkillNotFound(name, " that git has ever had, or that is here now")
    return found


_NO_FILE: Final = "no file"
_KEPT: Final = 32  # commits: one page and some
_MOST: Final = 200  # memories of each; of more only how many they are is known


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happened in some commits that led to *tip*, newest first, to how many more memories, and whether older ones follow."""

    tip: str
    events: Sequence[Event]
    commits: int
    is_last: bool
    left: int = 0


def read_stretch(
    project: Project, tip: str = "", *, skip: int = 0, most: int = 25, seconds: float = math.inf
) -> Stretch:
    """Return what *most* commits did, behind *skip* others that led to *tip*; without one to HEAD, and not committed yet.

    After *seconds* no further one is read, but for the first: of a large file a few are read in a second.
    """
    files = files_of(project)
    end = time.monotonic() + seconds
    now: list[Event] = []
    if not tip:
        tip = history.head(files.root)
        now = find_uncommitted(project, files, tip)[::-1]
    if not tip:
        return Stretch("", now, 0, is_last=True)
    tip = history.resolve(files.root, tip).id
    found, names = history.list_commits(files.root, files.path, tip, skip=skip, most=most + 1)
    events: list[Event] = []
    commits = left = 0
    for commit in found[:most]:
        if commits and time.monotonic() > end:
            break
        happened, more = _read_commit(files.root, commit, tuple(names))
        events, commits, left = [*events, *happened], commits + 1, left + more
    return Stretch(tip, [*now, *_link(events)], commits, is_last=len(found) <= commits, left=left)


@lru_cache(_KEPT)
def _read_commit(root: Path, commit: str, names: tuple[str, ...]) -> tuple[Sequence[Event], int]:
    """Return what a commit did, which nothing changes any more, to some memories, and to how many more."""
    steps = history.steps(root, names, revs=["--no-walk=unsorted", commit])
    found = [*read_steps(root, steps, bool, {})][::-1]
    return found[:_MOST], len(found[_MOST:])


def _link(events: Sequence[Event]) -> list[Event]:
    """Return *events* with what each memory was before, as far as an older one of them says so: a line may stand beside that which it replaces."""
    latest: dict[str, Line] = {}
    linked = []
    for event in reversed(events):
        known = latest.get(event.id)
        one = replace(event, old=known) if known and event.before is None else event
        latest[event.id] = event.new
        if not same_but_for_time(one.before, one.after):
            linked.append(one)
    return linked[::-1]


def count_churn(events: Iterable[Event], by: Literal["type", "file"]) -> Mapping[str, Mapping[Kind, int]]:
    """Return how often memories of each type, or with an anchor in each file, were added, changed or removed."""
    found: dict[str, Counter[Kind]] = {}
    for event in events:
        memory = event.after or event.before
        if memory is not None:
            files = dict.fromkeys(parse(anchor).path for anchor in memory.anchors) or [_NO_FILE]
            for name in [memory.memory_type] if by == "type" else files:
                found.setdefault(name, Counter())[event.kind] += 1
    return dict(sorted(found.items(), key=lambda one: (-one[1].total(), one[0])))
