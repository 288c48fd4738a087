"""Switching stealth: what leaves the work tree and what may come back, planned as data first.

`turn_on` keeps what it takes, byte for byte (`parked`), and `put_back` gives
it back. What was shared before comes back by itself, and what was written
under stealth where somebody says so; nothing that anybody wanted private
(`bystealth`), or that is new and `share` would refuse.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from memsync.errors import ConfigError, NotShared, SecretFound, StoreNotWritable
from memsync.format import codec, jsonl, merge
from memsync.git import attributes, install
from memsync.learn import candidates
from memsync.memories import sharing
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.memories.stores import keep_key
from memsync.records import Memory
from memsync.setup import parked
from memsync.setup.parked import Parked, Taken
from memsync.setup.repository import GITIGNORE, steps
from memsync.skills.store import SkillStore
from memsync.store import bystealth, checkout, config, files, local_history, settings
from memsync.store.places import Place
from memsync.store.state import State
from memsync.store.store import Store
from memsync.system.texts import count

_KEY: Final = "memory_sync.stealth"

R = TypeVar("R", bound=Project)


class Stay(NamedTuple):
    """A memory that stays private although stealth made it private, and why."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Off:
    """What switching stealth off could move into the work tree, what it could not, and how much was private anyway.

    `back` was shared before; of it nobody has touched the `unchanged` ids. `moves` were written under stealth.
    """

    back: tuple[Entry, ...] = ()
    moves: tuple[Entry, ...] = ()
    unchanged: frozenset[str] = frozenset()
    stays: tuple[Stay, ...] = ()
    private: int = 0

    def choose(self, move: bool | None) -> tuple[Entry, ...]:
        """Return what moves: with *move* all that may, with None what was shared before, with False nothing."""
        return () if move is False else (*self.back, *self.moves) if move else self.back


def plan_off(project: Project) -> Off:
    """Return what may come back: what was shared before, or written because stealth was on, and passes the checks of `share`."""
    store = project.store("private")
    project.stores.refresh()
    notes = bystealth.read(store.place.local)
    found = [project.entry("private", memory) for memory in store.memories().values()]
    ours = [entry for entry in found if bystealth.note_of(entry.memory) in notes]
    park = parked.load(_park_directory(project))
    shared = park.shared if park else {}
    unchanged = frozenset(entry.id for entry in ours if shared.get(entry.id) == _hash_record(entry.memory))
    changed = (entry for entry in ours if entry.id not in unchanged)
    refused = {entry.id: why for entry in changed if (why := _explain_refusal(project, entry))}
    free = [entry for entry in ours if entry.id not in refused]
    return Off(
        back=tuple(entry for entry in free if entry.id in shared),
        moves=tuple(entry for entry in free if entry.id not in shared),
        unchanged=unchanged,
        stays=tuple(Stay(id_, why) for id_, why in refused.items()),
        private=len(found) - len(ours),
    )


def _hash_record(memory: Memory) -> str:
    return sha256(codec.encode(memory)).hexdigest()


def _explain_refusal(project: Project, entry: Entry) -> str:
    try:
        sharing.check(project, entry)
    except SecretFound as found:
        return f"it looks like it holds a secret ({found.what})"
    except NotShared as error:
        return str(error)
    return ""


def base_of(project: Project) -> Path:
    """Return the directory that the paths of what is taken are relative to: the top of the checkout, else the root."""
    base = project.layout.git.root if project.layout.git else project.layout.root
    assert base is not None
    return base


def move_to_root(project: R) -> R:
    """Return *project* with the root that something was taken out of: without its `.gobby` it is not found any more."""
    layout = project.layout
    if layout.private is None or layout.root is None:
        return project
    upwards = [path for path in (layout.start, *layout.start.parents) if path.is_relative_to(layout.root)]
    local = layout.private.local
    root = next((path for path in upwards if parked.directory_of(local, path).is_dir()), layout.root)
    if root == layout.root:
        return project
    return type(project)(layout._replace(root=root), clock=project.clock, env=project.env)


def turn_on(project: Project, *, move: bool, also: Sequence[Taken], clients: Sequence[str]) -> list[str]:
    """Switch stealth on, and say what happened; *also* are files of the *clients* that go.

    With *move* the memories go into the private store, with all that is known
    of them, which leaves nothing of ours in the work tree unless git tracks it.

    Raises:
        NoStore, ConfigError, GitFailed, StoreError: the setting is as before.
    """
    place, shared = project.layout.place("private"), project.layout.project
    keep_key(project.layout)
    done: list[str] = []
    if shared and shared.directory.exists():
        is_tracked = bool(project.layout.git) and checkout.is_tracked(shared.memories)
        ours = [*also, *_find_store_files(project, shared)] if move else also
        done += _leave(project, ours, clients, is_tracked=is_tracked, move=move)
    take(project, also, clients)
    _write_setting(project, place, on=True)
    return ["stealth is on for this project", *done]


