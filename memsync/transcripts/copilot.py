"""Copilot CLI's `events.jsonl` (github/copilot-sdk, session-events.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memsync.transcripts.events import Recorder

NAME: Final = "copilot"


def is_mine(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is an event of Copilot CLI."""
    kind = row.get("type")
    return isinstance(kind, str) and isinstance(row.get("data"), Mapping) and "parentId" in row and "." in kind


def read_row(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in one event."""
    data = row.get("data")
    if not isinstance(data, Mapping) or not to.is_new(row.get("id")):
        return
    to.move(line, row.get("timestamp"), str(data.get("parentToolCallId") or ""))
    kind = row.get("type")
    if kind == "session.start":
        about = data.get("context")
        to.session.id = to.session.id or str(data.get("sessionId") or "")
        to.session.cwd = to.session.cwd or str(about.get("cwd") or "" if isinstance(about, Mapping) else "")
    elif kind == "user.message":
        to.prompt(str(data.get("content") or ""))
    elif kind == "assistant.message":
        to.words(str(data.get("content") or ""))
    elif kind == "tool.execution_start":
        to.call(str(data.get("toolCallId")), str(data.get("toolName", "")), data.get("arguments"))
    elif kind == "tool.execution_complete":
        result, error = data.get("result"), data.get("error")
        said = error.get("message") if isinstance(error, Mapping) else None
        text = said or (result.get("content") if isinstance(result, Mapping) else "") or ""
        refused = "no" if isinstance(error, Mapping) and error.get("code") in ("rejected", "denied") else ""
        to.result(str(data.get("toolCallId")), str(text), not data.get("success", True), refused)
    elif kind == "session.compaction_complete":
        to.loss()
