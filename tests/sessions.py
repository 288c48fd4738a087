"""Sessions as a person writes them down, turned into what a client keeps; and what they teach, as somebody judged it.

`U:` the user, `A:` the agent (both may go on below), `$` a command, `>` a line of its output, `!` its exit code, `R:` a
file read, `E:` one edited. Behind `---`: `fact NAME: PATTERN` is to be learned, `also` may be, `wrong PATTERN` never.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = "/home/dev/work"
_MARKS = ("U: ", "A: ", "$ ", "R: ", "E: ")
_TOOLS = {
    "claude": {"$": ("Bash", "command"), "R": ("Read", "file_path"), "E": ("Edit", "file_path")},
    "gemini": {
        "$": ("run_shell_command", "command"),
        "R": ("read_file", "absolute_path"),
        "E": ("replace", "file_path"),
    },
}


class Part(NamedTuple):
    """One thing that happened: its mark, what was said or called, and what came of it."""

    mark: str
    text: str
    output: str
    code: int


class Labels(NamedTuple):
    """What is to be learned and what may be, by name, and what must not."""

    facts: dict[str, str]
    also: dict[str, str]
    wrong: list[str]


def read(path: Path) -> tuple[list[Part], Labels]:
    """Return what happened in the session *path*, and its labels."""
    script, _, judged = path.read_text("utf-8").rpartition("\n---\n")
    labels = Labels({}, {}, [])
    for row in judged.splitlines():
        kind, _, said = row.partition(" ")
        if kind == "wrong":
            labels.wrong.append(said)
        else:
            name, _, pattern = said.rpartition(": ")
            (labels.facts if kind == "fact" else labels.also)[name] = pattern
    return list(_split(script)), labels


def _split(script: str) -> Iterator[Part]:
    part: Part | None = None
    for line in script.splitlines():
        is_open = part is not None and part.mark in "UA" and part.text.count("```") % 2 == 1
        if line.startswith(_MARKS) and not is_open:
            if part:
                yield part
            part = Part(line[0], line[2:].strip(), "", 0)
        elif part and part.mark in "UA":
            part = part._replace(text=f"{part.text}\n{line}")
        elif part and line.startswith("> "):
            part = part._replace(output=f"{part.output}{line[2:]}\n")
        elif part and line.startswith("! "):
            part = part._replace(code=int(line[2:]))
    if part:
        yield part


def write(parts: list[Part], client: str, path: Path) -> Path:
    """Write the transcript that *client* would have kept of *parts* to *path*."""
    rows = {"claude": _write_claude, "codex": _write_codex, "gemini": _write_gemini}[client](parts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _name_tool(part: Part, client: str) -> tuple[str, dict[str, str]]:
    name, key = _TOOLS[client][part.mark]
    return name, {key: part.text if part.mark == "$" else f"{ROOT}/{part.text}"}


def _write_claude(parts: list[Part]) -> Iterator[dict[str, Any]]:
    def row(role: str, content: Any) -> dict[str, Any]:
        return {"type": role, "sessionId": "s-1", "cwd": ROOT, "message": {"role": role, "content": content}}

    for number, part in enumerate(parts):
        if part.mark == "U":
            yield row("user", part.text)
        elif part.mark == "A":
            yield row("assistant", [{"type": "text", "text": part.text}])
        else:
            name, given = _name_tool(part, "claude")
            id_ = f"toolu_{number}"
            yield row("assistant", [{"type": "tool_use", "id": id_, "name": name, "input": given}])
            said = f"Exit code {part.code}\n{part.output}" if part.code else part.output
            result = {"type": "tool_result", "tool_use_id": id_, "content": said, "is_error": bool(part.code)}
            yield row("user", [result])


def _write_codex(parts: list[Part]) -> Iterator[dict[str, Any]]:
    def item(**payload: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": payload}

    yield {"type": "session_meta", "payload": {"id": "s-1", "cwd": ROOT}}
    for number, part in enumerate(parts):
        id_ = f"call_{number}"
        if part.mark in "UA":
            role, kind = ("user", "input_text") if part.mark == "U" else ("assistant", "output_text")
            yield item(type="message", role=role, content=[{"type": kind, "text": part.text}])
        elif part.mark == "E":
            patch = f"*** Begin Patch\n*** Update File: {part.text}\n@@\n-a\n+b\n*** End Patch"
            yield item(type="custom_tool_call", name="apply_patch", call_id=id_, input=patch)
            done = json.dumps({"output": "Success", "metadata": {"exit_code": 0}})
            yield item(type="custom_tool_call_output", call_id=id_, output=done)
        else:
            command = part.text if part.mark == "$" else f"cat {part.text}"
            yield item(type="function_call", name="exec_command", call_id=id_, arguments=json.dumps({"cmd": command}))
            said = f"Wall time: 0.1 seconds\nProcess exited with code {part.code}\nOutput:\n{part.output}"
            yield item(type="function_call_output", call_id=id_, output=said)


def _write_gemini(parts: list[Part]) -> Iterator[dict[str, Any]]:
    yield {"sessionId": "s-1", "projectHash": "ab" * 32, "kind": "main"}
    for number, part in enumerate(parts):
        message: dict[str, Any] = {"id": f"m{number}", "type": "user" if part.mark == "U" else "gemini", "content": ""}
        if part.mark in "UA":
            message["content"] = [{"text": part.text}] if part.mark == "U" else part.text
        else:
            name, given = _name_tool(part, "gemini")
            said = f"{part.output}Exit Code: {part.code}" if part.code else part.output
            call = {"id": f"t{number}", "name": name, "args": given, "status": "error" if part.code else "success"}
            message["toolCalls"] = [{**call, "result": [{"functionResponse": {"response": {"output": said}}}]}]
        yield message


class Score(NamedTuple):
    """How well a session was learned from: what was missed, what is noise, what is wrong, of how many."""

    facts: int
    missed: list[str]
    proposed: int
    noise: list[str]
    wrong: list[str]


def judge(texts: list[str], labels: Labels) -> Score:
    """Judge the proposed *texts* by what somebody wrote down before."""

    def says(pattern: str, text: str) -> bool:
        return bool(re.search(pattern, text, re.IGNORECASE))

    missed = [name for name, pattern in labels.facts.items() if not any(says(pattern, text) for text in texts)]
    known = [*labels.facts.values(), *labels.also.values()]
    noise = [text for text in texts if not any(says(pattern, text) for pattern in known)]
    wrong = [text for text in texts if any(says(pattern, text) for pattern in labels.wrong)]
    return Score(len(labels.facts), missed, len(texts), noise, wrong)
