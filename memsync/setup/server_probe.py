"""Whether the MCP server gives a client its tools, asked as a client does: by the name that is in its settings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync import origin
from memsync.system import programs
from memsync.system.limits import read_json

_PATIENCE: Final = 30.0  # seconds, as long as the clients wait
_CLIENT: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "memsync", "version": "0"},
}
_TALK: Final = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
)


class ServerStatus(NamedTuple):
    """Whether `memsync mcp` answers with tools, and why not."""

    answers: bool
    why: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        return "answers" if self.answers else f"does not answer: {self.why}"


def ask_server(start: Path, env: Mapping[str, str]) -> ServerStatus:
    """Start the server that a client would start in *start*, ask for its tools, and let it end."""
    try:
        programs.find("memsync", env)
    except FileNotFoundError:
        return ServerStatus(False, f"memsync is not in the PATH, where the clients look for it; {origin.advise_path()}")
    said = "".join(f"{json.dumps(message)}\n" for message in _TALK).encode()
    try:
        done = subprocess.run(
            [programs.find("memsync", env), "mcp"],
            cwd=start,
            env=programs.child_env(env),
            input=said,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ServerStatus(False, f"nothing came in {_PATIENCE:g} seconds; run `memsync mcp` to see where it stays")
    except OSError as error:
        return ServerStatus(False, f"{error}; {origin.advice()} installs memsync again")
    if any(_read_tools(line) for line in done.stdout.splitlines()):
        return ServerStatus(True)
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"it ended with code {done.returncode}"]
    return ServerStatus(False, errors[-1].removeprefix("memsync: "))


def _read_tools(line: bytes) -> list[Any]:
    with suppress(ValueError, KeyError, TypeError):
        answer = read_json(line)
        return list(answer["result"]["tools"]) if answer["id"] == _TALK[-1]["id"] else []
    return []
