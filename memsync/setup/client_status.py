"""How each client is connected: by the project's settings, the user's, or a plugin. Reads only."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from memsync import origin
from memsync.clients import facts
from memsync.clients.claude import LOCAL_SERVER
from memsync.clients.facts import SERVER, Client
from memsync.errors import MemsyncError
from memsync.memories.project import Project
from memsync.setup import toml_entries
from memsync.setup.clients import EDITORS, Target, detect, find_users, home_of, list_targets, read
from memsync.setup.entries import is_server, name_of
from memsync.store import checkout, files
from memsync.system import limits, programs
from memsync.system.limits import read_json

Wiring = Literal["installed", "stale", "missing", "none"]
_PATIENCE: Final = 30.0  # seconds, as long as the clients wait
_HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "memsync", "version": "0"}}
_TALK: Final = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
)


class Source(NamedTuple):
    """One place that tells a client of memsync."""

    where: str
    hooks: Wiring
    server: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStatus:
    """How one client is wired. `where`: the files, or the plugin, that say so; `notes`: what to do.

    `block` is for a file that any client reads, and has our block instead of hooks and server.
    """

    client: str
    used: bool
    hooks: Wiring
    mcp: Wiring
    block: Wiring = "none"
    where: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def survey(project: Project) -> list[ClientStatus]:
    """Return the status of every client."""
    used = detect(project)
    return [_survey_one(project, client, used=client.name in used) for client in facts.every()]


def check_server(project: Project, found: Iterable[ClientStatus]) -> ServerStatus | None:
    """Return whether the server answers that clients of *found* are told of; None if no client is."""
    if not any(client.mcp == "installed" for client in found):
        return None
    return ask_server(project.layout.start, project.env)


def is_ours(project: Project, found: ClientStatus) -> bool:
    """Tell whether the client is connected for this project, not only by the user's own settings for other ones."""
    root = project.layout.root
    here = [where for where in found.where if where.endswith("(plugin)") or (root and Path(where).is_relative_to(root))]
    return bool(here) or (bool(found.where) and find_users(project, found.client)[0])


def _survey_one(project: Project, client: Client, *, used: bool) -> ClientStatus:
    sources: list[Source] = []
    notes: list[str] = []
    for target in [*list_targets(client, project, stealth=False), *list_targets(client, project, stealth=True)]:
        try:
            sources += _look_in_file(target)
        except MemsyncError as error:
            notes.append(str(error))
        except ValueError as error:
            notes.append(f"{target.path} cannot be read: {error}")
    notes += _find_leaks(project, sources)
    sources += _look_elsewhere(project, client)
    order: tuple[Wiring, ...] = ("installed", "stale", "missing")
    hooks: Wiring = min((source.hooks for source in sources), key=order.index, default="missing")
    block: Wiring = hooks if client.name in facts.BLOCKS else "none"
    hooks = hooks if client.hooks else "none"
    server: Wiring = "installed" if any(source.server for source in sources) else "missing"
    server = server if block == "none" else "none"
    if used or sources:
        notes += _advise(
            client,
            block if block != "none" else hooks,
            server,
            is_wired=bool(sources),
            stealth=project.settings.stealth,
        )
    notes += _find_blindness(project, client, sources)
    where = tuple(source.where for source in sources)
    return ClientStatus(
        client=client.name, used=used, hooks=hooks, mcp=server, block=block, where=where, notes=tuple(notes)
    )


def _find_blindness(project: Project, client: Client, sources: Iterable[Source]) -> Iterator[str]:
    """Yield that *client*, started where we are, reads none of the project's settings, if it has its hooks there only."""
    root, start = project.layout.root, project.layout.start
    hooked = [Path(source.where.removesuffix(" (plugin)")) for source in sources if source.hooks == "installed"]
    if client.looks_above or root is None or start == root or not hooked:
        return
    if all(path.is_relative_to(root) for path in hooked):
        yield f"started in {start} it reads no hooks of the project; `memsync init --user --agent {client.name}` connects it there"


