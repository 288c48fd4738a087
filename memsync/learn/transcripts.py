"""What happened in a session, read from the transcripts of Claude Code, Codex and Gemini CLI.

The formats are not documented and change often, so whatever is not understood is left out.
So is what does not belong to the work: injected memory, the client's own remarks, side chains of
subagents and the summary after a compaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal

from memsync.errors import ImportFailed
from memsync.system.limits import read_json

Client = Literal["claude", "codex", "gemini"]
Kind = Literal["command", "edit", "read", "memory", "other"]

# Characters of one text that are kept: a transcript may have 100 MB.
_KEPT: Final = 4_000
_SNIFFED: Final = 50
_COMMANDS: Final = {"bash", "shell", "exec_command", "local_shell", "run_shell_command", "container.exec"}
_EDITS: Final = {"edit", "multiedit", "write", "notebookedit", "apply_patch", "replace", "write_file", "create_file"}
_READS: Final = {"read", "grep", "glob", "ls", "read_file", "read_many_files", "list_directory", "search_file_content"}
# What the clients and memsync put around the user's words, also as Gemini escapes it.
_WRAPPED: Final = re.compile(
    r"(?:<|&lt;)(project-memory|session_context|hook_context|untrusted_context|system-reminder)\b[^>]*?(?:>|&gt;)"
    r".*?(?:<|&lt;)/\1(?:>|&gt;)",
    re.DOTALL,
)
_NOT_SAID: Final = (
    "<session_context>", "<local-command-", "<command-name>", "<command-message>", "<environment_context>",
    "<user_instructions>", "# AGENTS.md instructions", "<bash-input>", "<bash-stdout>", "[Request interrupted",
    "Another language model started to solve this problem", "This session is being continued from a previous conversation",
)  # fmt: skip
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit [Cc]ode:?) (-?\d+)\s*$", re.MULTILINE)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_OURS: Final = re.compile(r"^(?:uvx? (?:tool )?(?:run )?)?memsync\b|^gobby (?:memory|skill)\b")


@dataclass(slots=True)
class Said:
    """Words of the user or of the agent, as they stood in line `line`."""

    by: Literal["user", "agent"]
    text: str
    line: int


@dataclass(slots=True)
class Call:
    """A tool that the agent used. `failed` is None where the transcript ends before the answer."""

    tool: str
    kind: Kind
    line: int
    command: str = ""
    files: tuple[str, ...] = ()
    output: str = ""
    failed: bool | None = None


Step = Said | Call


@dataclass(slots=True)
class _Reader:
    """Takes in line after line of one client; the steps are in order, and the last may still change."""

    steps: list[Step] = field(default_factory=list)
    open: dict[str, Call] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)

    def say(self, by: Literal["user", "agent"], text: str, line: int) -> None:
        text = _WRAPPED.sub("", text).strip()
        if text and not text.startswith(_NOT_SAID):
            self.steps.append(Said(by, text[:_KEPT], line))

    def call(self, id_: str, tool: str, given: Any, line: int) -> None:
        call = _make_call(tool, given if isinstance(given, Mapping) else {"input": given}, line)
        self.open[id_] = call
        self.steps.append(call)

    def answer(self, id_: str, output: str, failed: bool | None) -> None:
        call = self.open.pop(id_, None)
        if call is None:
            return
        code = _EXIT.search(output)
        call.failed = bool(failed) or bool(code and code[1] != "0")
        call.output = "" if call.kind == "memory" else _WRAPPED.sub(_unwrap, output).strip()[-_KEPT:]


def _unwrap(found: re.Match[str]) -> str:
    """Keep the output of a tool that Gemini wraps, and nothing that was injected."""
    if found[1] != "untrusted_context":
        return ""
    return re.sub(r"(?:<|&lt;)/?untrusted_context(?:>|&gt;)", "", found[0])


def _make_call(tool: str, given: Mapping[str, Any], line: int) -> Call:
    name = tool.rpartition("__")[2].lower() if "memsync" not in tool else tool.lower()
    command = _find_command(given) if name in _COMMANDS else ""
    kind: Kind = "other"
    if "memsync" in name or _OURS.match(command):
        kind = "memory"
    elif name in _COMMANDS:
        kind = "command"
    elif name in _EDITS:
        kind = "edit"
    elif name in _READS:
        kind = "read"
    return Call(tool=tool, kind=kind, line=line, command=command[:_KEPT], files=_find_files(given))


def _find_command(given: Mapping[str, Any]) -> str:
    found = given.get("command") or given.get("cmd") or ""
    if isinstance(found, list):
        words = [str(word) for word in found]
        is_shell = len(words) > 2 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-lc", "-c")
        return words[2] if is_shell else " ".join(words)
    return str(found).strip()


def _find_files(given: Mapping[str, Any]) -> tuple[str, ...]:
    names = (given.get(key) for key in ("file_path", "absolute_path", "path", "notebook_path"))
    patch = given.get("input") or given.get("patch") or given.get("command")
    patched = _PATCHED.findall(patch) if isinstance(patch, str) else []
    return tuple(dict.fromkeys(str(name) for name in (*names, *patched) if name))


# the clients


def _read_claude(reader: _Reader, row: Mapping[str, Any], line: int) -> None:
    message = row.get("message")
    is_skipped = row.get("isMeta") or row.get("isSidechain") or row.get("isCompactSummary")
    if row.get("type") not in ("user", "assistant") or is_skipped or not isinstance(message, Mapping):
        return
    for block in _list_blocks(message.get("content")) if message.get("model") != "<synthetic>" else ():
        kind = block.get("type")
        if kind == "text":
            reader.say("user" if row["type"] == "user" else "agent", str(block.get("text", "")), line)
        elif kind == "tool_use":
            reader.call(str(block.get("id")), str(block.get("name", "")), block.get("input"), line)
        elif kind == "tool_result":
            reader.answer(str(block.get("tool_use_id")), _join_text(block.get("content")), block.get("is_error"))


def _read_codex(reader: _Reader, row: Mapping[str, Any], line: int) -> None:
    payload = row.get("payload")
    if row.get("type") != "response_item" or not isinstance(payload, Mapping):
        return
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        for block in _list_blocks(payload.get("content")):
            reader.say("user" if payload["role"] == "user" else "agent", str(block.get("text", "")), line)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        namespace = payload.get("namespace")
        name = str(payload.get("name") or "local_shell")
        reader.call(str(payload.get("call_id")), f"{namespace}__{name}" if namespace else name, _parse(given), line)
    elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        output, failed = _parse(payload.get("output")), None
        if isinstance(output, Mapping):
            about = output.get("metadata")
            code = about.get("exit_code") if isinstance(about, Mapping) else None
            failed = bool(code) if code is not None else not output.get("success", True)
            output = output.get("output", output.get("content", ""))
        reader.answer(str(payload.get("call_id")), _join_text(output), failed)


def _read_gemini(reader: _Reader, row: Mapping[str, Any], line: int) -> None:
    changed = row.get("$set")
    if isinstance(changed, Mapping):
        for message in _list_blocks(changed.get("messages")):
            _read_gemini_message(reader, message, line)
    elif row.get("type") in ("user", "gemini"):
        _read_gemini_message(reader, row, line)


def _read_gemini_message(reader: _Reader, message: Mapping[str, Any], line: int) -> None:
    """Take in a message; the client writes it again when its tools have answered, and all of them when resumed."""
    id_ = str(message.get("id"))
    is_new = id_ not in reader.seen
    reader.seen[id_] = None
    if is_new:
        for block in _list_blocks(message.get("content")):
            if "functionResponse" not in block:
                reader.say("user" if message.get("type") == "user" else "agent", str(block.get("text", "")), line)
    for call in _list_blocks(message.get("toolCalls")):
        key = str(call.get("id"))
        if key not in reader.seen:
            reader.seen[key] = None
            reader.call(key, str(call.get("name", "")), call.get("args"), line)
        if call.get("status") in ("success", "error", "cancelled"):
            reader.answer(key, _read_gemini_output(call), call["status"] != "success")


def _read_gemini_output(call: Mapping[str, Any]) -> str:
    found = (block.get("functionResponse") for block in _list_blocks(call.get("result")))
    said = (answer.get("response") for answer in found if isinstance(answer, Mapping))
    return "\n".join(str(one.get("output", one.get("error", ""))) for one in said if isinstance(one, Mapping))


_READERS: Final[Mapping[Client, Callable[[_Reader, Mapping[str, Any], int], None]]] = {
    "claude": _read_claude,
    "codex": _read_codex,
    "gemini": _read_gemini,
}


def _list_blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _join_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in _list_blocks(content))


def _parse(value: Any) -> Any:
    """Return what *value* says if it is JSON text of an object, else *value*."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError):
            return read_json(value)
    return value


