"""The page *Sessions*: what each agent session was given and why, and what a prompt would be given now."""

from __future__ import annotations

from typing import Final

from memsync.agents.explain import MEANINGS, Verdict, explain
from memsync.agents.memory_tests import add_case, drop_case
from memsync.agents.session import RecallSession
from memsync.agents.sessions import find_session, list_sessions
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import parse_time
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo

routes = Routes()
_ROWS: Final = 100
_EVENTS: Final = 500
_LONGEST: Final = 20_000  # characters of a prompt that is tried


@routes.reads("/sessions")
def show(project: Project, given: Given) -> Page:
    """Return the sessions, the latest first, or the form for a prompt: `for` names the memory that did not come."""
    found = list_sessions(project)
    rows = [(one, parse_time(one.events[-1].at)) for one in found[:_ROWS]]
    view = {"rows": rows, "total": len(found), "tried": None, "command": pages.command("sessions")}
    asks = bool(given.get("try") or given.get("for"))
    return Page(
        "sessions.html", {"prompt": "", "session": "", "asks": asks, "missed": _find_missed(project, given), **view}
    )


def _find_missed(project: Project, given: Given) -> Entry | None:
    """Return the memory that somebody expected to come."""
    return project.get(given.raw("for")) if given.get("for") else None


@routes.reads("/sessions/one")
def show_session(project: Project, given: Given) -> Page:
    """Return what happened in one session."""
    one = find_session(list_sessions(project), given.raw("id"))
    scopes = {memory.id: scope for scope, store in project.stores.items() for memory in store.memories().values()}
    rows = [(event, parse_time(event.at), scopes.get(event.id)) for event in one.events[-_EVENTS:]]
    view = {"session": one, "rows": rows, "command": pages.command("sessions", "show", text=one.id)}
    return Page("session.html", view)


@routes.writes("/sessions/try")
def try_prompt(project: Project, given: Given) -> Page:
    """Return what an agent would be given for a prompt, and by which rule not; nothing is noted, the prompt either."""
    prompt, session = given.raw("prompt")[:_LONGEST], given.get("session")
    found = explain(RecallSession(project, session), prompt or None)
    missed = _find_missed(project, given)
    rows = [(one, MEANINGS[one.rule]) for one in found.verdicts]
    rows.sort(key=lambda row: missed is None or row[0].entry.id != missed.id)
    if missed and not any(one.entry.id == missed.id for one, _ in rows):
        reason = "nothing of the prompt finds it: it has none of its words, or others that fit better came before it"
        rows.insert(0, (Verdict(missed, "not found", None, None), reason))
    command = pages.command("inject", "--explain", prompt=prompt or None, session=session or None)
    view = {"prompt": prompt, "session": session, "asks": False, "missed": missed, "tried": found, "verdicts": rows}
    return Page("sessions.html", {**view, "command": command})


@routes.writes("/sessions/test")
def write_test(project: Project, given: Given) -> Done:
    """Make a memory test of the prompt that was tried: a memory must come for it, or must not, or none may."""
    ids = [project.get(id_, "project").id for id_ in given.every("id")]
    case = add_case(project, {"prompt": given.raw("prompt")[:_LONGEST]}, ids, banned=bool(given.get("banned")))
    undo = Undo("/sessions/drop-test", {"line": case.raw.decode()})
    return Done(f"Wrote the test {case.raw.decode()}", "/sessions", [pages.command("test")], undo)


@routes.writes("/sessions/drop-test")
def drop_test(project: Project, given: Given) -> Done:
    """Take the memory test out again that was just written."""
    drop_case(project, given.raw("line").encode())
    return Done("The test is gone again", "/sessions")
