"""Which clients there are: ours by name, and those that other packages bring by an entry point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from memsync.clients.facts import Client
from memsync.errors import UsageError

# Those with hooks, which `all` means; those that are told of the MCP server only; files that any client reads.
ALL: Final = ("claude", "codex", "gemini", "copilot", "opencode", "qwen", "antigravity")
SERVER_ONLY: Final = ("cursor", "vscode", "zed", "cline", "crush", "goose", "windsurf", "amp", "droid")
BLOCKS: Final = ("agents-md", "claude-md", "gemini-md", "codex-memories")
NAMES: Final = (*ALL, *SERVER_ONLY, *BLOCKS)
GROUP: Final = "memsync.clients"
# Where the constant is that is called as the client; of the others in a module of their own.
_MODULES: Final = {"qwen": "claude", **dict.fromkeys(SERVER_ONLY, "servers"), **dict.fromkeys(BLOCKS, "blocks")}


@cache
def find(name: str) -> Client:
    """Return the client called *name*. Ours are found without a look at the installed packages, for which a hook has no time.

    Raises:
        UsageError: the client is unknown.
    """
    if name in NAMES:
        module = import_module(f"memsync.clients.{_MODULES.get(name, name)}")
        found: Client = getattr(module, name.replace("-", "_").upper())
        return found
    others = {client.name: client for client in _list_others()}
    if name not in others:
        raise UsageError(f"unknown client {name!r}; choose one of {', '.join((*NAMES, *others))}")
    return others[name]


def list_names() -> tuple[str, ...]:
    """Return the name of every client, in the order in which they are told of."""
    return (*NAMES, *(client.name for client in _list_others()))


def every() -> tuple[Client, ...]:
    """Return every client."""
    return (*map(find, NAMES), *_list_others())


def find_shell(env: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the title of the client whose agent runs this process, and the variable of *env* that says so."""
    named = ((client.title, name) for client in every() for name in client.variables)
    return next((one for one in (*named, ("an agent", "AI_AGENT")) if env.get(one[1])), None)


@cache
def _list_others() -> tuple[Client, ...]:
    """Return the clients of other packages; none can take the name of one of ours."""
    from importlib.metadata import entry_points

    def load() -> Iterator[Client]:
        for point in entry_points(group=GROUP):
            found = point.load()
            if isinstance(found, Client) and found.name not in NAMES:
                yield found

    return tuple(sorted(load(), key=lambda client: client.name))
