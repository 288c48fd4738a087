"""Codex's rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memsync.transcripts.events import Recorder, join_text, list_blocks, read_object, says_failure

NAME: Final = "codex"
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS: Final = tuple(f"{kind}_output" for kind in _CALLS)


def is_mine(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a rollout."""
    return "payload" in row and row.get("type") in ("session_meta", "response_item", "event_msg", "turn_context")


def read_row(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in one row."""
    payload = row.get("payload")
    if not isinstance(payload, Mapping):
        return
    to.move(line, row.get("timestamp"))
    if row.get("type") == "session_meta":
        to.session.id = to.session.id or str(payload.get("id") or "")
        to.session.cwd = to.session.cwd or str(payload.get("cwd") or "")
    elif row.get("type") == "compacted":
        to.loss()
    elif row.get("type") == "response_item":
        _read_item(to, payload)


def _read_item(to: Recorder, item: Mapping[str, Any]) -> None:
    kind, id_ = item.get("type"), str(item.get("call_id"))
    if kind == "message" and item.get("role") in ("user", "assistant"):
        for block in list_blocks(item.get("content")):
            (to.prompt if item["role"] == "user" else to.words)(str(block.get("text", "")))
    elif kind in _CALLS:
        name, space = str(item.get("name") or "local_shell"), item.get("namespace")
        given = read_object(item.get("arguments", item.get("input", item.get("action"))))
        to.call(id_, f"{space}__{name}" if space else name, given)
    elif kind in _OUTPUTS:
        output, failed = read_object(item.get("output")), None
        if isinstance(output, Mapping):
            about = output.get("metadata")
            code = about.get("exit_code") if isinstance(about, Mapping) else None
            failed = bool(code) if code is not None else not output.get("success", True)
            output = output.get("output", output.get("content", ""))
        text = join_text(output)
        says = says_failure(text)
        to.result(id_, text, failed if says is None else says)
