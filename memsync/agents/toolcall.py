"""What a tool of a client is about to do, or has done: which files and commands, by its payload; and whether anything is known of it.

A tool waits for that, so it is told by the lookup file alone. Whatever is odd is not quiet: then the hook looks at the
memories, and guards the user's turn. Imports next to nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memsync.index import places
from memsync.memories import commands, lookup, triggers

_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path", "filename", "file")
_READING = ("read", "glob", "grep", "ls", "list", "search", "view", "web", "find", "cat")
_READERS = frozenset({"read", "read_file", "view"})  # tools that read one file
_REPLACED = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str", "content", "new_source", "file_text")
_COMMANDS = ("command", "cmd", "input")
_STARTING = ("Agent", "Task")  # tools that start a subagent
_WRITTEN = frozenset((*_REPLACED, *_NEW, *_COMMANDS, "description", "prompt"))  # what is no path and no pattern
_SAID = 400  # characters of a path or a pattern
_LONGEST = 65_536  # characters of what is written that are looked at
_OUTPUT = 32_768  # of what a command printed
_PATCH = "*** Begin Patch"
_MOST = 16  # files of one call
_ROWS = 40  # lines at the end that may tell of a failure
_STARTS = (
    "Error", "error", "ERROR", "fatal:", "FAIL", "panic:", "thread '", "Traceback (most recent", "npm ERR!", "E   ", "!!",
)  # fmt: skip
_INSIDE = (
    "Error: ", "Exception: ", "Exception in ", "error: ", "command not found", "No such file or directory", "Permission denied",
    "WARNING: ", "Fatal error", "FATAL", " FAILED",
)  # fmt: skip
AFTERWARDS = frozenset(
    {"copilot", "gemini", "opencode", "qwen"}
)  # clients whose hooks can add context only when a tool has run


class ToolCall:
    """One call: the files it changes, as it names them, the commands it runs, and what it replaces and writes.

    `reads` are files that it only reads, `looks` what it looks into, `said` the paths and patterns that it names. `error` is what
    a command that failed has said; `plan` what the user has accepted.
    """

    def __init__(self, payload: Mapping[str, Any]) -> None:
        name, given = payload.get("tool_name"), payload.get("tool_input")
        given = given if isinstance(given, dict) else {}
        self.name = name if isinstance(name, str) else ""
        self.id = str(payload.get("tool_use_id") or payload.get("call_id") or "")
        self.line = ""
        self.paths: list[str] = []
        self.reads: list[str] = []
        self.looks: list[str] = []
        self.old: list[str] = []
        self.text = ""
        self.said = [
            one for key, one in given.items() if key not in _WRITTEN and isinstance(one, str) and len(one) <= _SAID
        ]
        if self.name.lower() in _READERS:
            self.reads = _path_in(given)
        elif self.name.lower().startswith(_READING):
            self.looks = _looks_of(self.name.lower(), given)
        else:
            self._take(given)
        self.error = find_error(payload, is_printed=bool(self.line))
        told = payload.get("tool_response") if self.name == "ExitPlanMode" else None
        plan = told.get("plan") if isinstance(told, dict) else None
        self.plan = plan[:_LONGEST] if isinstance(plan, str) else ""

    def _take(self, given: Mapping[str, Any]) -> None:
        line = next((given[key] for key in _COMMANDS if key in given), None)
        if isinstance(line, list):
            line = " ".join(one for one in line if isinstance(one, str))
        line = line if isinstance(line, str) and "\0" not in line[:_LONGEST] else ""
        if _PATCH in line[:_LONGEST]:
            self._take_patch(line[:_LONGEST])
        elif line:
            self.line = line
            self.paths = commands.paths(line)
            self.reads = commands.reads(line)
            self.text = line[:_LONGEST]
        else:
            self.paths = _path_in(given)
            edits = given.get("edits")
            for one in (given, *(edits[:_MOST] if isinstance(edits, list) else ())):
                self._take_edit(one if isinstance(one, dict) else {})

    def _take_edit(self, one: Mapping[str, Any]) -> None:
        for key in _REPLACED:
            if isinstance(text := one.get(key), str) and text:
                self.old.append(text[:_LONGEST])
        for key in _NEW:
            if isinstance(text := one.get(key), str):
                self.text = f"{self.text}\n{text}"[-_LONGEST:]

    def _take_patch(self, patch: str) -> None:
        """Take what Codex's patches say: headers with the path of each file, hunks with their context."""
        for row in patch.splitlines():
            for head in ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "):
                if row.startswith(head) and len(self.paths) < _MOST:
                    self.paths.append(row.removeprefix(head).strip())
            if row[:1] in ("-", " ") and row.strip("- \t"):
                self.old.append(row[1:])
        self.text = patch

    @property
    def mark(self) -> str:
        """What tells this call from the next: the client's id of it, else what it does."""
        said = (self.name, self.line, self.paths, self.reads, self.said, self.old, self.text)
        return self.id or f"{lookup.hash_of(repr(said)):08x}"

    @property
    def is_whole(self) -> bool:
        """Whether files are written as a whole, or in a way that does not tell which part."""
        return bool(self.paths) and not self.old

    @property
    def is_free(self) -> bool:
        """Whether what it says of its failure is more than that something is not there, or was not read: a program's own words."""
        return bool(self.line) or self.name.startswith("mcp_")

    @property
    def lines(self) -> list[commands.Words]:
        """The commands that are run, as they are spelled."""
        return commands.split(self.line)

    def names(self, cwd: str, root: str) -> list[str]:
        """Return the names that it uses: of what is not there below the real *root*, and what is new in its text."""
        lines = self.commands()
        here = os.path.join(cwd, lines[0][1]) if lines and lines[0][0] == "cd" and lines[0][1:] else cwd
        run = [word for words in lines for word in words[1:] if places.is_path(word)][:_MOST]
        paths = lookup.all_below((*self.paths, *self.reads, *self.looks, *run), here, root) if root else ()
        missing = [name for path in paths for name in lookup.name_missing(path, root, root)]
        rows = self.text.splitlines() if _PATCH in self.text else ()
        text = "\n".join(row[1:] for row in rows if row[:1] == "+") if rows else self.text
        new = places.names_in("\n".join((text, *(one.replace("\\.", ".") for one in self.said))))  # may be patterns
        before = "\n".join(self.old)
        old = set(places.names_in(before)) if new else set()
        if not self.line and (words := places.constructs_in(text, self.paths)):
            new, old = [*new, *words], old.union(places.constructs_in(before, self.paths))
        return list(dict.fromkeys((*missing, *(name for name in new if name not in old))))

    def commands(self) -> list[commands.Words]:
        """Return what is run, without what only starts it."""
        return [words for words in map(commands.strip, self.lines) if words]


