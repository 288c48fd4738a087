"""How clients other than Claude Code record sessions: which rows are theirs, and what each says.

Codex's rollouts; Gemini CLI's chats, as JSON lines, where what is written again counts once; what `opencode export` prints; Copilot CLI's
`events.jsonl` (github/copilot-sdk, session-events.schema.json).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from memsync.transcripts import claude
from memsync.transcripts.events import Recorder, join_text, list_blocks, read_object, says_failure

_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS: Final = tuple(f"{kind}_output" for kind in _CALLS)


class Format(NamedTuple):
    """The rows of a client: whether one is of that, and taking one in."""

    client: str
    is_mine: Callable[[Mapping[str, Any]], bool]
    read_row: Callable[[Recorder, Mapping[str, Any], int], None]


def is_codex(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a rollout."""
    return "payload" in row and row.get("type") in ("session_meta", "response_item", "event_msg", "turn_context")


def read_codex(to: Recorder, row: Mapping[str, Any], line: int) -> None:
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


def is_gemini(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a chat of Gemini CLI."""
    return "projectHash" in row or "$set" in row or row.get("type") == "gemini"


def read_gemini(to: Recorder, row: Mapping[str, Any], line: int) -> None:
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


def is_opencode(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is an exported session."""
    return isinstance(row.get("info"), Mapping) and isinstance(row.get("messages"), list)


def read_opencode(to: Recorder, row: Mapping[str, Any], line: int) -> None:
    """Take in the whole session."""
    if not is_opencode(row):
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


def is_copilot(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is an event of Copilot CLI."""
    kind = row.get("type")
    return isinstance(kind, str) and isinstance(row.get("data"), Mapping) and "parentId" in row and "." in kind


def read_copilot(to: Recorder, row: Mapping[str, Any], line: int) -> None:
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


FORMATS: Final = (
    Format("codex", is_codex, read_codex),
    Format("gemini", is_gemini, read_gemini),
    Format("opencode", is_opencode, read_opencode),
    Format("copilot", is_copilot, read_copilot),
    Format(claude.NAME, claude.is_mine, claude.read_row),
)
