"""Many threads on one `Memsync`, and clocks that go back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from helpers import memory_line

from memsync import Memsync
from memsync.errors import MemoryNotFound
from memsync.format.jsonl import read_lines
from memsync.format.merge import current

THREADS = 8
TURNS = 12


@pytest.fixture(autouse=True)
def impatient_threads() -> Iterator[None]:
    """Let threads interrupt each other as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_many_threads_share_one_object_and_lose_nothing(quick_root, shown):
    project = Memsync.open(quick_root)
    start = threading.Barrier(THREADS, timeout=30)

    def work(name: int) -> dict[str, str]:
        kept: dict[str, str] = {}
        start.wait()
        for turn in range(TURNS):
            text = f"thread{name} wrote sentence{turn}"
            id_ = project.remember(text, scope="global" if turn % 4 == 3 else "project").entry.id
            assert id_ in [hit.id for hit in project.search(text, limit=100)]
            project.memories()
            if turn % 3 == 1:
                text = project.update(id_, content=f"{text} and changed it").entry.content
            if turn % 3 == 2:
                project.forget(id_)
            else:
                kept[id_] = text
            project.remember(f"all write {turn}")
        project.export("project")
        return kept

    with ThreadPoolExecutor(THREADS) as pool:
        kept = [future.result(timeout=60) for future in [pool.submit(work, name) for name in range(THREADS)]]
    found = shown(quick_root)
    wanted = {id_: text for each in kept for id_, text in each.items()}
    assert {id_: found.get(id_) for id_ in wanted} == wanted
    assert sorted(found[id_] for id_ in found.keys() - wanted.keys()) == sorted(f"all write {n}" for n in range(TURNS))
    assert {entry.id: entry.content for entry in project.memories()} == found
    for id_, text in wanted.items():
        assert id_ in [hit.id for hit in project.search(text, limit=1000)]


def test_readers_in_other_threads_see_each_memory_whole_or_not_at_all(quick_root):
    project = Memsync.open(quick_root)
    versions = {f"version {n} {n}" for n in range(40)}
    id_ = project.remember("version 0 0").entry.id
    done = threading.Event()

    def read() -> set[str]:
        seen: set[str] = set()
        while not done.is_set():
            seen |= {entry.content for entry in project.memories()} | {hit.content for hit in project.search("version")}
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for text in sorted(versions - {"version 0 0"}):
            project.update(id_, content=text)
            project.export("project")
        done.set()
        seen = set().union(*(reader.result(timeout=30) for reader in readers))
    assert seen <= versions


def test_a_memory_that_another_thread_forgets_is_not_found_and_nothing_worse(quick_root):
    project = Memsync.open(quick_root)
    id_ = project.remember("here and gone").entry.id
    done = threading.Event()
    uses = (
        lambda: project.get(id_),
        lambda: project.update(id_, importance=0.3),
        lambda: project.update(id_, importance=0.4),
        lambda: project.search("here and gone"),
    )

    def use() -> int:
        count = 0
        while not done.is_set():
            with suppress(MemoryNotFound):
                uses[count % len(uses)]()
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        users = [pool.submit(use) for _ in range(2)]
        for _ in range(100):
            project.forget(id_)
            project.restore(id_)
        done.set()
        assert all(user.result(timeout=30) for user in users)
    assert [entry.content for entry in project.memories()] == ["here and gone"]


@pytest.fixture
def earlier(clock) -> Callable[[], None]:
    """Return a function that puts the clock back a day."""
    return lambda: clock.move(days=-1)


def test_an_update_by_a_clock_that_went_back_wins_over_what_it_changed(project, repo, earlier):
    id_ = project.remember("old").entry.id
    earlier()
    new = project.update(id_, content="new").entry.memory
    assert new.updated_at == datetime(2026, 1, 15, 12, tzinfo=UTC) + timedelta(milliseconds=1)
    conflict = b"<<<<<<< ours\n%s\n=======\n%s\n>>>>>>> theirs\n"
    old_line, _, new_line = repo.memories.read_bytes().splitlines()  # the second repeats what the third replaces
    for sides in ((old_line, new_line), (new_line, old_line)):
        assert current(read_lines(conflict % sides))[id_].memory == new
    assert Memsync.open(repo.root).get(id_).content == "new"


def test_an_update_wins_over_a_record_from_a_clock_that_is_ahead(project, repo):
    repo.write_memories(memory_line("u1", "old", created_at="2031-01-01T00:00:00Z"))
    assert project.update("u1", content="new").entry.memory.updated_at > datetime(2031, 1, 1, tzinfo=UTC)


def test_the_last_moment_of_the_calendar_is_no_end_of_editing(project, repo):
    repo.write_memories(memory_line("u1", "old", updated_at="9999-12-31T23:59:59.999Z"))
    project.update("u1", content="new")
    assert Memsync.open(repo.root).get("u1").content == "new"
    project.forget("u1")
    assert Memsync.open(repo.root).list() == []


def test_forget_and_restore_by_a_clock_that_went_back_hold(project, repo, earlier):
    id_ = project.remember("one").entry.id
    earlier()
    project.forget(id_)
    assert Memsync.open(repo.root).list() == []
    earlier()
    project.restore(id_)
    assert [entry.content for entry in Memsync.open(repo.root).list()] == ["one"]
    project.export("project")
    assert [entry.content for entry in Memsync.open(repo.root).list()] == ["one"]
