"""What each client is told about memsync: its hooks and its MCP server, as data.

Clients remember what a user has approved by these very strings, so they never
change between releases; `tests/unit/setup/test_entries.py` pins them.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final, NamedTuple

from memsync.agents.client import ClientName

NAMES: Final = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
SERVER: Final = "memsync"

# Where memsync is gone (another machine, another environment) the client goes on without a word. Gemini CLI blocks
# the prompt for every code but 0 and 1, and the others print the failure each time. For POSIX shells and fish; on
# Windows each client has a shell of its own, and PowerShell knows neither half of it.
_GUARD: Final = "" if os.name == "nt" else " 2>/dev/null || exit 0"
# A hook of ours, however the program is spelled (with its path, in quotes, as an .exe) and whatever guards it.
_OURS: Final = re.compile(r"(?:^|[\s/\\\"'])memsync(?:\.exe)?[\"']? hook ([a-z-]+) --client ([a-z]+)\s*(?:$|2>|\|\||;)")
_UNGUARDED: Final = re.compile(r"memsync hook [a-z-]+ --client [a-z]+")


# The tools that change nothing, which a user may allow once and for all.
READ_TOOLS: Final = tuple(
    "recall get_memory search_skills list_memories memory_stats memory_history memory_diff memory_blame dedup_log"
    " list_skills get_skill skill_stats".split()
)


class Hook(NamedTuple):
    """One event of a client and what is run on it; the time limit is in seconds."""

    event: str
    name: str
    limit: int
    matcher: str | None = None


HOOKS: Final[dict[ClientName, tuple[Hook, ...]]] = {
    "claude": (
        Hook("SessionStart", "session-start", 10, "startup|resume|clear|compact|fork"),
        Hook("UserPromptSubmit", "prompt", 5),
        Hook("PreCompact", "pre-compact", 5),
        Hook("SessionEnd", "session-end", 5),
    ),
    "codex": (
        Hook("SessionStart", "session-start", 10, "startup|resume|clear|compact|fork"),
        Hook("UserPromptSubmit", "prompt", 5),
        Hook("PreCompact", "pre-compact", 5),
        Hook(
            "PostCompact", "post-compact", 5
        ),  # its SessionStart(compact) is lost if the user leaves before the next turn
        Hook("SessionEnd", "session-end", 3),  # Codex gives no more, and warns about more
    ),
    # PreCompress comes before every model request, so nothing of ours runs on it.
    "gemini": (
        Hook("SessionStart", "session-start", 10, "*"),
        Hook("BeforeAgent", "prompt", 5),
        Hook("SessionEnd", "session-end", 5),
    ),
}


class Wanted(NamedTuple):
    """A value that a settings file must hold: the member at *keys*, or an element of the list there."""

    keys: tuple[str, ...]
    value: Any
    is_element: bool

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "allowed tools" if self.is_word else "hooks" if self.is_element else "MCP server"

    @property
    def is_word(self) -> bool:
        """Tell whether it is a word in a list, as a permission is, which the user may have put there as well."""
        return isinstance(self.value, str)


def command(hook: Hook, client: str) -> str:
    """Return what *client* runs on *hook*."""
    return guard(_spell(hook, client))


def _spell(hook: Hook, client: str) -> str:
    return f"memsync hook {hook.name} --client {client}"


def is_unguarded(text: object) -> bool:
    """Tell whether *text* is a command of ours as it was written before commands had a guard."""
    return isinstance(text, str) and bool(_GUARD) and _UNGUARDED.fullmatch(text) is not None


def guard(text: str) -> str:
    """Return the command *text* so that it always ends with 0, and without a word where memsync is gone."""
    return text + _GUARD


def list_hooks(client: ClientName, spoken_to: str | None = None) -> list[Wanted]:
    """Return the hooks of *client*, in the form of its settings; *spoken_to* is named in the commands instead."""
    return [
        Wanted(("hooks", hook.event), _make_group(hook, client, spoken_to or client), True) for hook in HOOKS[client]
    ]


def _make_group(hook: Hook, client: ClientName, spoken_to: str) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "command", "command": command(hook, spoken_to), "timeout": hook.limit}
    if client == "gemini":  # counts in milliseconds, and asks the user about a hook by its name
        run = {"name": f"memsync-{hook.name}", **run, "timeout": hook.limit * 1000}
    if client == "codex" and spoken_to == client:  # Claude Code, which reads the plugin's too, knows no such key
        run["commandWindows"] = _spell(hook, spoken_to)
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [run]}


def server(client: ClientName) -> Wanted:
    """Return the MCP server, in the form of *client*."""
    run: dict[str, Any] = {"command": "memsync", "args": ["mcp"]}
    if client == "claude":  # which else asks its model before the tools are there
        run = {"type": "stdio", **run, "alwaysLoad": True}
    return Wanted(("mcpServers", SERVER), run, False)


def list_permissions(client: ClientName, *, stealth: bool = False) -> tuple[Wanted, ...]:
    """Return what lets *client* use our server and its reading tools without asking; Codex asks for none of these."""
    if client == "claude":
        server = () if stealth else (Wanted(("enabledMcpjsonServers",), SERVER, True),)
        return (*server, *(Wanted(("permissions", "allow"), f"mcp__{SERVER}__{tool}", True) for tool in READ_TOOLS))
    if client == "gemini":
        return tuple(Wanted(("tools", "allowed"), f"mcp_{SERVER}_{tool}", True) for tool in READ_TOOLS)
    return ()


def hook_of(handler: Any) -> tuple[str, str] | None:
    """Return the name and client of a hook of ours that *handler* runs; None for anybody else's."""
    text = handler.get("command") if isinstance(handler, dict) else None
    found = _OURS.search(text) if isinstance(text, str) else None
    return (found[1], found[2]) if found else None


def is_server(value: Any) -> bool:
    """Tell whether *value* starts our MCP server, wherever the program is and with whatever environment."""
    if not isinstance(value, dict) or not isinstance(value.get("command"), str):
        return False
    program = re.split(r"[/\\]", value["command"])[-1].removesuffix(".exe")
    return program == "memsync" and value.get("args") == ["mcp"]
