"""Gemini CLI's chats, as JSON lines; what is written again when tools have answered, or on resuming, counts once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memsync.transcripts.events import Recorder, list_blocks

NAME: Final = "gemini"


def is_mine(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a chat of Gemini CLI."""
    return "projectHash" in row or "$set" in row or row.get("type") == "gemini"


def read_row(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in one row; a chat that is one JSON object, as older versions wrote it, is one row."""
    to.session.id = to.session.id or str(row.get("sessionId") or "")
    to.move(line, row.get("startTime") or row.get("timestamp"))
    changed = row.get("$set")
    holder = changed if isinstance(changed, Mapping) else row
    for message in list_blocks(holder.get("messages")):
        _read_message(to, message, line)
    if row.get("type") in ("user", "gemini"):
        _read_message(to, row, line)


def _read_message(to: Recorder, message: Mapping[str, Any], line: int) -> None:
    to.move(line, message.get("timestamp"))
    if to.is_new(message.get("id")):
        for block in list_blocks(message.get("content")):
            if "functionResponse" not in block:
                (to.prompt if message.get("type") == "user" else to.words)(str(block.get("text", "")))
    for call in list_blocks(message.get("toolCalls")):
        id_ = str(call.get("id"))
        if to.is_new(f"call {id_}"):
            to.call(id_, str(call.get("name", "")), call.get("args"))
        if call.get("status") in ("success", "error", "cancelled"):
            refused = "no" if call["status"] == "cancelled" else ""
            to.result(id_, _read_output(call), call["status"] != "success", refused)


def _read_output(call: Mapping[str, Any]) -> str:
    found = (block.get("functionResponse") for block in list_blocks(call.get("result")))
    said = (answer.get("response") for answer in found if isinstance(answer, Mapping))
    return "\n".join(str(one.get("output", one.get("error", ""))) for one in said if isinstance(one, Mapping))
