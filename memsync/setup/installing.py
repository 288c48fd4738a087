"""`memsync init` and `uninstall` as a whole: the store, git and the clients.

Whatever can refuse is asked before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memsync.clients import facts
from memsync.errors import MemsyncError, StoreError
from memsync.git import attributes
from memsync.git import install as git
from memsync.git.install import NAMES as HOOKS
from memsync.memories.project import Project
from memsync.records import Scope
from memsync.setup import clients as install
from memsync.setup import parked, repository, stealth
from memsync.setup.client_status import ServerStatus, ask_server
from memsync.setup.clients import Change, detect
from memsync.setup.notes import describe_unknown
from memsync.store import checkout, files, filters
from memsync.store.checkout import Checkout


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was done, or would be; whether the server answers; what the user has to do; how to take it back."""

    done: tuple[str, ...]
    clients: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    undo: str = ""
    server: ServerStatus | None = None
    dry_run: bool = False


def choose(project: Project, names: Sequence[str]) -> list[str]:
    """Return the clients that *names* (all, none, or their own) mean; without one, those that are used here."""
    if not names:
        return detect(project)
    meant = {*names, *(facts.ALL if "all" in names else ())}
    return [name for name in facts.list_names() if name in meant]


def init(
    project: Project,
    clients: Sequence[str],
    *,
    stealth: bool,
    dry_run: bool,
    git_hooks: bool = True,
    allow_tools: bool = False,
    user: bool = False,
) -> Installed:
    """Make the project ready for memories and tell git and *clients* of it. Does nothing the second time.

    With *allow_tools* the clients read with our tools without asking. Under *stealth* nothing of ours is in the work tree: the clients learn it
    from the user's own settings, as they do for the *user*, wherever below the root they are started.

    Raises:
        SettingsRefused: a client's settings cannot be edited; nothing was written.
        NoStore, GitFailed, StoreError
    """
    scope: Scope = "private" if stealth else "project"
    moves_out, stay = _plan_leaving(project) if stealth else ([], [])
    clients = [name for name in facts.list_names() if name in clients or name in _list_clients(moves_out)]
    in_home = stealth or user
    changes = install.plan(project, clients, stealth=in_home, allow_tools=allow_tools)
    is_switched = stealth and not project.settings.stealth
    if dry_run:
        switched = ["switched stealth on, and moved the project's memories out of the work tree"] if is_switched else []
        done = [*switched, *(step.text for step in repository.steps(project, scope))]
    else:
        done = _go_private(project, moves_out, move=True, is_switched=is_switched) if stealth else []
        done += repository.init(project)
        _connect(project, clients, changes, stealth=in_home)
    hooked, why_not = _install_git_hooks(project, dry_run=dry_run) if git_hooks and not stealth else ([], [])
    server, line = _ask_server(project, clients, dry_run=dry_run)
    return Installed(
        done=(*done, *hooked, *map(str, moves_out), *map(str, changes)),
        clients=tuple(clients),
        notes=(
            *stay,
            *why_not,
            *filter(None, [line]),
            *_list_next_steps(clients, changes, stealth=in_home),
            *_warn(project, changes),
            *(f"{title} {what}" for title, what in describe_unknown(project)),
        ),
        server=server,
        undo=_make_undo(clients, hooked=bool(hooked)),
        dry_run=dry_run,
    )


def _connect(project: Project, clients: Sequence[str], changes: Sequence[Change], *, stealth: bool) -> None:
    install.apply(project, changes)
    if users := [name for name in clients if stealth or facts.find(name).is_personal]:
        install.enroll(project, users)


def turn_stealth(project: Project, on: bool, *, move: bool | None, plan: stealth.Off | None = None) -> list[str]:
    """Switch stealth and say what happened; going private takes the clients' settings out of the work tree as well.

    Off puts back what on took away, of the memories of *plan*, else of a plan made now, those that were shared before; with
    *move* those written meanwhile too, and if it is False none.

    Raises:
        SettingsRefused, NoStore, ConfigError, GitFailed, SecretFound, NotShared, StoreError: the setting is as before.
    """
    if on:
        return _turn_on(project, move=move is not False)
    project = stealth.move_to_root(project)
    return _turn_off(project, plan or stealth.plan_off(project), move=move)


