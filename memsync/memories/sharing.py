"""Moving single memories between what others see and what only their writer has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import NotShared, Remedy, UsageError
from memsync.format import scopes
from memsync.memories.results import Entry
from memsync.records import SCOPES, TIDIED, Memory, Scope, format_time, tick
from memsync.store import bystealth, checkout, local_history
from memsync.store.store import Store

if TYPE_CHECKING:
    from memsync.memories.project import Project

# A memory with this tag is never shared by accident: take the tag off first.
PRIVATE_TAG: Final = "private"
_NOTHING: Final[Mapping[str, Memory]] = MappingProxyType({})


def share(project: Project, refs: Sequence[str]) -> list[Entry]:
    """Move private and global memories into the project's store, where they can be committed; all of them, or none.

    Raises:
        SecretFound, NotShared: something would leak; the message says what.
        MemoryNotFound, AmbiguousId, NoStore, StoreError: nothing was moved.
    """
    return bring(project, _resolve(project, refs, "project"))


def bring(project: Project, chosen: Sequence[Entry]) -> list[Entry]:
    """Move *chosen* into the project's store; all of them, or none.

    Raises:
        SecretFound, NotShared, NoStore, StoreError: nothing was moved.
    """
    return move(project, chosen, "project", {entry.id: check(project, entry) for entry in chosen})


def check(project: Project, entry: Entry) -> Memory:
    """Return the memory in the form that others may see.

    Raises:
        SecretFound, NotShared: it may not.
    """
    vetted = project.vetting.vet(entry.memory, "project")
    if PRIVATE_TAG in entry.memory.tags:
        raise NotShared(
            f"{entry.id} has the tag {PRIVATE_TAG}, so it is not shared; ",
            Remedy("tags rm", PRIVATE_TAG, entry.id),
            " takes it off",
        )
    _check_room(project.store("project"), entry)
    return vetted


def unshare(project: Project, refs: Sequence[str], to: Scope = "private") -> list[Entry]:
    """Move memories of the project out of the work tree; all of them, or none. Commits keep what they have.

    Raises:
        NotShared, MemoryNotFound, AmbiguousId, NoStore, StoreError: nothing was moved.
    """
    return move(project, _resolve(project, refs, to), to)


def is_committed(project: Project, id_: str) -> bool:
    """Tell whether the last commit has the memory."""
    place = project.layout.place("project")
    return bool(project.layout.git) and place.directory.is_dir() and checkout.has_committed(place.memories, id_)


def _resolve(project: Project, refs: Sequence[str], to: Scope) -> list[Entry]:
    found = {(entry := project.get(ref)).id: entry for ref in refs}
    for entry in found.values():
        if entry.scope == to:
            raise UsageError(f"{entry.id} is {'in the project' if to == 'project' else to} already; nothing was moved")
    return list(found.values())


def move(project: Project, chosen: Sequence[Entry], to: Scope, vetted: Mapping[str, Memory] = _NOTHING) -> list[Entry]:
    """Move *chosen* to the store *to*, those that are *vetted* in that form; all of them, or none.

    Raises:
        NotShared, NoStore, StoreError: nothing was moved.
    """
    new = project.store_to_write(to)
    olds = {scope: project.store_to_write(scope) for scope in SCOPES if any(entry.scope == scope for entry in chosen)}
    with ExitStack() as held:
        for scope in SCOPES:  # everybody takes the locks in this order
            if scope == to or scope in olds:
                held.enter_context(project.store(scope).writing())
        for entry in chosen:
            if (now := olds[entry.scope].get(entry.id)) != entry.memory:
                raise NotShared(f"{entry.id} was {'changed' if now else 'removed'} in this moment; try again")
            _check_room(new, entry)
        if to == "private":
            bystealth.drop(new.place.local, {entry.id for entry in chosen})
        for scope, old in olds.items():
            ids = [entry.id for entry in chosen if entry.scope == scope]
            # Nobody has asked to share its earlier versions: those stay private, where an undo finds them.
            goes_along = new.place.private or not old.place.private
            new.adopt(old, ids, history=goes_along)
            new.update(_plan_tidying(project, new, ids, vetted))
            _take_out(project, old, ids, keep=not goes_along)
    moved = [project.get(entry.id, to) for entry in chosen]
    project.record(moved, "updated")
    return moved


def _take_out(project: Project, old: Store, ids: Sequence[str], *, keep: bool) -> None:
    old.remove(ids, tick(project.clock(), None), keep=keep)
    if not keep:
        local_history.drop(old.place.local, ids, private=old.place.private)
    if old.place.scope == "private":
        bystealth.drop(old.place.local, ids)


def _check_room(new: Store, entry: Entry) -> None:
    if (there := new.get(entry.id)) and there != entry.memory:
        raise NotShared(f"{new.place.memories} has a different text as {entry.id}; forget one of the two first")


def _plan_tidying(
    project: Project, new: Store, ids: Sequence[str], vetted: Mapping[str, Memory]
) -> dict[str, dict[str, Any]]:
    """Return the edits that remove what a copy says of its scope, and the path of the writer's home from what is shared."""
    edits = {}
    for id_ in ids:
        if (there := new.get(id_)) is None:
            continue
        tidied = {name: getattr(vetted[id_], name) for name in TIDIED} if id_ in vetted else {}
        changed: dict[str, Any] = {name: text for name, text in tidied.items() if text != getattr(there, name)}
        if scopes.read_scope(there)[1]:
            changed[scopes.KEY] = None
        if changed:
            now = tick(project.clock(), there.written_at)
            edits[id_] = {**changed, "updated_at": format_time(now)}
    return edits