def take(project: Project, also: Sequence[Taken], clients: Sequence[str]) -> None:
    """Take *also* out of the work tree, files of *clients*, and keep them for the way back."""
    if also:
        _park(project, also, clients)
    for one in also:
        parked.take(base_of(project), one)


def _write_setting(project: Project, place: Place, *, on: bool) -> None:
    with project.store("private").writing():
        config.store(place, _KEY, on)
    project.reload()


def _leave(
    project: Project, ours: Sequence[Taken], clients: Sequence[str], *, is_tracked: bool, move: bool
) -> list[str]:
    """Take the project's store out of the work tree, as far as that may be. Nothing happens without both locks."""
    shared, stealth = project.store("project"), project.store("private")
    stays = f"{shared.place.memories} is tracked by git and stays as it is; new memories are private"
    if not move:
        _park(project, ours, clients)
        return [stays] if is_tracked else []
    with shared.writing(), stealth.writing():
        data, seen = files.read(shared.path)
        known = {} if is_tracked else {id_: _hash_record(memory) for id_, memory in shared.memories().items()}
        park = _park(project, ours, clients, None if is_tracked or seen == files.ABSENT else data, known)
        if is_tracked and shared.waiting:
            kept = f"{shared.waiting} of its memories wait for a commit in {shared.place.local}, which is kept too"
            return [stays, kept]
        said = [stays] if is_tracked else _move_out(project, shared, stealth)
        if is_tracked or not jsonl.export([*shared.lines().values()]):
            local_history.carry(shared.place.local, stealth.place.local, private=True)
            left = _leave_tree(project, park, is_tracked=is_tracked)
            said += [] if is_tracked else left
        else:
            gone = [id_ for id_ in stealth.memories() if shared.get(id_) is None]
            local_history.drop(shared.place.local, gone, private=False)  # `restore` would bring them back to the tree
            said.append(f"{shared.place.memories} is kept, because it holds lines that are not memories")
    for store in (stealth, shared):
        if store.in_log_form:
            store.export()
    return said


def _park(
    project: Project,
    taken: Sequence[Taken],
    clients: Sequence[str],
    memories: bytes | None = None,
    shared: Mapping[str, str] = MappingProxyType({}),
) -> Parked:
    new = Parked(
        root=str(project.layout.root),
        files=tuple(taken),
        memories=memories,
        shared={**shared},
        settings={},
        clients=(*clients,),
    )
    return parked.save(_park_directory(project), new)


def _park_directory(project: Project) -> Path:
    return parked.directory_of(project.layout.place("private").local, project.layout.root or project.layout.start)


def _move_out(project: Project, shared: Store, stealth: Store) -> list[str]:
    bystealth.add(stealth.place.local, [m for id_, m in shared.memories().items() if stealth.get(id_) is None])
    moved = stealth.adopt(shared)
    shared.remove([id_ for id_ in moved if shared.get(id_)], project.clock(), keep=False)
    kept = len(shared.memories())
    rest = f"; {kept} stay, because the other store has a different text under the same id" if kept else ""
    return [f"moved {count(len(moved), 'memory')} to {stealth.place.memories}{rest}"]


def _find_store_files(project: Project, place: Place) -> Iterator[Taken]:
    """Yield what is ours beside the memories and in no index: that may leave the work tree."""
    base, git = base_of(project), project.layout.git
    for path, is_ours in (
        (place.config, config.read_own(place, _KEY) is not True),
        (place.directory / ".gitignore", True),
    ):
        is_known = path.exists() and is_ours and not (git and checkout.is_tracked(path))
        if is_known and (path == place.config or path.read_bytes().replace(b"\r\n", b"\n") == GITIGNORE.encode()):
            yield parked.plan_taking(base, path, None)
    path = files.resolve_inside(place.directory.parent / ".gitattributes", place.tree)
    data, _ = files.read(path)
    rest = attributes.remove_lines(
        data, b"\n".join((checkout.read_committed(path) or b"", checkout.read_staged(path) or b""))
    )
    if rest != data:
        yield parked.plan_taking(base, path, rest or None)
    if git:
        for path, after in install.find_blocks_in_tree(project.layout):
            yield parked.plan_taking(base, path, after)


def _leave_tree(project: Project, park: Parked, *, is_tracked: bool) -> list[str]:
    """Take what is ours out of the work tree, unless it holds something else or git tracks it. Under both locks."""
    place, private = project.layout.place("project"), project.layout.place("private")
    _carry_local(place, private)
    names = {one.path for one in park.files}
    if place.config.relative_to(base_of(project)).as_posix() in names:
        theirs = [key for key, path in project.loaded.sources.items() if path == place.config]
        in_force = {key: settings.get(project.settings, key) for key in theirs}
        parked.save(_park_directory(project), replace(park, settings=config.copy(in_force, private)))
    try:
        for one in park.files:
            parked.take(base_of(project), one)
        if not is_tracked:
            place.memories.unlink(missing_ok=True)
        shutil.rmtree(place.local, ignore_errors=True)
        with suppress(OSError):
            place.directory.rmdir()
    except OSError as error:
        why = f"{error.strerror or error}; the memories are in {private.memories} now"
        raise StoreNotWritable(
            place.directory, why, "remove what is left of it by hand, and switch stealth on again"
        ) from error
    stays = place.directory.exists()
    return [
        f"{place.directory} holds other files and stays" if stays else f"nothing of memsync is left in {place.tree}"
    ]


