"""Which settings files of a client memsync writes to: the project's, under stealth the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memsync.clients import known
from memsync.clients.facts import Client, Entry, File
from memsync.memories.project import Project
from memsync.setup.block import make_entry
from memsync.system.home import find_home


class Target(NamedTuple):
    """One settings file of a client and what it must hold. *tree* is what its links may not leave; None for a file of the user."""

    client: Client
    path: Path
    wanted: tuple[Entry, ...]
    tree: Path | None
    file: File


def home_of(client: Client, env: Mapping[str, str]) -> Path | None:
    """Return the directory in which *client* keeps what is the user's."""
    if chosen := env.get(client.home.variable):
        return Path(os.path.abspath(os.path.expanduser(chosen))) / client.home.inner
    home = find_home(env)
    return Path(home) / client.home.folder if home else None


def detect(project: Project) -> list[str]:
    """Return the clients with hooks that the user has used, or that the project has files of."""
    root = project.layout.root

    def is_used(client: Client) -> bool:
        home = home_of(client, project.env)
        in_project = root is not None and any((root / sign).exists() for sign in client.signs)
        return in_project or (home is not None and home.is_dir())

    return [client.name for client in known.every() if client.hooks and is_used(client)]


def list_targets(client: Client, project: Project, *, stealth: bool, allow_tools: bool = False) -> list[Target]:
    """Return the files of *client*: the project's or, as nothing of ours may be in the tree then, the user's.

    With *allow_tools* also what lets the client use the reading tools without asking.
    """
    tree = None if stealth else project.layout.root
    folder = tree or (home_of(client, project.env) if stealth else None)
    found: dict[Path, Target] = {}
    for file in client.files if folder else ():
        path = _choose_path(folder, file, stealth=stealth) if folder else None
        wanted = tuple(entry for entry in file.entries if allow_tools or entry.kind != "allowed tools")
        if file.form == "block" and path:
            wanted = (make_entry(project, client.name),)
        if path and wanted:
            before = found[path].wanted if path in found else ()
            found[path] = Target(client, path, (*before, *wanted), tree, file)
    return list(found.values())


def _choose_path(folder: Path, file: File, *, stealth: bool) -> Path | None:
    name = file.user if stealth else file.project
    names = [folder / other for other in (name, *(() if stealth else file.also)) if other]
    return next((path for path in names if path.exists()), names[0] if names else None)
