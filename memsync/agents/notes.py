"""Which session an event is of, where what is noted of it belongs, and prompts that no memory answers.

Small talk is told by its words, and what no memory can answer by the rows of the index: before a store is opened, or
anything loaded that reads or shows a memory. Which memories can answer is for `index.rank` to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.agents import hooklog
from memsync.agents.prompts import list_questions, small_talk
from memsync.clients.facts import Client
from memsync.errors import MemsyncError
from memsync.records import Scope, format_time, utc_now
from memsync.store import config
from memsync.store.config import Loaded
from memsync.store.places import Layout, list_workflows, locate
from memsync.store.settings import Settings
from memsync.system.limits import read_object

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.memories.index_file import IndexFile
    from memsync.store.places import Place
    from memsync.store.state import State

NOTHING: Final = "nothing that fits"  # why a prompt was given nothing
LEDGER: Final = "injected_memory_ids"  # the variable of a session that has what it was given
MATCHED: Final = "matched"
COMPACTED: Final = "compacted_at"
HELPED: Final = "helped"


def session_id(payload: Mapping[str, Any]) -> str:
    """Return the id under which the session of *payload* is noted; of a subagent its own, below its parent's."""
    agent, parent = payload.get("agent_id"), parent_id(payload)
    return f"{parent}/{agent}" if parent and agent and isinstance(agent, str) else parent


def parent_id(payload: Mapping[str, Any]) -> str:
    """Return the client's id of the session, else the MD5 of the time of its first message, else ""."""
    if isinstance(given := payload.get("session_id"), str) and given:
        return given
    first = _first_time(str(payload.get("transcript_path") or ""))
    if not first:
        return ""
    from hashlib import md5

    return md5(first.encode(), usedforsecurity=False).hexdigest()


def _first_time(transcript: str) -> str:
    """Return when the first message of *transcript* (JSON lines) says it was sent."""
    with suppress(OSError), open(transcript, encoding="utf-8", errors="replace") as lines:
        for _, line in zip(range(50), lines, strict=False):
            found = read_object(line)
            if when := found.get("timestamp") or found.get("startTime"):
                return str(when)
    return ""


def scope_of(layout: Layout, settings: Settings) -> Scope | None:
    """Return the scope beside whose store sessions are noted: never a directory that the project does not have yet.

    Where the project cannot be written to (a mounted one, another user's), that is the home store.
    """
    place = layout.project
    is_there = place is not None and place.directory.is_dir() and not settings.stealth
    if place and is_there:
        database = place.local / "state.db"
        there = [path for path in (database, database.parent, database.parent.parent) if path.exists()]
        if layout.private is None or all(os.access(path, os.W_OK) for path in there):
            return "project"
    return "private" if layout.private else None


def describe(client: Client, event: str, session: str, source: str, *, at: str) -> dict[str, Any]:
    """Return what every note of an event, at the time *at*, begins with."""
    about = {"at": at, "client": client.name, "event": event, "session": session}
    return {**about, "source": source} if source else about


def pass_over(client: Client, payload: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> bool:
    """Note a prompt that asks for nothing, and do no more; False where it may ask for something, or somebody else has to look at it."""
    payload = client.read(payload)
    why = small_talk(client.prompt(str(payload.get("prompt") or "")))
    found = find_usual(client, payload, cwd, env) if why else None
    if found:
        note_nothing(client, payload, why, *found)
    return found is not None


def find_usual(
    client: Client, payload: Mapping[str, Any], cwd: str, env: Mapping[str, str]
) -> tuple[Layout, config.Loaded] | None:
    """Return where a prompt, as *client* reads its *payload*, is asked, and the settings in force; None where more is to be done than to look for memories."""
    if client.restates or client.triggers("prompt", payload) != ("prompt",):
        return None
    with suppress(MemsyncError):  # the other way says what is wrong
        layout = locate(Path(cwd), env)
        loaded = config.load(layout)
        is_usual = loaded.settings.enabled and not (loaded.unreadable or layout.notes)
        if is_usual and not any(list_workflows(layout)):
            return layout, loaded
    return None


def note_nothing(client: Client, payload: Mapping[str, Any], why: str, layout: Layout, loaded: config.Loaded) -> None:
    """Note that a prompt was given nothing, and why."""
    note = describe(client, "prompt", session_id(payload), str(payload.get("source") or ""), at=format_time(utc_now()))
    nothing = {"given": [], "filtered": 0, "reason": why, "errors": []}
    hooklog.write(layout, scope_of(layout, loaded.settings), note | nothing)


class Matched(NamedTuple):
    """What the last prompt was about: the ids that it was given, and those that the session had."""

    turn: str = ""
    given: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def keep_matched(state: State, session: str, now: datetime, matched: Matched) -> None:
    """Keep what the prompt of *session* was about, and that the user has spoken; nothing, where nothing was and nothing is to be kept.

    After a compaction that nothing followed, a prompt that was about nothing changes nothing: Copilot CLI, resumed,
    may tell of it before it tells of the session's start, which is to have what was needed before.
    """
    turn, given, known = matched

    def change(variables: dict[str, Any]) -> dict[str, Any]:
        waits = COMPACTED in variables and not variables.get(LEDGER)
        about = {} if waits and not (given or known) else {MATCHED: [turn, given, known]}
        return {**variables, **about, HELPED: False}

    if given or known or {MATCHED, HELPED} & state.variables(session).keys():
        state.change_variables(session, now, change)


def open_noted(place: Place, session: str) -> State | None:
    """Return the local state at *place*, if there is any, and the *session* has a name."""
    path = place.local / "state.db"
    if not session or not path.exists():
        return None
    from memsync.store.state import State

    return State(path, private=place.private, place=place)


class Ground(NamedTuple):
    """Where a prompt is asked, the settings in force, and what answers by the index."""

    layout: Layout
    loaded: Loaded
    file: IndexFile


def find_ground(client: Client, payload: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> Ground | None:
    """Return on what a prompt of *client* is answered; None where more counts than the stores of its project."""
    found = find_usual(client, client.read(payload), cwd, env)
    if found is None:
        return None
    layout, loaded = found
    if layout.git is not None and layout.root != layout.git.root:
        return None  # there may be a store above
    from memsync.memories.index_file import open_index

    with suppress(MemsyncError):
        return Ground(layout, loaded, open_index(layout, loaded.settings))
    return None


def is_unanswered(ground: Ground, client: Client, payload: Mapping[str, Any]) -> bool:
    """Tell whether nothing can answer any part of the prompt; False in doubt."""
    text = client.prompt(str(client.read(payload).get("prompt") or ""))
    floor = ground.loaded.settings.least_named
    with suppress(MemsyncError):
        return not (small_talk(text) or any(ground.file.can_reach(one, floor) for one in list_questions(text)))
    return False


def note_unanswered(ground: Ground, client: Client, payload: Mapping[str, Any]) -> None:
    """Note that the prompt was given nothing, where sessions are noted."""
    payload = client.read(payload)
    layout, loaded, _ = ground
    session, scope = session_id(payload), scope_of(layout, loaded.settings)
    if scope and (state := open_noted(layout.place(scope), session)):
        keep_matched(state, session, utc_now(), Matched(str(payload.get(client.turn) or "")))
    note_nothing(client, payload, NOTHING, layout, loaded)
