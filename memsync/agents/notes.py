"""Which session an event is of, where what is noted of it belongs, and the note of an event at which there is nothing to look for.

Loads no store: small talk is answered by this alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.agents import hooklog
from memsync.agents.triage import small_talk
from memsync.clients.facts import Client
from memsync.errors import MemsyncError
from memsync.records import Scope
from memsync.store import config
from memsync.store.places import Layout, list_workflows, locate
from memsync.store.settings import Settings
from memsync.system.limits import read_json

NOTHING: Final = "nothing that fits"  # why a prompt was given nothing


def session_id(payload: Mapping[str, Any]) -> str:
    """Return the id under which the session of *payload* is noted; of a subagent its own, below its parent's."""
    agent, parent = payload.get("agent_id"), parent_id(payload)
    return f"{parent}/{agent}" if parent and agent and isinstance(agent, str) else parent


def parent_id(payload: Mapping[str, Any]) -> str:
    """Return the client's id of the session, else the MD5 of the time of its first message (seed 001), else ""."""
    if isinstance(given := payload.get("session_id"), str) and given:
        return given
    first = _first_time(str(payload.get("transcript_path") or ""))
    if not first:
        return ""
    from hashlib import md5

    return md5(first.encode(), usedforsecurity=False).hexdigest()


def _first_time(transcript: str) -> str:
    """Return when the first message of *transcript* (JSON lines) says it was sent."""
    with suppress(OSError, ValueError), open(transcript, encoding="utf-8", errors="replace") as lines:
        for _, line in zip(range(50), lines, strict=False):
            with suppress(ValueError):
                found = read_json(line)
                if isinstance(found, dict) and (when := found.get("timestamp") or found.get("startTime")):
                    return str(when)
    return ""


def scope_of(layout: Layout, settings: Settings) -> Scope | None:
    """Return the scope beside whose store sessions are noted: never a directory that the project does not have yet.

    Where the project cannot be written to (a mounted one, another user's), that is the home store.
    """
    place = layout.project
    is_there = place is not None and place.directory.is_dir() and not settings.stealth
    if place and is_there and (layout.stealth is None or _is_writable(place.local / "state.db")):
        return "project"
    return "stealth" if layout.stealth else None


def _is_writable(database: Path) -> bool:
    there = [path for path in (database, database.parent, database.parent.parent) if path.exists()]
    return all(os.access(path, os.W_OK) for path in there)


def _format_now() -> str:
    """Spell the present time as `records.format_time` does, without loading `datetime`: a hook that has nothing to say needs none."""
    seconds, rest = divmod(time.time_ns() // 1_000_000, 1_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"


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
    note = describe(client, "prompt", session_id(payload), str(payload.get("source") or ""), at=_format_now())
    nothing = {"given": [], "filtered": 0, "reason": why, "errors": []}
    hooklog.write(layout, scope_of(layout, loaded.settings), note | nothing)