# the file


def read(path: Path) -> list[Step]:
    """Return the steps of the transcript *path*, in order. A last line that is cut off is left out.

    The file is streamed; of each text 4,000 characters are kept.

    Raises:
        ImportFailed: it cannot be read, or is not a transcript of a client that we know.
    """
    try:
        with path.open("rb") as file:
            rows = _read_rows(file)
            first = list(islice(rows, _SNIFFED))
            client = sniff(row for row, _ in first)
            if client is None:
                what = "a transcript of Claude Code, Codex or Gemini CLI"
                raise ImportFailed(f"{path} is not {what}; give the .jsonl file of a session")
            reader = _Reader()
            for row, number in chain(first, rows):
                _READERS[client](reader, row, number)
            return reader.steps
    except OSError as error:
        raise ImportFailed(f"{path}: {error.strerror or error}") from error


def _read_rows(file: Iterable[bytes]) -> Iterator[tuple[Mapping[str, Any], int]]:
    import orjson

    for number, line in enumerate(file, start=1):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(row, dict):
            yield row, number


def sniff(rows: Iterable[Mapping[str, Any]]) -> Client | None:
    """Return whose transcript begins with *rows*; None if we know no such client."""
    for row in rows:
        if "payload" in row and row.get("type") in ("session_meta", "response_item", "event_msg", "turn_context"):
            return "codex"
        if "projectHash" in row or "$set" in row or row.get("type") == "gemini":
            return "gemini"
        if "sessionId" in row or ("message" in row and row.get("type") in ("user", "assistant")):
            return "claude"
    return None