def _path_in(given: Mapping[str, Any]) -> list[str]:
    return [path for key in _PATHS if isinstance(path := given.get(key), str) and path][:1]


def _looks_of(tool: str, given: Mapping[str, Any]) -> list[str]:
    """Return where a *tool* looks: the path that it is given, and the fixed beginning of a pattern of files."""
    found = _path_in(given)
    for key in ("pattern", "glob", "include") if tool.startswith("glob") else ("glob", "include"):
        if isinstance(one := given.get(key), str) and "/" in one:
            start = re.split(r"[*?\[{]", one, maxsplit=1)[0]
            found.append(start if start == one else start.rpartition("/")[0])
    return [path for path in found if path]


def find_error(payload: Mapping[str, Any], *, is_printed: bool) -> str:
    """Return what a tool that failed has said; "" if it did not fail. What a command has *printed* may tell it, too."""
    if isinstance(said := payload.get("error"), str) and said.strip():
        return said[-_OUTPUT:]
    found = payload.get("tool_response")
    if isinstance(found, str):
        return found[-_OUTPUT:] if is_printed and (_says_failure(found) or _looks_failed(found)) else ""
    if not isinstance(found, dict):
        return ""
    texts = "\n".join(_texts(found))
    codes = [found.get(key) for key in ("exit_code", "exitCode", "code", "returncode")]
    is_failed = any(map(found.get, ("error", "is_error", "isError"))) or any(isinstance(c, int) and c for c in codes)
    return texts[-_OUTPUT:] if is_failed or (is_printed and _says_failure(texts)) else ""


def _texts(found: Mapping[str, Any]) -> Iterator[str]:
    for key in ("stdout", "output", "llmContent", "textResultForLlm", "stderr", "error"):
        value = found.get(key)
        value = value.get("message") if isinstance(value, dict) else value
        if isinstance(value, str) and value:
            yield value


def _looks_failed(text: str) -> bool:
    """Tell whether the end of what was printed looks like that of a command that failed: Codex does not say how one ended."""
    rows = text[-_OUTPUT:].splitlines()[-_ROWS:]
    return any(row.strip().startswith(_STARTS) or any(mark in row for mark in _INSIDE) for row in rows)


def _says_failure(text: str) -> bool:
    """Tell whether what a client shows its model says that a command ended with another code than 0."""
    for start in ("Exit code: ", "Exit Code: ", "Process exited with code ", "exit code "):
        for part in text.split(start)[1:2]:
            number = part.lstrip("-")[:4].split("\n")[0].split(" ")[0].rstrip(".,>")
            if number.isdecimal() and int(number):
                return True
    return False


def read_task(payload: Mapping[str, Any]) -> str:
    """Return what a subagent is asked, if the call starts one."""
    given = payload.get("tool_input")
    asked = given.get("prompt") if isinstance(given, dict) and payload.get("tool_name") in _STARTING else ""
    return asked[:_LONGEST] if isinstance(asked, str) else ""


def is_quiet(event: str, client: str, payload: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> bool:
    """Tell whether there is certainly nothing to say."""
    if client == "claude" and event == "pre-tool" and "timestamp" in payload:
        return True  # Copilot CLI, which runs the hooks of Claude Code and takes no context before a tool
    if client == "copilot":
        from memsync.clients.copilot import COPILOT

        payload = COPILOT.read(payload)
    call = ToolCall(payload)
    is_ours = call.name.startswith("mcp_") and "memsync" in call.name
    if is_ours or (event == "post-tool" and client not in AFTERWARDS and not (call.error or call.plan)):
        return True
    if (call.error or call.plan) if event == "post-tool" else read_task(payload):
        return False
    if not (call.paths or call.reads or call.line or call.said):
        return True
    root, path = lookup.find_path(cwd, env)
    known = lookup.Lookup(path) if path else None
    if known is None or not known.fresh:
        return False
    paths = lookup.all_below((*call.paths, *call.reads), cwd, root)
    used = (
        (*triggers.keys_of((call.text, *call.said)), *places.keys_of(call.names(cwd, root))) if known.has_names else ()
    )
    return not known.has_any((*lookup.keys_of(paths, call.commands()), *used))
