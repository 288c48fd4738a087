"""What of a recorded session belongs to the work: words and calls, without what clients and memsync put beside them.

Injected memory, the client's own remarks, slash commands and subagents are left out.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from memsync.clients import transcript_events, transcript_files
from memsync.clients.transcript_events import Event, Prompt, Result, Session, Words, says_failure
from memsync.clients.transcript_files import Source
from memsync.errors import ImportFailed
from memsync.learn.failures import PATHS
from memsync.learn.rules import read_rows
from memsync.learn.worth import hide_secrets
from memsync.memories.project import Project
from memsync.store import checkout
from memsync.system.home import find_home
from memsync.system.limits import read_json
from memsync.system.texts import one_line

Kind = Literal["command", "edit", "read", "memory", "other"]

# Characters of one text that are kept: a transcript may have 100 MB.
_KEPT: Final = 4_000
_QUOTED: Final = 4  # steps of a turn that are shown
_ROW: Final = 200  # characters of each
_TURNS: Final = 200  # the newest turns that are listed
_TURN: Final = 400  # characters of each
_COMMANDS: Final = {"bash", "shell", "exec_command", "local_shell", "run_shell_command", "container.exec"}
EDITS: Final = {"edit", "multiedit", "write", "notebookedit", "apply_patch", "replace", "write_file", "create_file"}
_READS: Final = {"read", "grep", "glob", "ls", "read_file", "read_many_files", "list_directory", "search_file_content"}
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_OURS: Final = re.compile(r"^(?:uvx? (?:tool )?(?:run )?)?memsync\b|^gobby (?:memory|skill)\b")


@dataclass(slots=True)
class Said:
    """Words of the user or of the agent, as they stood in line `line`; `refused` is the call that the user refused with them."""

    by: Literal["user", "agent"]
    text: str
    line: int
    refused: Call | None = None


@dataclass(slots=True)
class Call:
    """A tool that the agent used, as it was recorded. `failed` is None where the user refused it, or no answer is there."""

    tool: str
    kind: Kind
    line: int
    command: str = ""
    files: tuple[str, ...] = ()
    output: str = ""
    failed: bool | None = None
    event: transcript_events.Call | None = None
    result: Result | None = None


Step = Said | Call


class Turn(NamedTuple):
    """What the user said: the line, the call that they refused or that came before, "" at the start, and their words."""

    line: int
    about: str
    text: str


def read(path: Path) -> list[Step]:
    """Return the steps of the transcript *path*, in order, as `read_session` reads it; of each text 4,000 characters are kept."""
    return list(list_steps(read_session(path).events))


def read_session(path: Path) -> Session:
    """Return the session in the transcript *path*. A last line that is cut off is left out; the file is streamed.

    Raises:
        ImportFailed: it cannot be read, or is not a transcript of a client that we know.
    """
    session = transcript_files.read_file(path)
    if session is None:
        what = "a transcript of Claude Code, Codex, Gemini CLI or Copilot CLI"
        raise ImportFailed(f"{path} is not {what}; give the .jsonl file of a session")
    return session


def quote_turn(where: str) -> list[str]:
    """Return what was said and called last up to *where* (`file:line`), a row each, without secrets; [] if the file is not there any more."""
    path, _, line = where.rpartition(":")
    try:
        steps = [step for step in read(Path(path)) if step.line <= int(line)]
    except (ImportFailed, ValueError):
        return []
    rows = ((step.by, step.text) if isinstance(step, Said) else ("call", _describe(step)) for step in steps[-_QUOTED:])
    return [f"{who}: {one_line(hide_secrets(text), _ROW)}" for who, text in rows]


def list_turns(steps: Iterable[Step]) -> list[Turn]:
    """Return what the user said in *steps*, also without a word that it lasts, for a reader who judges; without secrets and answers of one word."""
    found: list[Turn] = []
    last: Call | None = None
    for step in steps:
        if isinstance(step, Call):
            last = step
        elif step.by == "user" and (step.refused or len(step.text.split()) > 1 or not step.text.isascii()):
            call = step.refused or last
            about = one_line(hide_secrets(_describe(call)), _ROW) if call else ""
            found.append(Turn(step.line, about, one_line(hide_secrets(step.text), _TURN)))
    return found[-_TURNS:]


def _describe(call: Call) -> str:
    ended = " (failed)" if call.failed else " (refused)" if call.result and call.result.refusal else ""
    return f"{call.tool} {call.command or ' '.join(call.files)}{ended}"


def list_steps(recorded: Iterable[Event]) -> Iterator[Step]:
    """Yield what was said and called in the session itself, and what the user refused also of a subagent."""
    calls: dict[str, Call] = {}
    for event in recorded:
        if isinstance(event, transcript_events.Call):
            calls[event.id] = call = _make_call(event)
            if not event.thread:
                yield call
        elif isinstance(event, Result) and event.id in calls:
            _note_result(call := calls.pop(event.id), event)
            if words := "" if event.refusal == "no" else _strip(event.refusal):
                yield Said("user", words, event.line, call)
        elif isinstance(event, Prompt | Words) and not event.thread:
            by: Literal["user", "agent"] = "user" if isinstance(event, Prompt) else "agent"
            if not (isinstance(event, Prompt) and event.is_command) and (text := _strip(event.text)):
                yield Said(by, text, event.line)


@cache
def _boilerplate(kind: str) -> re.Pattern[str]:
    """Return what finds the texts of the clients of that *kind*."""
    rows = (row for row in read_rows("boilerplate.tsv") if row[2] == kind)
    return re.compile("|".join(f"(?:{row[3]})" for row in rows), re.DOTALL)


def _strip(text: str) -> str:
    """Return what of *text* somebody said; "" where a client or memsync wrote it."""
    said = _boilerplate("rest").split(_boilerplate("part").sub("", text), maxsplit=1)[0].strip()
    return "" if _boilerplate("whole").match(said) else said[:_KEPT]


def _note_result(call: Call, result: Result) -> None:
    call.result = result
    call.failed = None if result.refusal else bool(result.failed) or bool(says_failure(result.text))
    call.output = "" if call.kind == "memory" else _boilerplate("part").sub(_unwrap, result.text).strip()[-_KEPT:]


def _unwrap(found: re.Match[str]) -> str:
    """Keep the output of a tool that Gemini wraps, and nothing that was injected."""
    inside = re.fullmatch(r"(?s)(?:<|&lt;)untrusted_context\b[^>]*?(?:>|&gt;)(.*)(?:<|&lt;)/.*", found[0])
    return inside[1] if inside else ""


def _make_call(event: transcript_events.Call) -> Call:
    tool = event.tool
    name = tool.rpartition("__")[2].lower() if "memsync" not in tool else tool.lower()
    command = event.command if name in _COMMANDS else ""
    kind: Kind = "other"
    if "memsync" in name or _OURS.match(command):
        kind = "memory"
    elif name in _COMMANDS:
        kind = "command"
    elif name in EDITS:
        kind = "edit"
    elif name in _READS:
        kind = "read"
    files = _find_files(event.given)
    return Call(tool=tool, kind=kind, line=event.line, command=command[:_KEPT], files=files, event=event)


def _find_files(given: Mapping[str, Any]) -> tuple[str, ...]:
    names = (given.get(key) for key in PATHS)
    patch = given.get("input") or given.get("patch") or given.get("command")
    patched = _PATCHED.findall(patch) if isinstance(patch, str) else []
    return tuple(dict.fromkeys(str(name) for name in (*names, *patched) if name))


_CWD: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_HEAD: Final = 1 << 16  # bytes of a transcript that say where it ran
_PLACES: Final = (  # of each client: what names its folder, the folder in the home, and the transcripts in it
    ("CLAUDE_CONFIG_DIR", ".claude", ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl")),
    ("CODEX_HOME", ".codex", ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")),
    ("", ".gemini", ("tmp/*/chats/session-*.json*",)),
    ("COPILOT_HOME", ".copilot", ("session-state/*/events.jsonl", "session-state/*.jsonl")),
)


def _list_all(home: Path, env: Mapping[str, str]) -> Iterator[Path]:
    for variable, folder, patterns in _PLACES:
        for pattern in patterns:
            yield from sorted(Path(env.get(variable) or home / folder).glob(pattern))


def find(session: str, home: Path, env: Mapping[str, str]) -> Path | None:
    """Return the transcript of *session* where its client keeps it; None if there is none on this machine."""
    if not re.fullmatch(r"[\w-]{8,}", session):
        return None
    own = re.compile(rf"(?:rollout-.*-)?{session}|session-.*-{session[:8]}")
    return next((one for one in _list_all(home, env) if own.fullmatch(one.stem) or one.parent.name == session), None)


def list_here(project: Project, since: dt.datetime | None = None) -> list[Path]:
    """Return the transcripts of this machine that ran in the project's repository, in any work tree of it, and were written since then."""
    home, root = find_home(project.env), project.layout.root
    if not home or root is None:
        return []
    listed = (checkout.ask(root, "worktree", "list", "--porcelain") or "").splitlines()
    trees = {row.removeprefix("worktree ") for row in listed if row.startswith("worktree ")} | {str(root)}
    least = since.timestamp() if since else 0.0
    return [one for one in _list_all(Path(home), project.env) if _is_of(one, trees, least)]


