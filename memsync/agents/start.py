"""What a session's start has besides the most important memories: whose turn it is among equals, what the branch is about, and which subjects there are; and a start where no hook ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from memsync.agents import context, hooklog
from memsync.agents.injection import Injection
from memsync.agents.notes import scope_of
from memsync.memories.filters import Filters
from memsync.memories.listing import count_subjects
from memsync.memories.reach import search_all
from memsync.records import format_time, parse_time
from memsync.safety.guard import shown_label

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.agents.session import RecallSession
    from memsync.memories.project import Project
    from memsync.memories.results import Entry

SMALL: Final = 80  # memories, of more than which no store is short enough to be given whole
WHOLE: Final = 2  # times the budget of an event, that a whole store may take once a session
_SPREAD: Final = 0.15  # of importance, within which memories take turns
_SUBJECTS: Final = 20
_LEAST: Final = 3  # subjects that make a map
_TRUNKS: Final = frozenset({"main", "master", "trunk", "develop", "dev"})
_ON_BRANCH: Final = 3


def find_turns(project: Project) -> Mapping[str, float]:
    """Return by id how much less a memory is worth at a start, because it was given lately: the last one all of the spread, the first one least."""
    given = sorted((at, id_) for scope in project.stores for id_, at in project.state(scope).last_given())
    return {id_: _SPREAD * number / len(given) for number, (_, id_) in enumerate(given, 1)}


def find_on_branch(project: Project, keep: Callable[[Entry], bool]) -> list[str]:
    """Return the ids of what the name of the branch surely asks for."""
    git, name = project.layout.git, ""
    with suppress(OSError, ValueError):
        head = (git.git_dir / "HEAD").read_text(encoding="utf-8") if git else ""
        name = head.partition("refs/heads/")[2].strip()
    if not name or name in _TRUNKS:
        return []
    words = " ".join("".join(letter if letter.isalnum() else " " for letter in name).split())
    found = search_all(project, words, Filters(keep=keep), limit=_ON_BRANCH)
    return [hit.id for hit in found if not found.is_weak(hit)]


def map_subjects(project: Project) -> str:
    """Return a line that says how many memories there are, and on which subjects."""
    many, subjects = count_subjects(project)
    named = [f"{shown_label(name)} {count}" for name, count in subjects.items() if count > 1][:_SUBJECTS]
    if len(named) < _LEAST:
        return ""
    return f"{many} memories in all; recall finds more, among others on: {', '.join(named)}"


def stand_in(session: RecallSession, shown: Iterable[str], since: datetime) -> str:
    """Return what *session* starts with beside the memories *shown*, and note it; "" where hooks see to that.

    Of a client that names no session, any hook of the project *since* it has started may be its own.
    """
    project, about = session.project, {"client": "mcp", "event": "first-answer", "session": session.id}
    if project.env.get("MEMSYNC_HOOKS") == "off" or not project.settings.enabled or session.had_hook():
        return ""
    last = None if session.id else hooklog.last(project.layout, scope_of(project.layout, project.settings))
    if last and (at := parse_time(last.get("at"))) and at >= since:
        return ""
    session.hold(Injection(entries=tuple(session.find_all(shown))))
    given = session.at_start()
    session.commit(given)
    session.keep_start([given])
    ids = [entry.id for entry in given.entries]
    session.log({"at": format_time(project.clock()), **about, "given": ids, "chars": len(given.text)})
    return given.text


def wrap_alone(line: str, budget: int) -> str:
    """Return a block of that one *line*; "" where it does not fit."""
    text = context.wrap([line])
    return text if context.fits(text, budget) else ""
