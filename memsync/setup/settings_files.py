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
    home = env.get("HOME") or env.get("USERPROFILE")
    return Path(home) / default if home and os.path.isabs(home) else None


def detect(project: Project) -> list[ClientName]:
    """Return the clients that the user has used, or that the project has files of."""
    root = project.layout.root

    def is_used(client: ClientName) -> bool:
        home = home_of(client, project.env)
        in_project = root is not None and any((root / sign).exists() for sign in _SIGNS[client])
        return in_project or (home is not None and home.is_dir())

    return [client for client in CLIENTS if is_used(client)]


def list_targets(client: ClientName, project: Project, *, stealth: bool) -> list[Target]:
    """Return the files of *client*: the project's or, as nothing of ours may be in the tree then, the user's."""
    if not stealth:
        root = project.layout.root
        return _list_in_project(client, root) if root else []
    home = home_of(client, project.env)
    return _list_of_user(client, home) if home else []


def _list_in_project(client: ClientName, root: Path) -> list[Target]:
    hooks, server = tuple(entries.list_hooks(client)), entries.server(client)
    if client == "claude":
        return [
            Target(client, root / ".claude" / "settings.json", hooks, root),
            Target(client, root / ".mcp.json", (server,), root),
        ]
    if client == "codex":
        return [
            Target(client, root / ".codex" / "hooks.json", hooks, root),
            Target(client, root / ".codex" / "config.toml", (), root),
        ]
    return [Target(client, root / ".gemini" / "settings.json", (*hooks, server), root, allows_comments=True)]


def _list_of_user(client: ClientName, home: Path) -> list[Target]:
    hooks, server = tuple(entries.list_hooks(client)), entries.server(client)
    if client == "claude":
        # Its MCP servers are in ~/.claude.json, which a running Claude Code rewrites all the time: it must do that itself.
        return [Target(client, home / "settings.json", hooks, None)]
    if client == "codex":
        return [Target(client, home / "hooks.json", hooks, None), Target(client, home / "config.toml", (), None)]
    return [Target(client, home / "settings.json", (*hooks, server), None, allows_comments=True)]
