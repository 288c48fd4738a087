"""Removing a memory and every word that this machine keeps of it; commits keep what they have."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import MemsyncError, StoreError
from memsync.format.codec import decode
from memsync.memories import edits, index_file, undoing
from memsync.records import Scope, content_hash, find_id, shown_id
from memsync.store import database, files, local_history
from memsync.store.lock import lock
from memsync.store.places import MIRRORS
from memsync.system.limits import LARGEST_IMPORT, read_json

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.store.store import Store

# What is written by line and may hold the text of a memory: candidates, runs of the janitor, decisions of the queue, logs.
_ROWS: Final = ("*.jsonl", "*.undone", "*.log", "*.log.1", "*.json")
OURS: Final = "memsync.md"  # the file of a mirror for what came from our side
_APART: Final = ("history.jsonl", "history.1.jsonl", "pending.jsonl", "undo.json", MIRRORS)  # which are purged by id


def purge(project: Project, ref: str, scope: Scope | None) -> str:
    """Remove what *ref* names and what is kept of it, and return its id; `Project.purge` says more."""
    stores: Mapping[Scope, Store] = {scope: project.store(scope)} if scope else project.stores
    project.stores.refresh()
    project.journal.write()
    known = {where: {*store.memories(), *store.replaced()} for where, store in stores.items()}
    id_ = find_id(ref, (id_ for ids in known.values() for id_ in ids))
    ids, texts = _find_traces(project, id_)
    for store in project.stores.values():
        read_mirrors(store.place.local / MIRRORS)  # before anything is removed
    try:
        for where in (where for where, found in known.items() if id_ in found):
            if stores[where].get(id_):
                edits.forget(project, id_, where, keep=False)
        for where in [where for where, store in project.stores.items() if store.place.local.is_dir()]:
            place, state = project.store(where).place, project.state(where)
            left = {one for one in ids if one == id_ and where not in stores}  # it lives on in another scope
            with project.store(where).writing():
                local_history.drop(place.local, ids - left, private=place.private)
            state.purge(ids - left, texts)
            _drop_rows(place.local, ids - left, texts, private=place.private)
            # Of the texts that mirrors had their hashes stay: by these the next sync takes the statements out of the files.
            _edit_rows(place.local, ids - left, lambda row: [*row[:2], *[content_hash(row[2])] * 2])
            database.remove(place.local / index_file.NAME)  # of another worktree that has no store of its own
    finally:
        with suppress(MemsyncError):
            project.finder.file.drop()
    undoing.forget_steps(project, ids, texts)
    project.journal.note_change(f"purged {shown_id(id_)}")
    return id_


def _find_traces(project: Project, id_: str) -> tuple[set[str], set[str]]:
    """Return the id with those of the copies that were folded into it and live no more, and every text that they had."""
    live = {one for store in project.stores.values() for one in store.memories()} - {id_}
    ids, texts = {id_}, set[str]()
    places = [store.place.local for store in project.stores.values()]
    for scope in project.stores:
        for row in project.state(scope).dedup_log():
            memory = decode(row.rejected).memory if row.rejected else None
            if row.existing_id == id_ and memory and memory.id not in live:
                ids |= {memory.id} if memory.id else set()
                texts |= {memory.content, row.new_text if memory.content != row.existing_text else memory.content}
    for store in project.stores.values():
        texts |= {memory.content for one in ids if (memory := store.get(one))}
    for local in places:
        texts |= {line.memory.content for line in local_history.find_versions(local, *ids) if line.memory}
    hashes = {content_hash(text) for text in texts}
    for local in places:  # the same text under an id that is gone
        gone = (line for line in local_history.find_all(local) if line.memory and line.id not in live)
        ids |= {line.id for line in gone if line.id and line.memory and content_hash(line.memory.content) in hashes}
    kept = {
        memory.content
        for store in project.stores.values()
        for memory in store.memories().values()
        if memory.id not in ids
    }
    return ids, texts - kept


def spell_traces(ids: Collection[str], texts: Collection[str]) -> list[bytes]:
    """Return the bytes by which a line of JSON or text shows that it is about *ids*, or holds one of *texts*."""
    spelled = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in (*ids, *texts) for is_ascii in (True, False)}
    return [one.encode("utf-8", "surrogatepass") for one in (*spelled, *texts)]


def _drop_rows(local: Path, ids: Collection[str], texts: Collection[str], *, private: bool) -> None:
    traces = spell_traces(ids, texts)
    for path in _list_files(local):
        was, _ = files.read(path)
        rows = b"".join(row for row in was.splitlines(keepends=True) if not any(trace in row for trace in traces))
        if rows != was:
            files.rewrite(path, rows, was=was, temp=path.with_name(f"{path.name}.tmp"), private=private)


@contextmanager
def lock_mirrors(local: Path) -> Iterator[Path]:
    """Yield the file of what the mirrors of *local* said, which nobody else changes meanwhile; no store may be locked before."""
    with lock(local / f"{MIRRORS}.lock"):
        yield local / MIRRORS


def read_mirrors(path: Path) -> list[dict[str, Any]]:
    """Return what the file *path* has of each mirror: kind, path, and rows of four texts.

    Raises:
        StoreError: it is not as memsync wrote it.
    """
    try:
        found = read_json(files.read(path)[0] or b"[]", LARGEST_IMPORT)
        fields = [text for one in found for text in (one["kind"], one["path"], *chain(*one["rows"]))]
        if all(len(row) == 4 for one in found for row in one["rows"]) and all(isinstance(one, str) for one in fields):
            return list(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError(path, "is not as memsync wrote it", "remove it, and add the mirrors again")


def write_mirrors(path: Path, mirrors: Iterable[Mapping[str, Any]]) -> None:
    """Write the file *path*, whose lock the caller holds."""
    files.rewrite(path, json.dumps([*mirrors]).encode(), was=files.read(path)[0], private=True)


def leave_statements(local: Path, ids: Collection[str]) -> None:
    """Have mirrors leave alone what their files say of *ids*: these were taken back, the files are their owner's."""
    _edit_rows(local, ids, lambda row: row if row[1] == OURS else [*row[:3], ""])


def _edit_rows(local: Path, ids: Collection[str], edit: Callable[[list[str]], list[str]]) -> None:
    if not (local / MIRRORS).exists():
        return
    with lock_mirrors(local) as path:
        mirrors = read_mirrors(path)
        for one in mirrors:
            one["rows"] = [edit(row) if row[0] in ids else row for row in one["rows"]]
        write_mirrors(path, mirrors)


def _list_files(local: Path) -> Iterator[Path]:
    for folder in (local, local / "janitor", local / "candidates"):
        for pattern in _ROWS:
            yield from (path for path in folder.glob(pattern) if path.name not in _APART)
