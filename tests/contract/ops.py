"""One call each: what a test does to a store, by its interface or by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memsync.records import SCOPES, Change, Memory
from memsync.store.store import Store

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)

# What these tests see in the file is in two while changes wait for a commit; tests/git has that.
ONE_FILE = pytest.mark.parametrize("store", SCOPES, indirect=True)


def a_memory(id_: str, content: str, **fields: object) -> Memory:
    return Memory(id=id_, content=content, created_at=NOW, updated_at=NOW, **fields)


def add(store: Store, *memories: Memory) -> list[Change]:
    with store.writing():
        return store.add(memories)


def update(store: Store, id_: str, **fields: object) -> list[Change]:
    with store.writing():
        return store.update({id_: fields})


def remove(store: Store, *ids: str) -> list[Change]:
    with store.writing():
        return store.remove(ids, LATER)


def restore(store: Store, id_: str) -> list[Change]:
    with store.writing():
        return store.restore(id_, LATER)


def by_hand(store: Store, text: str, mode: str = "a") -> None:
    store.place.directory.mkdir(parents=True, exist_ok=True)
    with open(store.place.memories, mode, encoding="utf-8", newline="") as file:
        file.write(text)


def lines(store: Store) -> list[str]:
    return store.place.memories.read_bytes().decode().split("\n")[:-1]


def seen_by_others(store: Store) -> dict[str, Memory]:
    other = Store(store.place)
    other.refresh()
    return other.memories()


def shown(store: Store) -> dict[str, str]:
    return {id_: memory.content for id_, memory in store.memories().items()}
