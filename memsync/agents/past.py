"""Which session something belongs to, and what it has of before: after a resume, in a fork, when its context was compacted, as a subagent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.agents.ledger import CLIENT, Ledger
from memsync.agents.notes import Matched, parent_id, scope_of
from memsync.agents.session import RecallSession
from memsync.clients.facts import Client
from memsync.memories.project import Project

# As `context.line` begins, but no headline, or a line of the server's answers, in whatever a client keeps it.
_LINE: Final = re.compile(
    rb"(?:- \[|\\n|created )([A-Za-z0-9-]{4,64})"
    rb"(?:\] (?!(?:(?!\\n)[^\n])*(?:\xe2\x80\xa6|\\u2026)(?:\\n|\n))| \([a-z]+, [\d.]+, |\\n)"
)
_LONGEST: Final = 32 * 1024 * 1024  # bytes of a transcript, from its end
_LOOKED_AT = 50  # sessions, the latest first


class Past(NamedTuple):
    """What a session has of before: all of it, or the ids that `stay`; those that come `first` are needed now.

    `alone`: and nothing but those.
    """

    is_kept: bool = False
    stay: Sequence[str] = ()
    first: Sequence[str] = ()
    alone: bool = False


def find_past(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any]) -> Past:
    """Return what *session* has at *event*.

    A fork takes over what its parent was given. A subagent has nothing, and needs what fits what
    it is asked; where nobody knows that, what its parent's prompt was about.
    """
    if event == "subagent-start":
        caller = RecallSession(session.project, parent_id(payload))
        matched, task = caller.matched(), caller.take_task(str(payload.get("agent_type") or ""))
        asked = tuple(task) if task is not None else (*matched.given, *matched.known)
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
    lost = () if client.keeps_start else session.forget_start()
    is_new = not session.variables()
    was_there = session.has_context()
    if is_new or (client.restates and not was_there):
        session.adopt(_list_given(client, payload))
    if was_there or (is_new and session.has_context()):
        return Past(is_kept=client.keeps_start, first=lost)
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


def find_caller(project: Project, meta: Mapping[str, Any], pids: Sequence[int]) -> RecallSession:
    """Return the session that calls a tool: the one that *meta* of the call names, or whose client is among our *pids*.

    Codex names its session and, for a subagent, the thread. Claude Code and Gemini CLI name none; Claude Code's is
    in the environment, until the user begins another one in the same client.
    """
    named, thread = meta.get("sessionId"), meta.get("threadId")
    if not isinstance(named, str):
        named = ""
    if named and isinstance(thread, str) and thread not in ("", named):
        named = f"{named}/{thread}"
    if not named and "MEMSYNC_SESSION_ID" not in project.env:
        named = _find_by_client(project, pids)
    return RecallSession(project, named or project.journal.session_id or "")


def find_parent(project: Project, payload: Mapping[str, Any]) -> str:
    """Return the session that the one of *payload* was forked from; "" where nothing says so for sure.

    That is the one in the same process of the client, the one that its command line names, or the latest one.
    """
    own, pids, words = parent_id(payload), payload.get(CLIENT) or (), payload.get("client_words") or ()
    if found := _find_by_client(project, pids, besides=own):
        return found
    named = [word for flag, word in pairwise(words) if flag in ("--resume", "-r") and not word.startswith("-")]
    if named or not {"--continue", "-c"}.intersection(words):
        return named[0] if named else ""
    mine = Path(str(payload.get("transcript_path") or ""))
    others = [path for path in mine.parent.glob("*.jsonl") if path.stem != own]
    return max(others, key=lambda path: path.stat().st_mtime).stem if others else ""


def _find_by_client(project: Project, pids: Sequence[int], besides: str = "") -> str:
    """Return the session, *besides* one, that began last in the nearest of the processes *pids*."""
    scope = scope_of(project.layout, project.settings)
    found = project.state(scope).sessions(_LOOKED_AT) if scope and pids else []
    running = [(id_, variables.get(CLIENT)) for id_, variables, _ in found if id_ != besides]
    return next((id_ for pid in pids for id_, noted in running if isinstance(noted, list) and pid in noted), "")