def _find_leaks(project: Project, sources: Iterable[Source]) -> Iterator[str]:
    """Yield what is of ours in the work tree although stealth is on, unless git tracks it."""
    if project.settings.stealth and (root := project.layout.root):
        for path in (Path(source.where) for source in sources):
            if path.is_relative_to(root) and not (project.layout.git and checkout.is_tracked(path)):
                yield f"stealth is on, but {path} is in the work tree; `memsync init --stealth` moves what belongs to memsync"


def _advise(client: Client, hooks: Wiring, server: Wiring, *, is_wired: bool, stealth: bool) -> Iterator[str]:
    again = f"`memsync init --agent {client.name}`"
    if not is_wired:
        yield f"{again} connects it"
    elif client.name in facts.BLOCKS and hooks == "stale":
        yield "`memsync sync` brings our block up to date"
    elif hooks not in ("installed", "none"):
        yield f"{again} writes its hooks{' anew' if hooks == 'stale' else ''}"
    elif server == "missing":
        yield f"`{LOCAL_SERVER}` adds the tools" if client.name == "claude" and stealth else f"{again} adds the tools"


def _look_in_file(target: Target) -> Iterator[Source]:
    _, text = read(target)
    found = EDITORS[target.file.form].compare(text, target.wanted)
    wanted = [name_of(one) for one in target.wanted if one.kind in ("hooks", "block")]
    present = [event for event in found.present if event in wanted]
    if found.present or found.stale:
        whole = present == wanted and not found.stale
        hooks: Wiring = "missing" if not (present or found.stale) else "installed" if whole else "stale"
        yield Source(str(target.path), hooks, server=SERVER in found.present)


def _look_elsewhere(project: Project, client: Client) -> Iterator[Source]:
    """Yield what tells *client* of memsync and is not ours to write: a plugin, Claude Code's own registry."""
    home = home_of(client, project.env)
    if home is None:
        return
    if client.name == "gemini" and (home / "extensions" / "memsync" / "gemini-extension.json").is_file():
        yield Source(f"{home / 'extensions' / 'memsync'}", "installed", server=True)
    if client.name == "codex" and _enables(_read_mapping(home / "config.toml").get("plugins"), "enabled"):
        yield Source(f"{home / 'config.toml'} (plugin)", "installed", server=True)
    if client.name == "claude":
        yield from _look_elsewhere_in_claude(home, project.layout.root)


def _look_elsewhere_in_claude(home: Path, root: Path | None) -> Iterator[Source]:
    for directory in (home, *([root / ".claude"] if root else ())):
        for path in (directory / "settings.json", directory / "settings.local.json"):
            if _enables(_read_mapping(path).get("enabledPlugins")):
                yield Source(f"{path} (plugin)", "installed", server=True)
    registry = home.parent / ".claude.json" if home.name == ".claude" else home / ".claude.json"
    if _registers(_read_mapping(registry), root):
        yield Source(str(registry), "missing", server=True)


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        text = files.read(path)[0].decode()
        found = toml_entries.read(text) if path.suffix == ".toml" else limits.read_json(text)
    except (MemsyncError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _enables(plugins: object, key: str = "") -> bool:
    """Tell whether our plugin, from whatever marketplace, is switched on in *plugins*."""
    if not isinstance(plugins, dict):
        return False
    ours = [value for name, value in plugins.items() if name.partition("@")[0] == "memsync"]
    return any((value.get(key, True) if isinstance(value, dict) else value) is True for value in ours)


def _registers(registry: Mapping[str, Any], root: Path | None) -> bool:
    projects = registry.get("projects")
    project = projects.get(str(root)) if isinstance(projects, dict) else None
    for holder in (registry, project):
        servers = holder.get("mcpServers") if isinstance(holder, dict) else None
        if isinstance(servers, dict) and is_server(servers.get(SERVER)):
            return True
    return False


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
    for line in done.stdout.splitlines():
        with suppress(ValueError, KeyError, TypeError):
            answer = read_json(line)
            if answer["id"] == _TALK[-1]["id"] and answer["result"]["tools"]:
                return ServerStatus(True)
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"it ended with code {done.returncode}"]
    return ServerStatus(False, errors[-1].removeprefix("memsync: "))
