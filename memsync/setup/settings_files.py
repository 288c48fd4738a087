"""Which settings files of a client memsync writes to: the project's, under stealth the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memsync.agents.client import CLIENTS, ClientName
from memsync.memories.project import Project
from memsync.setup import entries
from memsync.setup.entries import Wanted
from memsync.system.home import find_home

_HOMES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini"),
}
_SIGNS = {
    "claude": (".claude", "CLAUDE.md", ".mcp.json"),
    "codex": (".codex",),
    "gemini": (".gemini", "GEMINI.md"),
}


class Target(NamedTuple):
    """One settings file and what it must hold; without *wanted* it is Codex's TOML.

    *tree* is what its links may not leave; None for a file of the user.
    """

    client: ClientName
    path: Path
    wanted: tuple[Wanted, ...]
    tree: Path | None
    allows_comments: bool = False


def home_of(client: ClientName, env: Mapping[str, str]) -> Path | None:
    """Return the directory in which *client* keeps what is the user's."""
    name, default = _HOMES[client]
    if chosen := env.get(name):
        # Gemini's variable names what .gemini is in.
        return Path(os.path.abspath(os.path.expanduser(chosen))) / (default if client == "gemini" else "")
    home = find_home(env)
    return Path(home) / default if home else None


def detect(project: Project) -> list[ClientName]:
    """Return the clients that the user has used, or that the project has files of."""
    root = project.layout.root

    def is_used(client: ClientName) -> bool:
        home = home_of(client, project.env)
        in_project = root is not None and any((root / sign).exists() for sign in _SIGNS[client])
        return in_project or (home is not None and home.is_dir())

    return [client for client in CLIENTS if is_used(client)]


def list_targets(client: ClientName, project: Project, *, stealth: bool, allow_tools: bool = False) -> list[Target]:
    """Return the files of *client*: the project's or, as nothing of ours may be in the tree then, the user's.

    With *allow_tools* also what lets the client use the reading tools without asking.
    """
    tree = None if stealth else project.layout.root
    folder = tree / _HOMES[client][1] if tree else home_of(client, project.env) if stealth else None
    if folder is None:
        return []
    hooks, server = tuple(entries.list_hooks(client)), entries.server(client)
    allowed = entries.list_permissions(client, stealth=stealth) if allow_tools else ()
    if client == "claude":
        # Its MCP servers for the user alone are in ~/.claude.json, which a running Claude Code rewrites all the time:
        # it must add ours itself.
        if tree is None:
            return [Target(client, folder / "settings.json", (*hooks, *allowed), tree)]
        mine = [Target(client, folder / "settings.local.json", allowed, tree)] if allowed else []
        hooked = Target(client, folder / "settings.json", hooks, tree)
        return [hooked, Target(client, tree / ".mcp.json", (server,), tree), *mine]
    if client == "codex":
        return [Target(client, folder / "hooks.json", hooks, tree), Target(client, folder / "config.toml", (), tree)]
    return [Target(client, folder / "settings.json", (*hooks, server, *allowed), tree, allows_comments=True)]
