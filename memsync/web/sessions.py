"""The page *Sessions*: what each agent session was given and why, and what a prompt would be given now."""

from __future__ import annotations

from typing import Any, Final

from memsync.agents.explain import MEANINGS, explain
from memsync.agents.session import RecallSession
from memsync.agents.sessions import Event, find_session, list_sessions
from memsync.memories.project import Project
from memsync.records import parse_time, sent_id
from memsync.web import pages
from memsync.web.desk import Given, Page, Routes

routes = Routes()

_ROWS: Final = 100
_EVENTS: Final = 500
_LONGEST: Final = 20_000  # characters of a prompt that is tried


@routes.reads("/sessions")
def show(project: Project, _: Given) -> Page:
    """Return the sessions, the latest first."""
    found = list_sessions(project)
    rows = [
        (one, pages.address("/sessions/one", {"id": one.id}), parse_time(one.events[-1].at)) for one in found[:_ROWS]
    ]
    return _page(rows=rows, total=len(found), command=pages.command("sessions"))


@routes.reads("/sessions/one")
def show_session(project: Project, given: Given) -> Page:
    """Return what happened in one session."""
    one = find_session(list_sessions(project), given.raw("id"))
    ids = {memory.id: scope for scope, store in project.stores.items() for memory in store.memories().values()}

    def link(event: Event) -> str:
        return pages.address("/memory", {"id": sent_id(event.id), "scope": ids[event.id]}) if event.id in ids else ""

    rows = [(event, parse_time(event.at), link(event)) for event in one.events[-_EVENTS:]]
    view = {"session": one, "rows": rows, "command": pages.command("sessions", "show", text=one.id)}
    return Page("session.html", view)


@routes.writes("/sessions/try")
def try_prompt(project: Project, given: Given) -> Page:
    """Return what an agent would be given for a prompt, and by which rule not; nothing is noted, the prompt either."""
    prompt, session = given.raw("prompt")[:_LONGEST], given.get("session")
    found = explain(RecallSession(project, session), prompt or None)
    rows = [(one, MEANINGS[one.rule]) for one in found.verdicts]
    command = pages.command("inject", "--explain", prompt=prompt or None, session=session or None)
    return _page(prompt=prompt, session=session, tried=found, verdicts=rows, command=command)


def _page(**more: Any) -> Page:
    view: dict[str, Any] = {"rows": [], "total": 0, "prompt": "", "session": "", "tried": None, "verdicts": []}
    return Page("sessions.html", view | more)
