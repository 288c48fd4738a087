"""What is wrong, and what can safely be fixed. Only `fix_findings` writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from memsync import __version__
from memsync.agents.actions import check
from memsync.agents.wire import list_servers
from memsync.check.survey import list_unreadable, summarize
from memsync.errors import MemsyncError, blaming
from memsync.format import jsonl, merge
from memsync.git import attributes, conflict
from memsync.git.install import find_rule, find_states, list_stale_roots, read_noted
from memsync.index import static
from memsync.memories import audit
from memsync.memories.links import find_dangling
from memsync.memories.lost import find_dropped, find_lost, find_returned
from memsync.memories.project import Project
from memsync.records import shown_id
from memsync.setup.client_status import check_server, is_ours, survey
from memsync.setup.notes import describe_unknown
from memsync.store import checkout, files, workflow
from memsync.store.checkout import Checkout
from memsync.store.local_history import find_lost_folders
from memsync.store.places import Layout
from memsync.store.store import Store
from memsync.store.tree import Tree
from memsync.system.texts import count, one_line

Level = Literal["error", "warning", "note"]
_NAMED: Final = 5  # ids of memories that one line names
_TEXT: Final = 60  # letters of a text that tell which it is


class Finding(NamedTuple):
    """One thing to know. `fixable`: `doctor --fix` fixes it without losing anything."""

    level: Level
    where: str
    what: str
    fixable: bool = False


def examine(project: Project) -> list[Finding]:
    """Return what a look at every store, the settings and git shows."""
    found = [Finding("warning", "settings", text) for text in project.loaded.warnings]
    found += [Finding("warning", "stores", text) for text in project.layout.warnings]
    if project.layout.root is None and not project.layout.refused:
        found.append(Finding("note", str(project.layout.start), "a bare repository: no project memories"))
    if project.layout.home is None:
        found.append(Finding("warning", "HOME", "no home directory: no global or private memories"))
    found += _examine_trust(project)
    found += _find_secrets(project)
    for store in project.stores.values():
        try:
            found += _examine_store(project, store)
        except MemsyncError as error:
            found.append(Finding("error", str(store.place.memories), str(error)))
    found += _examine_skills(project)
    found += _find_lost(project)
    if root := project.layout.root:
        tree = Tree(root)
        found += [Finding("warning", "instructions", what) for what in list_unreadable(root, tree=tree)]
        found += [Finding("note", "instructions", wrong) for wrong in (summarize(root, tree),) if wrong]
    found += _examine_clients(project)
    found += _examine_servers(project)
    if project.settings.embedder == "builtin" and not static.StaticEmbedder(static.BUILTIN).intact():
        what = "damaged, so recall by meaning is unreliable; install memsync again"
        found.append(Finding("error", str(static.BUILTIN), what))
    return found


def _examine_trust(project: Project) -> Iterator[Finding]:
    for one in workflow.find_waiting(project.layout, project.loaded):
        what = "waits for your approval, and does nothing; `memsync trust --show` shows it"
        yield Finding("note", one.name, what)
    found = workflow.load(project.layout)
    steps = [step for some in found.steps.values() for step in some]
    wrong = [f"{step.source}: {why}; `memsync workflow validate` checks it" for step in steps if (why := check(step))]
    for problem in dict.fromkeys((*found.problems, *wrong)):
        yield Finding("warning", "workflows", problem)


def _examine_clients(project: Project) -> Iterator[Finding]:
    clients = survey(project)
    if (server := check_server(project, clients)) and not server.answers:
        yield Finding("error", "memsync mcp", str(server))
    for client in clients:
        if is_ours(project, client):  # connected, so what is wrong about it is worth a word
            for note in client.notes:
                yield Finding("warning", client.client, note)
    yield from (Finding("note", title, what) for title, what in describe_unknown(project))


def _examine_servers(project: Project) -> Iterator[Finding]:
    for one in list_servers(project.layout):
        name = f"memsync {one['kind']}".strip()
        if not one["kind"]:
            what = "does not say what it is, so that each hook waits for it in vain; end it"
            yield Finding("warning", f"pid {one['pid']}", what)
        elif one["version"] != __version__:
            what = f"is of version {one['version']} and answers no hook of {__version__}; start it anew"
            yield Finding("note", f"{name} (pid {one['pid']})", what)
        elif one["kind"] == "serve":
            yield Finding("note", f"{name} (pid {one['pid']})", "answers the hooks of this project")


def _find_secrets(project: Project) -> list[Finding]:
    try:
        shown = audit.current(project)
    except MemsyncError:
        return []  # a file that cannot be read, which another finding says
    hint = "take it out, or see docs/security.md"
    return [Finding("warning", exposure.where, f"{exposure.what}; {hint}") for exposure in shown]


def _examine_skills(project: Project) -> Iterator[Finding]:
    for entry in project.skills.list():
        if why := entry.flagged:
            yield Finding("warning", str(entry.path), f"{why}; read it before an agent does")
    for checked in project.skills.validate():
        if wrong := [one for one in checked.problems if not one.harmless]:
            what = f"{wrong[0].why}; `memsync skill validate` shows {count(len(wrong), 'problem')}"
            yield Finding("warning", f"{checked.path}:{wrong[0].number}", what)


def _find_lost(project: Project) -> Iterator[Finding]:
    try:
        lost, returned, dropped = find_lost(project), find_returned(project), find_dropped(project)
    except MemsyncError:
        return  # a file or a repository that cannot be read, which another finding says
    for scope, store in project.stores.items():
        where, in_git = str(store.place.memories), scope == "project"
        if ids := [shown_id(one.memory.id) for one in lost if one.scope == scope]:
            are = "memory that was written here is" if len(ids) == 1 else "memories that were written here are"
            gone = "neither in the file nor in any commit" if in_git else "not in the file"
            what = f"{len(ids)} {are} {gone}, {_name(ids)}; `memsync restore` brings them back, `memsync forget --purge ID` forgets one for good"
            yield Finding("note", where, what)
        if ids := [
            f"{shown_id(one.memory.id)} “{one_line(one.memory.content, _TEXT)}”"
            for one in returned
            if one.scope == scope
        ]:
            are = "memory that was forgotten here is" if len(ids) == 1 else "memories that were forgotten here are"
            why = ", and no commit has the removal" if in_git else ""
            what = f"{len(ids)} {are} back{why}, {_name(ids)}; `memsync forget ID` forgets one again"
            yield Finding("note", where, what)
        if dropped and in_git:
            what = (
                f"HEAD has {count(len(dropped), 'memory')} that the file has not, and nobody forgot here, {_name(dropped)}; "
                "the next commit removes them, and `memsync restore ID --at HEAD` brings one back"
            )
            yield Finding("note", where, what)


def _name(ids: Sequence[str]) -> str:
    return f"{', '.join(ids[:_NAMED])}{', …' if len(ids) > _NAMED else ''}"


def _examine_store(project: Project, store: Store) -> Iterator[Finding]:
    store.refresh()
    yield from _examine_lines(store)
    yield from _examine_memories(project, store)
    if not store.is_canonical():
        yield Finding("note", str(store.place.memories), "not in canonical form yet", fixable=True)
    if store.waiting and not store.on_commit:
        until = store.hold() or (
            "the next write, commit or `memsync sync` takes them along"
            if store.is_due()
            else "they belong to a branch that has these memories"
        )
        what = f"{count(store.waiting, 'memory')} {'waits' if store.waiting == 1 else 'wait'}; {until}"
        yield Finding("note", str(store.place.pending), what)
    if store.place.private:
        for open_path, mode, wanted in _find_open_paths(store):
            yield Finding("warning", str(open_path), f"mode {mode:o}, should be {wanted:o}", fixable=True)
    elif store.place.directory.exists():
        yield from _examine_tree(project, store)
        yield from _examine_git(project)


def _examine_lines(store: Store) -> Iterator[Finding]:
    path = store.place.memories
    lines = jsonl.read_lines(files.read(store.path)[0])
    split = {} if jsonl.in_conflict(lines) else merge.find(lines)
    for id_, sides in split.items():
        what = f"a merge of text left {len(sides)} versions of {shown_id(id_)}, which are merged; the next write makes it so"
        yield Finding("note", str(path), what, fixable=True)
    for problem in store.problems():
        level: Level = "note" if problem.harmless else "warning"
        is_fixable = problem.harmless or problem.is_conflict
        yield Finding(level, f"{path}:{problem.number}", problem.why, fixable=is_fixable)


def _examine_memories(project: Project, store: Store) -> Iterator[Finding]:
    for id_, memory in sorted(store.memories().items()):
        where = f"{store.place.memories}: {shown_id(id_)}"
        if why := project.screening.screen(project.entry(store.place.scope, memory)).flagged:
            what = f"{why}; no agent is given it unasked. Read it, then `memsync approve {shown_id(id_)}` or `memsync forget {shown_id(id_)}`"
            yield Finding("note", where, what)
        if shown_id(id_) != id_:
            what = "its id has characters other than letters, digits and dashes, so it is shown under this name; give it another id"
            yield Finding("note", where, what)
        if memory.conflict_of:
            what = f"is the other text of {shown_id(memory.conflict_of)}, kept by a merge; `memsync review --kind conflict` asks which to keep"
            yield Finding("note", where, what)
        if memory.archived_at is None and (memory.links or "[[" in memory.content):
            dangling = find_dangling(project, store.place.scope, memory)
            yield from (Finding("note", where, f"dangling link {why}") for why in dangling)
        if memory.anchors and memory.archived_at is None:
            for why in project.mark(project.entry(store.place.scope, memory)).stale:
                what = f"may be out of date: {why}; if it is still true, `memsync anchor {shown_id(id_)}`, else edit it"
                yield Finding("note", where, what)


def _find_open_paths(store: Store) -> Iterator[tuple[Path, int, int]]:
    """Yield what others than the user may read, with its mode and the one that it should have."""
    for path, wanted in _find_private_paths(store) if os.name == "posix" else ():
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield path, mode, wanted


def _find_private_paths(store: Store) -> Iterator[tuple[Path, int]]:
    place = store.place
    projects = [place.directory / "projects"] if place.scope == "global" else []
    for path in (place.directory, place.local, *projects):
        if path.is_dir():
            yield path, 0o700
    for path in (place.memories, place.config, *(place.local.iterdir() if place.local.is_dir() else ())):
        if path.is_file():
            yield path, 0o600


def _examine_tree(project: Project, store: Store) -> Iterator[Finding]:
    place = store.place
    if project.layout.git and place.memories.exists() and checkout.is_ignored(place.memories):
        yield Finding(
            "warning",
            str(place.memories),
            "git ignores it, so no commit has it, and `git clean -x` deletes it; take it out of .gitignore, or `memsync config --stealth on`",
        )
    is_tracked = project.layout.git and checkout.is_tracked(place.memories)
    if project.settings.stealth and place.memories.exists() and not is_tracked:
        what = "stealth is on, but the file is in the work tree; run `memsync config --stealth on` again"
        yield Finding("warning", str(place.memories), what)


def _examine_git(project: Project) -> Iterator[Finding]:
    if project.layout.git is None or project.layout.root is None:
        return
    for name, path, number in find_lost_folders(project.layout.git):
        what = (
            f"the folder of the worktree {name} is gone, {path}, and {count(number, 'change')} of memories wait there: "
            "`git worktree prune`, and the next write takes them over; or `git worktree repair` where you moved it to"
        )
        yield Finding("note", "git", what)
    noted = read_noted(Checkout(project.layout.git.root))
    rule = find_rule(project.layout)
    yield from (Finding("note", "git", what) for what in (rule.describe_filter() if rule else ()))
    for what in (*(rule.find_problems() if rule else ()), *list_stale_roots(project.layout, noted)):
        yield Finding("note" if noted is None else "warning", "git", what)
    if noted is None or project.settings.stealth:
        return  # nobody asked for hooks in this clone
    hooks, states = find_states(project.layout, noted)
    for name, state in states.items():
        if state != "installed":
            what = f"the hook {name} of memsync is {state}; `memsync git install` installs it"
            yield Finding("note", str(hooks.directory), what)


def fix_findings(project: Project) -> list[str]:
    """Do what is safe, and say what was done: conflicts resolved, canonical form, missing ids, modes.

    Duplicates are collapsed to their last line; the others stay in the local history.
    """
    done = list(_fix_git(project.layout))
    for store in project.stores.values():
        if not store.place.directory.exists():
            continue
        done += _fix_file(project, store)
        for path, _, wanted in _find_open_paths(store) if store.place.private else ():
            with blaming(path):
                path.chmod(wanted)
            done.append(f"{path}: mode {wanted:o}")
    return done


def _fix_git(layout: Layout) -> Iterator[str]:
    """Let git take what a filter makes of memories as bytes."""
    if layout.git is None or layout.project is None:
        return
    git, name = checkout.find_checkout(layout.project.memories)
    rule = attributes.read_rule(git, name, has_driver=True)  # also before git has the file
    if not rule.damages:
        return
    path = files.resolve_inside(layout.project.directory.parent / ".gitattributes", layout.project.tree)
    data, _ = files.read(path)
    if (new := attributes.take_as_bytes(data)) != data:
        files.rewrite(path, new, was=data)
        yield f"{path}: git takes what the filter {rule.filter} makes as bytes; `git add --renormalize {rule.path}` and commit both"


def _fix_file(project: Project, store: Store) -> Iterator[str]:
    if store.place.scope == "project" and project.settings.stealth:
        return
    store.refresh()
    if any(problem.is_conflict for problem in store.problems()) and conflict.resolve(store).changed:
        yield f"{store.place.memories}: resolved the git conflict; every text of both sides is kept"
    nameless = store.nameless()
    if nameless:
        with store.writing():
            store.update({id_: {} for id_ in nameless})
        yield f"{store.place.memories}: wrote {len(nameless)} missing ids"
    if store.on_commit and store.is_canonical() and not store.problems():
        return  # what waits for a commit is in order
    exported = store.export(collapse=True)
    if exported.changed:
        yield f"{store.place.memories}: put in canonical form"
    if exported.held:
        yield f"{store.place.memories}: left alone; {exported.held}"
