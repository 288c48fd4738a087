"""What a session that goes on has of before: after a resume, in a fork, when its context was compacted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from memsync.agents.actions import Past
from memsync.agents.session import RecallSession
from memsync.clients.facts import Client

_LINE: Final = re.compile(rb"- \[([A-Za-z0-9-]{4,64})\] \(")  # as `context.line` begins, in whatever a client keeps it
_LONGEST: Final = 32 * 1024 * 1024  # bytes of a transcript, from its end


def find_past(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any]) -> Past:
    """Return what *session* has at *event*; a fork takes over what its parent was given, which its transcript has."""
    source = payload.get("source")
    if event != "session-start" or source not in ("resume", "fork", "compact"):
        return Past()
    if source == "resume" and not client.keeps_start:
        session.forget_start()
        return Past()
    if source == "resume":
        return Past(is_kept=session.has_context())
    if source == "fork":
        session.adopt(read_given(str(payload.get("transcript_path") or "")))
        return Past(is_kept=True)
    matched = session.matched()
    if matched.turn and matched.turn == payload.get(
        client.turn
    ):  # compacted within the turn: what came with it is there
        return Past(stay=matched.given, first=matched.known)
    return Past(first=(*matched.given, *matched.known))


def read_given(transcript: str) -> list[str]:
    """Return the ids of the memories that hooks have put into the conversation of *transcript*."""
    with suppress(OSError), open(transcript, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LONGEST))
        return list(dict.fromkeys(found.decode() for found in _LINE.findall(file.read())))
    return []
