"""What others wrote, taken in by a process that asks or writes once: what is taken in, and what is left to the making of an index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import memory_line
from searching import Stores, ask, finder, fresh, is_untouched, opened, record, stores_in, write

from memsync import Memsync
from memsync.memories.asking import DELTA, Held, as_lists
from memsync.memories.catchup import Maker, catch_up
from memsync.store.store import Store
from memsync.store.table import Table

LINES = {f"mm-{n:02d}": f"note {n} about the queue" for n in range(6)}


@pytest.fixture
def place(tmp_path) -> Path:
    """Return a directory with a store and a cache of it."""
    write(tmp_path, [])
    put(tmp_path, LINES)
    assert opened(tmp_path)[1].index
    return tmp_path


def put(place: Path, lines: dict[str, str]) -> None:
    memories(place).write_text("".join(memory_line(id_, text) for id_, text in lines.items()))


def memories(place: Path, scope: str = "project") -> Path:
    return place / scope / "memories.jsonl"


def held_by(place: Path) -> Held | None:
    """Return what a new process has of the cache, when it has caught up; None if an index had to be made."""
    return opened(place)[1].with_cache(lambda held, _: held)


def test_of_a_file_with_the_same_bytes_only_the_stamps_are_new(place):
    os.utime(memories(place), ns=(1, 1))
    held = held_by(place)
    assert [*held.delta.late, *held.delta.dead] == []
    assert list(held.delta.lines) == list(held.cached.views["lines"])


def test_lines_in_another_order_keep_their_slots(place):
    put(place, dict(reversed(LINES.items())))
    held = held_by(place)
    assert [*held.delta.late, *held.delta.dead, held.about["ordered"]["project"]] == [False]
    assert ask(opened(place)[1], "note 4") == fresh(place, "note 4")


def test_a_branch_and_back_leaves_no_more_behind_than_the_branch(place):
    put(place, branch := LINES | {"mm-02": "a note of the branch", "mm-99": "another one"})
    assert (len(held_by(place).delta.late), held_by(place).delta.dead) == (2, [2])
    for _ in range(3):
        put(place, LINES)
        assert (len(held_by(place).delta.late), sorted(held_by(place).delta.dead)) == (2, [6, 7])
        put(place, branch)
        assert (len(held_by(place).delta.late), held_by(place).delta.dead) == (2, [2])
    assert held_by(place).about["ordered"]["project"] is True
    assert ask(opened(place)[1], "branch another") == fresh(place, "branch another")


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "a torn line": lambda data: data[:-9],
    "no newline at the end": lambda data: data[:-1],
    "a blank line": lambda data: data + b"\n",
    "a line twice": lambda data: data + data[: data.index(b"\n") + 1],
    "an id twice": lambda data: data + memory_line("mm-02", "something else").encode(),
    "a removal": lambda data: data + b'{"deleted_at":"2026-11-22T00:00:00Z","id":"mm-02"}\n',
    "a record without an id": lambda data: data + b'{"content":"nameless"}\n',
    "a record with a flaw": lambda data: data + b'{"content":"much","id":"mm-98","importance":9}\n',
    "a conflict": lambda data: b"<<<<<<< ours\n" + data + b"=======\n>>>>>>> theirs\n",
    "not UTF-8": lambda data: data.replace(b"note 3", b"not\xff 3"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_says_more_than_records_is_left_to_an_index(place, name):
    memories(place).write_bytes(BROKEN[name](memories(place).read_bytes()))
    assert held_by(place) is None
    assert ask(opened(place)[1], "note 2") == fresh(place, "note 2")
    os.utime(memories(place), ns=(1, 1))
    assert held_by(place) is None
    put(place, LINES)
    assert ask(opened(place)[1], "note 2") == fresh(place, "note 2")


def test_a_file_that_is_another_than_was_looked_at_is_left_to_an_index(place):
    stores, made = opened(place)
    held = made.file.load()
    places = {scope: store.place for scope, store in stores.items()}
    stamps = {scope: as_lists(store.look()) for scope, store in stores.items()}
    assert catch_up(Maker(held, None, stop_words=True), stamps, places)
    put(place, LINES | {"mm-02": "a changed note"})
    os.utime(memories(place), ns=(1, 1))
    assert (
        catch_up(
            Maker(held, None, stop_words=True), {**stamps, "project": [[1, 9, 9, 9], stamps["project"][1]]}, places
        )
        is None
    )


@pytest.mark.parametrize("data", [b"", b"\n".join([memory_line("mm-98", "it waits").encode(), b""])])
def test_what_waits_is_left_to_an_index(place, data):
    pending = stores_in(place)["project"].place.pending
    pending.parent.mkdir(exist_ok=True)
    pending.write_bytes(data)
    assert held_by(place) is None
    assert ask(opened(place)[1], "note waits") == fresh(place, "note waits")


def test_what_waited_and_went_lives_again_in_the_file(place):
    def write(change: Callable[[Store], object]) -> None:
        stores, made = opened(place)
        store = stores["project"]
        store.on_commit = True
        made.expect_write(store)
        change(store)
        made.save()

    def remove(store: Store) -> None:
        with store.writing():
            store.remove(["mm-98"], datetime(2026, 11, 23, tzinfo=UTC))

    pending = stores_in(place)["project"].place.pending
    pending.parent.mkdir(exist_ok=True)
    pending.write_text(memory_line("mm-98", "it waits for a commit"))
    assert opened(place)[1].index
    write(remove)
    write(Store.export)
    assert held_by(place).delta.dead == [len(LINES)]
    put(place, LINES | {"mm-98": "it waits for a commit"})
    assert (held_by(place).delta.late, held_by(place).delta.dead) == ([], [])
    stores, made = opened(place)
    assert ask(made, "waits") == fresh(place, "waits")
    assert is_untouched(stores)


def test_more_changes_than_a_delta_takes_are_left_to_an_index(place, monkeypatch):
    monkeypatch.setattr("memsync.memories.catchup.MOST", 3)
    put(place, LINES | {"mm-02": "one late and one dead", "mm-98": "one late"})
    assert len(held_by(place).delta.late) == 2
    put(place, LINES | {"mm-02": "one late and one dead", "mm-98": "one late", "mm-99": "one more"})
    assert held_by(place) is None


def test_stores_that_came_or_went_are_left_to_an_index(place):
    def without(scope: str) -> Stores:
        return {name: store for name, store in stores_in(place).items() if name != scope}

    assert finder(without("global")).with_cache(lambda held, _: held) is None
    assert ask(finder(without("global")), "note 2") == fresh(place, "note 2")
    assert finder(stores_in(place)).with_cache(lambda held, _: held) is None


def test_what_fits_without_its_delta_is_taken_alone_and_the_delta_goes(place):
    write(place / "home", [record("mm-99", "of another home", scope="global")])
    other = finder({**stores_in(place), "global": stores_in(place / "home")["global"]})
    assert ask(other, "another home").ids == ["mm-99"]
    path = other.path.with_name(DELTA)
    assert path.exists()
    assert held_by(place).delta.late == ()
    assert not path.exists()


def test_a_damaged_delta_is_no_loss(place):
    put(place, LINES | {"mm-02": "a changed note"})
    assert held_by(place)
    path = opened(place)[1].path.with_name(DELTA)
    path.write_bytes(path.read_bytes()[:-40])
    assert len(held_by(place).delta.late) == 1
    assert ask(opened(place)[1], "changed note") == fresh(place, "changed note")


def test_where_nothing_can_be_left_behind_each_process_catches_up_by_itself(place):
    opened(place)[1].path.with_name(DELTA).mkdir()
    put(place, LINES | {"mm-02": "a changed note"})
    for _ in range(2):
        stores, made = opened(place)
        assert ask(made, "changed note") == fresh(place, "changed note")
        assert is_untouched(stores)


def test_a_write_after_others_reads_only_the_lines_that_it_needs(repo):
    repo.write_memories("".join(memory_line(f"mm-{n:06d}", f"note {n} of many") for n in range(300)))
    assert Memsync.open(repo.root).finder.rebuild()
    text = repo.memories.read_text().replace("note 7 of", "note seven of")
    repo.memories.write_text(text)
    with Memsync.open(repo.root) as project:
        assert project.remember("the queue of the worker is full").status == "created"
        known = project.stores["project"].known_lines()
        assert (type(known), len(known)) == (Table, 301)
    with Memsync.open(repo.root) as project:
        assert project.recall("seven")[0].content == "note seven of many"
        assert project.stores["project"].stamp is None


def test_a_recall_after_others_loads_no_numpy(repo):
    repo.write_memories("".join(memory_line(id_, text) for id_, text in LINES.items()))
    assert Memsync.open(repo.root).finder.rebuild()
    repo.memories.write_text(repo.memories.read_text() + memory_line("mm-99", "zebras graze"))
    script = (
        "import sys, json; from memsync import Memsync; found = Memsync.open('.').recall('zebras');"
        "print(json.dumps([[hit.id for hit in found], 'numpy' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=repo.root, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["mm-99"], False]


def test_who_catches_up_while_another_purges_leaves_no_word_behind(place):
    put(place, LINES | {"mm-99": "an okapi hides"})
    stores, made = opened(place)
    held = made.file.load()
    stamps = {scope: as_lists(store.look()) for scope, store in stores.items()}
    since = catch_up(
        Maker(held, None, stop_words=True), stamps, {scope: store.place for scope, store in stores.items()}
    )
    opened(place)[1].drop()
    assert made.file.put(held, since, private=True).delta is since
    assert not made.path.with_name(DELTA).exists()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_purge_leaves_no_word_that_a_later_catching_up_would_keep(repo, is_gone):
    with Memsync.open(repo.root) as project:
        project.remember("the zebra grazes")
        gone = project.remember("an okapi hides").entry
        project.finder.rebuild()
    if is_gone:
        with Memsync.open(repo.root) as project:
            project.forget(gone.id)
    with Memsync.open(repo.root) as project:
        project.purge(gone.id)
    local = repo.root / ".gobby"
    assert not [path for path in local.rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]
    with Memsync.open(repo.root) as project:
        assert [hit.content for hit in project.recall("zebra okapi")] == ["the zebra grazes"]
    assert not [path for path in local.rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]


def test_who_saves_an_index_while_another_purges_leaves_no_word_behind(repo):
    with Memsync.open(repo.root) as project:
        project.remember("the zebra grazes")
        gone = project.remember("an okapi hides").entry
    local = repo.root / ".gobby"
    with Memsync.open(repo.root) as project:
        assert project.finder.index
        project.remember("a lynx hunts")  # so that there is something to save
        with Memsync.open(repo.root) as other:
            other.purge(gone.id)
        project.finder.save()
        assert not [path for path in local.rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]
        assert [hit.content for hit in project.recall("zebra okapi lynx")] == ["the zebra grazes", "a lynx hunts"]
    assert not [path for path in local.rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]


def test_what_another_adds_or_edits_while_an_index_is_saved_leaves_the_index_there(repo):
    with Memsync.open(repo.root) as project:
        id_ = project.remember("the zebra grazes").entry.id
    with Memsync.open(repo.root) as project:
        assert project.finder.index
        project.remember("a lynx hunts")
        with Memsync.open(repo.root) as other:
            other.update(id_, content="the zebra sleeps")
        project.finder.save()
        assert project.finder.path.exists()