# where the clients keep them


def find(session: str, home: Path, env: Mapping[str, str]) -> Path | None:
    """Return the transcript of *session* where its client keeps it; None if there is none on this machine."""
    if not re.fullmatch(r"[\w-]{8,}", session):
        return None
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    codex = Path(env.get("CODEX_HOME") or home / ".codex") / "sessions"
    gemini = home / ".gemini" / "tmp"
    found = chain(
        claude.glob(f"*/{session}.jsonl"),
        codex.glob(f"*/*/*/rollout-*-{session}.jsonl"),
        gemini.glob(f"*/chats/session-*-{session[:8]}.jsonl"),
    )
    return next(found, None)


# plans


_TOOLS: Final = {"ExitPlanMode": "input", "exit_plan_mode": "input", "update_plan": "arguments"}
_MARKS: Final = tuple(name.encode() for name in _TOOLS)
_LONGEST: Final = 1 << 20  # bytes of a line that is read


def find_plan(transcript: Path) -> str:
    """Return the last plan in *transcript*; "" if it has none, or cannot be read."""
    plan = ""
    try:
        with transcript.open("rb") as lines:
            for line in lines:
                if len(line) < _LONGEST and any(mark in line for mark in _MARKS):
                    plan = next(filter(None, map(_spell, _list_calls(line))), plan)
    except OSError:
        return plan
    return plan


def _list_calls(line: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield what the calls in *line* that make a plan were given."""
    try:
        todo = [read_json(line)]
    except ValueError:
        return
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            if isinstance(name := value.get("name"), str) and name in _TOOLS:
                given = _parse(value.get(_TOOLS[name]))
                yield given if isinstance(given, Mapping) else {}
            else:
                todo += value.values()
        elif isinstance(value, list):
            todo += value


def _spell(given: Mapping[str, Any]) -> str:
    """Return a plan as text: as it is, or its steps as a list."""
    plan = given.get("plan")
    if isinstance(plan, str):
        return plan.strip()
    steps = [step.get("step") for step in plan if isinstance(step, Mapping)] if isinstance(plan, list) else []
    return "\n".join(f"- {step.strip()}" for step in steps if isinstance(step, str) and step.strip())
