"""Which session of an agent something belongs to: by a hook's payload, by a call over MCP, by the processes around us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from memsync.agents.ledger import CLIENT
from memsync.agents.notes import parent_id, scope_of
from memsync.agents.session import RecallSession
from memsync.memories.project import Project

_LOOKED_AT = 50  # sessions, the latest first


def find_caller(project: Project, meta: Mapping[str, Any], pids: Sequence[int]) -> RecallSession:
    """Return the session that calls a tool: the one that *meta* of the call names, or whose client is among our *pids*.

    Codex names its session and, for a subagent, the thread. Claude Code and Gemini CLI name none; Claude Code's is
    in the environment, until the user begins another one in the same client.
    """
    named = _named_in(meta)
    if not named and "MEMSYNC_SESSION_ID" not in project.env:
        named = _find_by_client(project, pids)
    return RecallSession(project, named or project.journal.session_id or "")


def _named_in(meta: Mapping[str, Any]) -> str:
    session, thread = meta.get("sessionId"), meta.get("threadId")
    if not (isinstance(session, str) and session):
        return ""
    return f"{session}/{thread}" if isinstance(thread, str) and thread not in ("", session) else session


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