def _turn_on(project: Project, *, move: bool) -> list[str]:
    moves_out, stay = _plan_leaving(project)
    clients = _list_clients(moves_out)
    changes = install.plan(project, clients, stealth=True)
    done = _go_private(project, moves_out, move=move, is_switched=True)
    _connect(project, clients, changes, stealth=True)
    return [*done, *map(str, moves_out), *map(str, changes), *stay, *_list_next_steps(clients, changes, stealth=True)]


def _go_private(project: Project, moves_out: Sequence[Change], *, move: bool, is_switched: bool) -> list[str]:
    base = stealth.base_of(project) if project.layout.root else Path()
    also = [parked.plan_taking(base, change.target.path, change.after) for change in moves_out]
    new = [client for client in _list_clients(moves_out) if not install.find_users(project, client)[0]]
    if is_switched:
        return stealth.turn_on(project, move=move, also=also, clients=new)
    stealth.take(project, also, new)
    return []


def _turn_off(project: Project, plan: stealth.Off, *, move: bool | None) -> list[str]:
    stealth.refuse_other_files(project)
    back = stealth.put_back(project)
    done = stealth.turn_off(project, plan, back.park if back else None, move=move)
    if back:
        done += _put_back_what_changed(project, back.changed)
    mine = [name for name in facts.list_names() if not facts.find(name).is_personal]
    done += map(str, _leave_home(project, mine))
    return [*done, *stealth.finish(project)]


def _put_back_what_changed(project: Project, paths: Sequence[Path]) -> list[str]:
    changes = [
        change for change in install.plan(project, facts.list_names(), stealth=False) if change.target.path in paths
    ]
    install.apply(project, changes)
    hooks = _install_git_hooks(project, dry_run=False) if any(path.name in HOOKS for path in paths) else ([], [])
    return [*map(str, changes), *hooks[0], *hooks[1]]


def _leave_home(project: Project, clients: Sequence[str]) -> list[Change]:
    """Take our entries out of the user's own settings of *clients*, unless other private projects use them."""
    others = _count_others(project, clients)
    changes = install.plan_removal(project, [client for client, count in others.items() if not count], stealth=True)
    install.apply(project, changes)
    if others:
        install.enroll(project, list(others), leave=True)
    return changes


def _count_others(project: Project, clients: Sequence[str]) -> dict[str, int]:
    """Return how many other private projects use the user's own settings of each of *clients* that this one uses."""
    users = {client: install.find_users(project, client) for client in clients}
    return {client: count for client, (is_used, count) in users.items() if is_used}


def _install_git_hooks(project: Project, *, dry_run: bool) -> tuple[list[str], list[str]]:
    if project.layout.git is None or project.layout.root is None:
        return [], []
    try:
        hooks, states = git.find_states(project.layout, git.read_noted(Checkout(project.layout.git.root)))
        lacking = [name for name, state in states.items() if state != "installed"]
        said = git.install(project.layout) if not dry_run else []
    except MemsyncError as error:
        return [], [f"git: the hooks were not installed: {error}"]
    if hooks.keeper == "lefthook":
        return [], said
    return [f"git: installed the hooks {', '.join(lacking)}"] if lacking else [], []


def _make_undo(clients: Sequence[str], *, hooked: bool) -> str:
    if set(clients) >= set(facts.ALL):
        return "memsync uninstall"
    agents = " ".join(["memsync uninstall", *(f"--agent {client}" for client in clients)])
    return " && ".join(filter(None, (agents if clients else "", "memsync git uninstall" if hooked else "")))


def _plan_leaving(project: Project) -> tuple[list[Change], list[str]]:
    """Return how our entries leave the work tree, and which stay because git tracks the file."""
    if project.layout.root is None:
        return [], []
    changes, tracked = install.plan_removal(project, facts.list_names(), stealth=False), []
    for change in changes if project.layout.git else ():
        staged = checkout.read_staged(change.target.path)
        if staged is not None and install.list_entries(change.target, staged.decode("utf-8", "replace")):
            tracked.append(change)  # the team's
    stay = [f"{change.target.path} is tracked by git and stays as it is" for change in tracked]
    return [change for change in changes if change not in tracked], stay