def _is_of(transcript: Path, trees: Collection[str], least: float) -> bool:
    """Tell whether *transcript* says that it ran in one of *trees*, and was written since *least*."""
    try:
        if transcript.stat().st_mtime < least:
            return False
        where = _find_folder(transcript)
    except (OSError, ValueError):
        return False
    hashes = (sha256(tree.encode()).hexdigest() for tree in trees)  # by which Gemini CLI named its folders once
    inside = any(os.path.join(where, "").startswith(os.path.join(tree, "")) for tree in trees)
    return inside or transcript.parents[1].name in hashes


def _find_folder(transcript: Path) -> str:
    """Return the folder that a session ran in, as Gemini CLI notes it beside its chats, or as it says itself."""
    if (marker := transcript.parents[1] / ".project_root").is_file():
        return marker.read_text("utf-8").strip()
    with transcript.open("rb") as file:
        said = _CWD.search(file.read(_HEAD))
    return str(read_json(said[1])) if said else ""


_TOOLS: Final = ("ExitPlanMode", "exit_plan_mode", "update_plan")
_MARKS: Final = tuple(name.encode() for name in _TOOLS)


def find_plan(transcript: Path) -> str:
    """Return the last plan in *transcript*, 8,000 characters of each text; "" if it has none, or cannot be read."""
    lines = (line for line in transcript_files.read_lines(transcript) if any(mark in line for mark in _MARKS))
    try:
        session = transcript_files.read_session(Source(lambda: lines, str(transcript)), set())
    except ImportFailed:
        return ""
    calls = [one for one in session.events if isinstance(one, transcript_events.Call)] if session else []
    return next(filter(None, (_spell(one.given) for one in reversed(calls) if one.tool in _TOOLS)), "")


def _spell(given: Mapping[str, Any]) -> str:
    """Return a plan as text: as it is, or its steps as a list."""
    plan = given.get("plan")
    if isinstance(plan, str):
        return plan.strip()
    steps = [step.get("step") for step in plan if isinstance(step, Mapping)] if isinstance(plan, list) else []
    return "\n".join(f"- {step.strip()}" for step in steps if isinstance(step, str) and step.strip())
