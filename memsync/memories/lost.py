"""What was written or forgotten here and is gone from file and commits: found by the local history, and brought back.

A `git checkout .`, a `reset --hard`, the roll-back of a hook manager, a lost merge or a killed pull take it away
without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memsync.errors import MemsyncError
from memsync.format import codec, jsonl
from memsync.format.codec import NEVER, Line
from memsync.format.versions import keep_loser
from memsync.git import history
from memsync.git.history import rows_with
from memsync.memories.events import files_of, find_removed, live_lines
from memsync.memories.project import Project
from memsync.memories.results import Remembered
from memsync.records import Memory, Scope, content_hash, same_but_for_time, shown_id
from memsync.store import local_history
from memsync.store.places import under_way
from memsync.store.store import Store


class Lost(NamedTuple):
    """A memory whose last change here git took away: as it was written, or as it is back after it was forgotten."""

    scope: Scope
    memory: Memory


class Found(NamedTuple):
    """What came back, and what did not, each with the reason."""

    restored: tuple[Remembered, ...]
    refused: tuple[tuple[Lost, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what came back, and what did not and why."""
        refused = [{"id": one.memory.id, "scope": one.scope, "why": why} for one, why in self.refused]
        return {"restored": [result.entry for result in self.restored], "refused": refused}


def find_lost(project: Project) -> list[Lost]:
    """Return the memories that were written here and are neither in a store nor in any commit, branch or stash.

    One that says what another says now is not lost, nor one whose text was edited by hand.
    """
    last = _read_last(project)
    found: list[Lost] = []
    for scope, store in project.stores.items():
        others = [other for other in project.stores if other != scope]
        gone = {
            id_: line.memory
            for id_, line in last[scope].items()
            if line.memory
            and _is_gone(line.memory, store.get(id_))
            # Another store has it, or removed it after it came there.
            and not any(
                project.stores[other].get(id_) or (id_ in last[other] and last[other][id_].memory is None)
                for other in others
            )
        }
        known = _find_committed(project, gone) if scope == "project" else set()
        found += [Lost(scope, memory) for id_, memory in sorted(gone.items()) if id_ not in known]
    hashes = {one.memory.id: content_hash(one.memory.content) for one in found}
    said = {
        id_ for id_, hash_ in hashes.items() for store in project.stores.values() if store.by_hash(hash_, besides=id_)
    }
    return [one for one in found if one.memory.id not in said]


def find_returned(project: Project) -> list[Lost]:
    """Return the memories that were forgotten here and are in a store again as they were, though no commit took them out.

    What somebody brought back, or has edited, is not among them, whenever that was: a merge brings an edit of others.
    """
    last, found = _read_last(project), list[Lost]()
    for scope, store in project.stores.items():
        removed = {id_: line.moment for id_, line in last[scope].items() if line.deleted_at}
        before = local_history.find_last(store.place.local, removed=False)
        back = {
            id_: memory
            for id_, moment in removed.items()
            if (memory := store.get(id_)) and (memory.written_at or NEVER) <= moment
            if id_ in before and _came_before(store, memory, before[id_])
        }
        known = find_removed(project, back) if scope == "project" else set()
        found += [Lost(scope, memory) for id_, memory in sorted(back.items()) if id_ not in known]
    return found


def find_dropped(project: Project) -> list[str]:
    """Return the ids of the memories of HEAD that no store has, though nobody forgot them here: an editor may have emptied the file."""
    store = project.stores.get("project")
    if store is None or project.layout.git is None or under_way(project.layout.git):
        return []
    files = files_of(project)
    (data,) = history.read(files.root, [("HEAD", files.path)])
    last = _read_last(project)["project"]
    return sorted(
        shown_id(id_)
        for id_ in live_lines(data)
        if not any(one.get(id_) for one in project.stores.values()) and not (id_ in last and last[id_].deleted_at)
    )


def _came_before(store: Store, memory: Memory, last: Line) -> bool:
    """Tell whether *memory* is what the *last* record before its removal says, or an earlier version that this machine had."""
    if last.memory and (memory.written_at or NEVER) > (last.memory.written_at or NEVER):
        return False  # an edit that the removal never saw
    versions = local_history.find_versions(store.place.local, memory.id)
    return any(same_but_for_time(line.memory, memory) for line in versions)


def _read_last(project: Project) -> dict[Scope, dict[str, Line]]:
    project.stores.refresh()
    return {scope: local_history.find_last(store.place.local) for scope, store in project.stores.items()}


def _is_gone(memory: Memory, now: Memory | None) -> bool:
    """Tell whether *memory* is not there *now*, or only as it was before."""
    if now is None or same_but_for_time(now, memory):
        return now is None
    return bool(memory.written_at and (now.written_at is None or now.written_at < memory.written_at))


def _find_committed(project: Project, wanted: Mapping[str, Memory]) -> set[str]:
    if not wanted or project.layout.git is None:
        return set()
    files, known = files_of(project), set[str]()
    for data in history.versions(files.root, files.path):
        for line in jsonl.read_lines(rows_with(wanted.keys() - known, data)):
            memory = wanted.get(line.id or "")
            if memory and same_but_for_time(line.memory, memory):
                known.add(memory.id)
        if len(known) == len(wanted):
            break
    return known


def bring_back(project: Project, lost: Iterable[Lost]) -> Found:
    """Restore *lost*, each by itself: one that may not come back, as a secret, stops no other.

    A text that was written in its place beside it, as in another worktree or by a hand, stays as a copy.
    """
    restored: list[Remembered] = []
    refused: list[tuple[Lost, str]] = []
    for one in lost:
        copy = _copy_in_place(project, one)
        try:
            restored.append(project.restore(one.memory.id, one.scope))
        except MemsyncError as error:
            refused.append((one, str(error)))
            continue
        if copy:
            store = project.store_to_write(one.scope)
            with store.writing():
                store.write([copy.raw], {})
    return Found(tuple(restored), tuple(refused))


def _copy_in_place(project: Project, lost: Lost) -> Line | None:
    """Return what stands in the place of *lost* as a record of its own, unless that is what it replaced, here, step by step."""
    store, id_ = project.stores[lost.scope], lost.memory.id
    now, last = store.get(id_), local_history.find_versions(store.place.local, id_)
    if now is None or now.content in _list_replaced(last):
        return None
    return keep_loser(last[0], codec.decode(store.raw(id_)))


def _list_replaced(versions: Sequence[Line]) -> list[str]:
    """Return the texts that the first of *versions* (the last comes first) took the place of; an edit stands behind what it replaced."""
    texts: list[str] = []
    for new, old in zip(versions[::2], versions[1::2], strict=False):
        if not new.memory or not old.memory or (texts and new.memory.content != texts[-1]):
            break
        texts.append(old.memory.content)
    return texts
