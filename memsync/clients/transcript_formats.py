"""How clients record sessions: which rows are theirs, and what each says.

Claude Code's JSON lines; Codex's rollouts; Gemini CLI's chats, as JSON lines, where what is written again counts once; what `opencode export` prints; Copilot CLI's
`events.jsonl` (github/copilot-sdk, session-events.schema.json).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from memsync.clients.transcript_events import Recorder, join_text, list_blocks, read_object, says_failure

# Claude Code: the session, its subagents, what a resumed session repeats, refusals and compactions


CLAUDE: Final = "claude"
_COMMAND: Final = re.compile(r"<command-name>\s*(/?[\w:.-]+)\s*</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_REFUSED: Final = re.compile(
    r"\s*(?:The user (?:doesn't|does not) want to (?:proceed with|take) this|Permission for this tool use was denied)"
)
_SAID: Final = re.compile(r"[Tt]he user said:\s*(.*)", re.DOTALL)
_NOTE: Final = re.compile(r"\n\s*Note: The user's next message may .*", re.DOTALL)  # which the client adds


def is_claude(row: Mapping[str, Any]) -> bool:
    """Tell whether *row* is one of a transcript of Claude Code."""
    return "sessionId" in row or ("message" in row and row.get("type") in ("user", "assistant"))


def _read_claude(to: Recorder, row: Mapping[str, Any], line: int) -> None:
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
            _read_claude_message(
                to, data["message"], line, str(data.get("agentId") or row.get("parentToolUseID") or "agent")
            )
    elif kind == "system" and row.get("subtype") == "compact_boundary":
        to.move(line, row.get("timestamp"))
        to.loss()
    elif kind in ("user", "assistant") and not row.get("isMeta") and not row.get("isCompactSummary"):
        side = str(row.get("agentId") or "agent") if row.get("isSidechain") else ""
        _read_claude_message(to, row, line, side)


def _read_claude_message(to: Recorder, row: Mapping[str, Any], line: int, thread: str) -> None:
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
    Format(CLAUDE, is_claude, _read_claude),
)


# SpecStory's Markdown: turns under `_**User (TIME)**_`, tools between `<tool-use …>` and `</tool-use>`. It does not say how a call ended.
MARKDOWN: Final = "specstory"
_HEAD: Final = re.compile(
    r"\A\s*## SpecStory\s*\n|<!-- (?:Generated by SpecStory|vscode-copilot-chat Session|\S+ Code Session)"
)
_SESSION: Final = re.compile(r"<!-- .*?Session ([0-9a-fA-F-]{8,}) ")
_TURN: Final = re.compile(
    r"_\*\*(User|Agent|Assistant)( - sidechain)?(?: \(.*?(\d{4}-\d\d-\d\d[T ][\d:.]+Z?)?\))?\*\*_\s*$"
)
_TOOL: Final = re.compile(r'<tool-use data-tool-type="(\w+)" data-tool-name="([^"]*)">')
_NAMED: Final = re.compile(r"^\s*(?:\*\*)?`([^`\n]+)`(?:\*\*)?\s*$", re.MULTILINE)
_FAILED: Final = re.compile(r"^(?:Exit code [1-9]|<tool_use_error>|Error: )", re.MULTILINE)
_KEYS: Final = {"shell": "command", "read": "file_path", "write": "file_path", "search": "pattern"}


def is_markdown(text: str) -> bool:
    """Tell whether the file that begins with *text* is one of SpecStory."""
    return bool(_HEAD.search(text))


def read_markdown(to: Recorder, lines: Iterable[str]) -> None:
    """Take in a whole file."""
    held: list[str] = []
    speaker, tool = "", None
    for number, line in enumerate(lines, start=1):
        if tool is None and (turn := _TURN.match(line)):
            _end_turn(to, speaker, held)
            speaker, held = turn[1], []
            to.move(number, (turn[3] or "").replace(" ", "T"), "agent" if turn[2] else "")
        elif tool is None and (begun := _TOOL.match(line)):
            _end_turn(to, speaker, held)
            tool, held = begun, []
        elif tool is not None and "</tool-use>" in line:
            _add_call(to, tool[1], tool[2], "".join(held), number)
            tool, held = None, []
        elif not (tool or speaker) and (found := _SESSION.match(line)):
            to.session.id = found[1]
        else:
            held.append(line)
    if tool is None:
        _end_turn(to, speaker, held)


def _end_turn(to: Recorder, speaker: str, held: list[str]) -> None:
    text = re.sub(r"<think>.*?(?:</think>|\Z)", "", "".join(held), flags=re.DOTALL).strip().removesuffix("---").strip()
    if speaker == "User":
        to.prompt(text)
    elif speaker:
        to.words(text)


def _add_call(to: Recorder, kind: str, tool: str, body: str, number: int) -> None:
    before, _, output = body.partition("```")
    named = _NAMED.search(before)
    about = "" if kind == "shell" else before  # of a command of several lines it has only what it is for
    given: dict[str, Any] = {_KEYS.get(kind, "input"): named[1] if named else about}
    text = output.partition("\n")[2].rstrip().removesuffix("```")
    failed = True if _FAILED.search(text) else None
    id_ = f"{number}"
    to.call(id_, tool, given)
    to.result(id_, text, failed, find_refusal(text))
