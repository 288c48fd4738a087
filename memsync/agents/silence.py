"""A prompt that no memory can answer: told before a store is opened, or anything loaded that reads or shows a memory.

Only how to find that out sooner is here: which memories can answer is for `index.rank` to say, what is looked for for `gist`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from memsync.agents.gist import list_questions
from memsync.agents.matched import Matched, keep_matched, open_noted
from memsync.agents.notes import NOTHING, find_usual, note_nothing, scope_of, session_id
from memsync.agents.triage import small_talk
from memsync.clients.facts import Client
from memsync.errors import MemsyncError
from memsync.memories.index_file import IndexFile, open_index
from memsync.records import utc_now
from memsync.store.config import Loaded
from memsync.store.places import Layout


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
    with suppress(MemsyncError):
        return Ground(layout, loaded, open_index(layout, loaded.settings))
    return None


def is_unanswered(ground: Ground, client: Client, payload: Mapping[str, Any]) -> bool:
    """Tell whether nothing can answer any part of the prompt; False in doubt."""
    text = client.prompt(str(client.read(payload).get("prompt") or ""))
    floor = ground.loaded.settings.recall_threshold
    with suppress(MemsyncError):
        return not (small_talk(text) or any(ground.file.can_reach(one, floor) for one in list_questions(text)))
    return False


def note_down(ground: Ground, client: Client, payload: Mapping[str, Any]) -> None:
    """Note that the prompt was given nothing, where sessions are noted."""
    payload = client.read(payload)
    layout, loaded, _ = ground
    session, scope = session_id(payload), scope_of(layout, loaded.settings)
    if scope and (state := open_noted(layout.place(scope), session)):
        keep_matched(state, session, utc_now(), Matched(str(payload.get(client.turn) or "")))
    note_nothing(client, payload, NOTHING, layout, loaded)
