"""What a session has of before: after a resume, in a fork, when its context was compacted, as a subagent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from memsync.agents.actions import Past
from memsync.agents.identity import find_parent
from memsync.agents.ledger import Ledger
from memsync.agents.matched import Matched
from memsync.agents.notes import parent_id
from memsync.agents.session import RecallSession
from memsync.clients.facts import Client

# As `context.line` begins, or a line of the server's answers, in whatever a client keeps it.
_LINE: Final = re.compile(rb"(?:- \[|\\n|created )([A-Za-z0-9-]{4,64})(?:\] \(| \([a-z]+, [\d.]+, |\\n)")
_LONGEST: Final = 32 * 1024 * 1024  # bytes of a transcript, from its end


def find_past(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any]) -> Past:
    """Return what *session* has at *event*.

    A fork takes over what its parent was given. A subagent has nothing, and needs what its parent's prompt was about.
    """
    if event == "subagent-start":
        matched = RecallSession(session.project, parent_id(payload)).matched()
        asked = (*matched.given, *matched.known)
        return Past(first=asked, alone=bool(asked))
    if event == "prompt" and client.restates and session.variables() and not session.has_context():
        session.adopt(_list_given(client, payload))
    source = payload.get("source") if event == "session-start" else ""
    if source == "resume":
        return _find_past_of_resumed(session, client, payload)
    if source == "fork":
        if parent := find_parent(session.project, payload):
            session.take_over(Ledger(session.project, parent))
        session.adopt(_list_given(client, payload))  # once there is a transcript: a client is in no hurry
        return Past(is_kept=True)
    return _find_past_of_compacted(session.matched(), payload.get(client.turn)) if source == "compact" else Past()


def _find_past_of_resumed(session: RecallSession, client: Client, payload: Mapping[str, Any]) -> Past:
    """Return what a session has that goes on; one that is new to us may be a fork, whose client does not say so."""
    if not client.keeps_start:
        session.forget_start()
    is_new = not session.variables()
    was_there = session.has_context()
    if is_new or (client.restates and not was_there):
        session.adopt(_list_given(client, payload))
    if was_there or (is_new and session.has_context()):
        return Past(is_kept=client.keeps_start)
    # After a compaction that nothing followed it is as if that had been told only now.
    return _find_past_of_compacted(session.matched(), None)


def _list_given(client: Client, payload: Mapping[str, Any]) -> list[str]:
    """Return the ids of the memories in the conversation of *payload*: those that the client names, else by its transcript."""
    if isinstance(named := payload.get("given"), list):
        return [id_ for id_ in named if isinstance(id_, str)]
    return read_given(str(payload.get("transcript_path") or ""), client.restates)


def _find_past_of_compacted(matched: Matched, turn: object) -> Past:
    """Return what is needed now; what came with the very *turn* that is compacted is still there."""
    if matched.turn and matched.turn == turn:
        return Past(stay=matched.given, first=matched.known)
    return Past(first=(*matched.given, *matched.known))


def read_given(transcript: str, restates: re.Pattern[bytes] | None = None) -> list[str]:
    """Return the ids of the memories that we have put into the conversation of *transcript*, from where it *restates* all."""
    with suppress(OSError), open(transcript, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LONGEST))
        data = file.read()
        begins = [found.start() for found in restates.finditer(data)] if restates else []
        return list(dict.fromkeys(found.decode() for found in _LINE.findall(data, *begins[-1:])))
    return []
