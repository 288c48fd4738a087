"""What `opencode export` prints: one JSON object with the messages of a session and their parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memsync.transcripts.events import Recorder, list_blocks

NAME: Final = "opencode"


def is_mine(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is an exported session."""
    return isinstance(row.get("info"), Mapping) and isinstance(row.get("messages"), list)


def read_row(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in the whole session."""
    if not is_mine(row):
        return
    about = row["info"]
    to.session.id = str(about.get("id") or "")
    to.session.cwd = str(about.get("directory") or "")
    thread = "agent" if about.get("parentID") else ""  # what a subagent was told, an agent wrote
    for message in list_blocks(row["messages"]):
        info = message.get("info")
        info = info if isinstance(info, Mapping) else {}
        time = info.get("time")
        to.move(line, time.get("created") if isinstance(time, Mapping) else None, thread)
        for part in list_blocks(message.get("parts")):
            _read_part(to, part, is_user=info.get("role") == "user")


def _read_part(to: Recorder, part: Mapping[str, Any], *, is_user: bool) -> None:
    kind, state = part.get("type"), part.get("state")
    if kind == "text" and not part.get("synthetic"):
        (to.prompt if is_user else to.words)(str(part.get("text") or ""))
    elif kind == "compaction":
        to.loss()
    elif kind == "tool" and isinstance(state, Mapping):
        id_, status = str(part.get("callID")), state.get("status")
        to.call(id_, str(part.get("tool") or ""), state.get("input"))
        if status in ("completed", "error"):
            text = str(state.get("output" if status == "completed" else "error") or "")
            refused = "no" if "rejected permission" in text else ""
            to.result(id_, text, status == "error", refused)