def _list_next_steps(clients: Sequence[str], changes: Sequence[Change], *, stealth: bool) -> list[str]:
    found = [facts.find(name) for name in clients if name in _list_clients(changes)]
    after = [client.after_private if stealth else client.after for client in found]
    blind = [] if stealth else [client.title for client in found if not client.looks_above]
    below = f"these settings are not read in a subfolder by {' and '.join(blind)}; `memsync init --user` connects there, too"
    return [*(f"next: {text}" for text in after if text), *([below] if blind else [])]


def _list_clients(changes: Sequence[Change]) -> list[str]:
    changed = {change.target.client.name for change in changes}
    return [name for name in facts.list_names() if name in changed]


def _ask_server(project: Project, clients: Sequence[str], *, dry_run: bool) -> tuple[ServerStatus | None, str]:
    """Return whether the server answers that *clients* were told of, and a line about it; nothing where nothing was done."""
    if not clients:
        return None, "no agent was found here; `memsync init --agent claude` (or codex, gemini, all) connects one"
    if dry_run:
        return None, ""
    found = ask_server(project.layout.start, project.env)
    return found, f"the MCP server {found}"


def _warn(project: Project, changes: Sequence[Change]) -> list[str]:
    """Say what the user allowed for themselves and git would take for everybody, and what git does to the memories."""
    store, said = project.layout.project, []
    if project.layout.git and store:
        git, path = checkout.find_checkout(store.memories)
        name, encoding = filters.read_conversions(git, path)
        said += [f"git's filter {name} is on the memories: each clone needs it to read them"] if name else []
        said += [filters.explain_encoding(path, encoding)] if encoding else []
    paths = [change.target.path for change in changes if change.target.path.name == "settings.local.json"]
    return said + [
        f"{path} is what you allowed, for you alone; keep it out of git"
        for path in paths
        if project.layout.git and not checkout.is_ignored(path)
    ]


def uninstall(project: Project, clients: Sequence[str], *, dry_run: bool, git_hooks: bool = False) -> Installed:
    """Take our entries out of the settings of *clients*: the project's, and the user's if only this project needs them.

    With *git_hooks* those of git as well.

    Raises:
        SettingsRefused: settings cannot be edited; nothing was written.
        StoreError
    """
    in_tree = install.plan_removal(project, clients, stealth=False) if project.layout.root else []
    others = _count_others(project, clients)
    of_user = install.plan_removal(project, [client for client, count in others.items() if not count], stealth=True)
    notes = [
        f"{facts.find(client).title}: your own settings keep memsync, because {count} other private projects use it"
        for client, count in others.items()
        if count
    ]
    if not dry_run:
        install.apply(project, in_tree)
        _leave_home(project, clients)
    hooks = _remove_git_hooks(project, dry_run=dry_run) if git_hooks else []
    done = (*map(str, [*in_tree, *of_user]), *hooks)
    left = _describe_rest(project) if git_hooks and done else []
    return Installed(done=done, clients=tuple(clients), notes=(*notes, *left), dry_run=dry_run)


def _describe_rest(project: Project) -> list[str]:
    """Return what is left after everything else was removed, so that nobody has to look for it."""
    shared = project.layout.project
    if shared is None or not shared.directory.is_dir():
        return []
    path = shared.directory.parent / ".gitattributes"
    rows: list[bytes] = []
    with suppress(StoreError):
        rows = files.read(path)[0].splitlines()
    also = f", and our lines in {path}" if any(map(attributes.is_ours, rows)) else ""
    return [f"left: {shared.directory} with your memories{also}; remove by hand what you no longer need"]


def _remove_git_hooks(project: Project, *, dry_run: bool) -> list[str]:
    if project.layout.git is None or project.layout.root is None:
        return []
    found = git.status(project.layout)
    there = [name for name, state in found["hooks"].items() if state != "missing"]
    done = [f"git: removed the hooks {', '.join(there)}"] if there else []
    if found["driver"] and not there:  # as `git install --no-hooks` leaves it
        done = ["git: removed our merge driver from its configuration"]
    if done and not dry_run:
        git.uninstall(project.layout)
    return done


def read_hook_states(project: Project) -> dict[str, str]:
    """Return the state of each of our hooks of git: installed, outdated, off or missing; nothing where they have no use."""
    if project.layout.git is None or project.layout.root is None or project.settings.stealth:
        return {}
    try:
        return git.find_states(project.layout, git.read_noted(Checkout(project.layout.git.root)))[1]
    except MemsyncError:
        return {}
