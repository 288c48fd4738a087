"""Claude Code's JSON lines: the session, its subagents, what a resumed session repeats, refusals and compactions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from memsync.transcripts.events import Recorder, join_text, list_blocks

NAME: Final = "claude"
_COMMAND: Final = re.compile(r"<command-name>\s*(/?[\w:.-]+)\s*</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_REFUSED: Final = re.compile(
    r"\s*(?:The user (?:doesn't|does not) want to (?:proceed with|take) this|Permission for this tool use was denied)"
)
_SAID: Final = re.compile(r"[Tt]he user said:\s*(.*)", re.DOTALL)
_NOTE: Final = re.compile(r"\n\s*Note: The user's next message may .*", re.DOTALL)  # which the client adds


def is_mine(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a transcript of Claude Code."""
    return "sessionId" in row or ("message" in row and row.get("type") in ("user", "assistant"))


def read_row(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in one row."""
    kind = row.get("type")
    to.session.id = to.session.id or str(row.get("sessionId") or "")
    to.session.cwd = to.session.cwd or str(row.get("cwd") or "")
    if kind == "progress":
        data = row.get("data")
        if (
            isinstance(data, Mapping)
            and data.get("type") == "agent_progress"
            and isinstance(data.get("message"), Mapping)
        ):
            _read_message(to, data["message"], line, str(data.get("agentId") or row.get("parentToolUseID") or "agent"))
    elif kind == "system" and row.get("subtype") == "compact_boundary":
        to.move(line, row.get("timestamp"))
        to.loss()
    elif kind in ("user", "assistant") and not row.get("isMeta") and not row.get("isCompactSummary"):
        side = str(row.get("agentId") or "agent") if row.get("isSidechain") else ""
        _read_message(to, row, line, side)


def _read_message(to: Recorder, row: Mapping[str, Any], line: int, thread: str) -> None:
    message = row.get("message")
    if not isinstance(message, Mapping) or message.get("model") == "<synthetic>" or not to.is_new(row.get("uuid")):
        return
    to.move(line, row.get("timestamp"), thread)
    for block in list_blocks(message.get("content")):
        kind = block.get("type")
        if kind == "text" and row.get("type") == "user":
            text = str(block.get("text", ""))
            command = _read_command(text)
            to.prompt(command or text, is_command=bool(command))
        elif kind == "text":
            to.words(str(block.get("text", "")))
        elif kind == "tool_use":
            to.call(str(block.get("id")), str(block.get("name", "")), block.get("input"))
        elif kind == "tool_result":
            text, failed = join_text(block.get("content")), block.get("is_error")
            to.result(str(block.get("tool_use_id")), text, bool(failed), find_refusal(text) if failed else "")


def _read_command(text: str) -> str:
    """Return a slash command as it was typed, where *text* is what the client makes of one; "" where it is not."""
    if (name := _COMMAND.search(text)) is None:
        return ""
    given = _ARGUMENTS.search(text)
    return f"/{name[1].lstrip('/')} {given[1].strip() if given else ''}".strip()


def find_refusal(text: str) -> str:
    """Return the user's words where *text* says that they refused a call, "no" where they said none; "" if it does not."""
    if not _REFUSED.match(text):
        return ""
    said = _SAID.search(text)
    return (_NOTE.sub("", said[1]).strip() if said else "") or "no"
