"""What of a client's settings is ours: known by what it runs, however it is spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from memsync.clients.facts import Entry

# A hook of ours, however the program is spelled (with its path, in quotes, as an .exe) and whatever guards it.
_OURS: Final = re.compile(r"(?:^|[\s/\\\"'])memsync(?:\.exe)?[\"']? hook ([a-z-]+) --client ([a-z]+)\s*(?:$|2>|\|\||;)")
_COMMANDS: Final = ("command", "bash")  # where clients look for what a hook runs
_PROGRAMS: Final = ("command", "cmd")  # and a server


def hook_of(handler: Any) -> tuple[str, str] | None:
    """Return the name and client of a hook of ours that *handler* runs; None for anybody else's."""
    texts = [handler.get(key) for key in _COMMANDS] if isinstance(handler, dict) else []
    found = next((_OURS.search(text) for text in texts if isinstance(text, str)), None)
    return (found[1], found[2]) if found else None


def is_server(value: Any) -> bool:
    """Tell whether *value* starts our MCP server, wherever the program is and with whatever environment."""
    said = [value[key] for key in _PROGRAMS if key in value] if isinstance(value, dict) else []
    if not said:
        return False
    args = value.get("args")
    words = said[0] if isinstance(said[0], list) else [said[0], *(args if isinstance(args, list) else [args])]
    if not all(isinstance(word, str) for word in words) or not words:
        return False
    program = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe")
    return program == "memsync" and words[1:] == ["mcp"]


class Look(NamedTuple):
    """What of ours is in a file: names of hooks and servers that are there, that are missing, that should not be."""

    present: list[str]
    missing: list[str]
    stale: list[str]


def look(wanted: Sequence[Entry], present: Sequence[Entry], stale: Iterable[str] = ()) -> Look:
    """Return that of *wanted* the entries *present* are there, and that *stale* ones are."""
    missing = [name_of(one) for one in wanted if one not in present]
    return Look([name_of(one) for one in present], missing, list(stale))


def name_of(entry: Entry) -> str:
    """Return what *entry* is called: its event, or the server; what it is if it is a whole file."""
    return entry.keys[-1] if entry.keys else entry.kind