def _carry_local(place: Place, private: Place) -> None:
    """Make what is known of the memories, and what waits, known to the private store, and keep it for the way back."""
    _open_state(private).absorb(_open_state(place))
    candidates.carry(place, private)
    parked.keep_local(parked.directory_of(private.local, place.directory.parent) / "local", place.local)


def _open_state(place: Place) -> State:
    return State(place.local / "state.db", private=place.private, place=place)


def refuse_other_files(project: Project) -> None:
    """Refuse to switch stealth off where a file says on that is not ours to change.

    Raises:
        ConfigError: it names the file.
    """
    for place in (project.layout.project, project.layout.global_):
        if place and config.read_own(place, _KEY):
            raise ConfigError(
                f"stealth stays on, because {place.config} says {_KEY}: true; remove that, and run it again"
            )


class Returned(NamedTuple):
    """What `put_back` found: what was kept, and the files that it left alone because somebody changed them since."""

    park: Parked
    changed: tuple[Path, ...]


def put_back(project: Project) -> Returned | None:
    """Put every file back that `turn_on` took out of this work tree; None if it took nothing.

    Raises:
        StoreError: run it again; what is back stays so.
    """
    park, place = parked.load(_park_directory(project)), project.layout.project
    if park is None or place is None:
        return None
    base, private = base_of(project), project.layout.place("private")
    kept = Place("private", _park_directory(project), None, private=True)
    if kept.local.is_dir():
        files.make_local(place.local, private=False, tree=place.tree)
        candidates.carry_back(private, kept, place)
        parked.return_local(kept.local, place.local)
    changed = [base / one.path for one in park.files if not parked.put_back(base, one)]
    if park.memories is not None:
        files.make_dirs(place.directory, private=False)
        files.create(place.memories, b"", private=False)
    if any(path.name == ".gitattributes" for path in changed):
        for step in steps(project, "project"):
            step.do()
    with project.store("private").writing():
        for key, value in park.settings.items():
            config.drop(private, key, value)
    return Returned(park, tuple(changed))


def turn_off(project: Project, plan: Off, park: Parked | None, *, move: bool | None) -> list[str]:
    """Switch stealth off, move what *plan* has for *move* into the work tree, and say what happened.

    Raises:
        NoStore, ConfigError, SecretFound, NotShared, StoreError: no memory was moved.
    """
    private, shared = project.layout.place("private"), project.layout.project
    _write_setting(project, private, on=False)
    moves = plan.choose(move)
    moved = _move_in(project, plan, moves, park) if moves else []
    if shared and park:
        known = [*project.store("project").memories(), *SkillStore(shared).skills()]
        _open_state(private).hand_back(_open_state(shared), set(known))
    return ["stealth is off for this project", *moved]


def _move_in(project: Project, plan: Off, moves: Sequence[Entry], park: Parked | None) -> list[str]:
    vetted = {entry.id: sharing.check(project, entry) for entry in moves if entry.id not in plan.unchanged}
    is_tidy = all(vetted.get(entry.id, entry.memory) == entry.memory for entry in moves)
    if is_tidy and park and park.memories and _is_as_it_was(project, moves, park.memories):
        place, path = project.layout.place("project"), project.store("project").path
        files.replace(path, park.memories, was=b"", temp=place.local / "export.tmp", private=False)
    moved = sharing.move(project, moves, "project", vetted)
    for scope in ("project", "private"):
        if project.stores[scope].in_log_form:
            project.stores[scope].export()
    ids = ", ".join(entry.id for entry in moved)
    return [f"moved {count(len(moved), 'memory')} to {project.layout.place('project').memories}: {ids}"]


def _is_as_it_was(project: Project, moves: Sequence[Entry], before: bytes) -> bool:
    """Tell whether the file that was there says just what would come back, so that its very bytes can."""
    store = project.store("project")
    if store.on_commit or store.hold() or files.read(store.path)[0]:
        return False
    lines = jsonl.read_lines(before)
    was: dict[str, Any] = {id_: line.memory for id_, line in merge.current(lines).items() if line.memory}
    return was == {entry.id: entry.memory for entry in moves}


def finish(project: Project) -> list[str]:
    """Forget what was kept for this work tree, and say where else something waits."""
    parked.forget(_park_directory(project))
    others = parked.list_roots(project.layout.place("private").local)
    return [
        f"stealth took files out of {root} as well; `memsync config --stealth off` there puts them back"
        for root in others
        if os.path.isdir(root)
    ]
