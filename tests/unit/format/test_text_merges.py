"""Two versions of a record that a merge of text, without our driver, put into one file without a word."""

from __future__ import annotations

import itertools
import subprocess
from datetime import datetime

import pytest
from helpers import memory_line

from memsync.format import jsonl, merge
from memsync.format.codec import decode, edit
from memsync.format.jsonl import read_lines
from memsync.records import Memory
from memsync.store.places import Place
from memsync.store.store import Store

OLD, EARLY, LATE = (f"2026-0{month}-01T00:00:00.000Z" for month in (1, 2, 3))


def record(text: str, at: str = OLD, id_: str = "mm-a", **fields: object) -> bytes:
    return edit(memory_line(id_, text, created_at=OLD, updated_at=at, **fields).encode(), {}) + b"\n"


def removal(at: str, id_: str = "mm-a") -> bytes:
    return b'{"deleted_at":"%s","id":"%s"}\n' % (at.encode(), id_.encode())


def texts(*lines: bytes) -> dict[str, str | None]:
    """Return what a reader finds: the text of each id; for a copy, what it stood against."""
    found = merge.current(read_lines(b"".join(lines)))
    return {line.memory.content: line.memory.conflict_of for line in found.values() if line.memory}


def test_a_later_line_with_an_earlier_time_is_a_side_and_both_texts_are_kept():
    assert texts(record("of B, later", LATE), record("of A", EARLY)) == {"of B, later": None, "of A": "mm-a"}


def test_a_removal_that_stands_behind_a_later_edit_does_not_take_it_away():
    assert texts(record("of B", LATE), removal(EARLY)) == {"of B": None}


def test_the_line_that_both_logs_began_with_is_the_base():
    lines = record("base", tags=["x"]), record("of A", LATE, tags=["x"]), record("base", EARLY, tags=["x", "y"])
    assert texts(*lines) == {"of A": None}
    (line,) = merge.current(read_lines(b"".join(lines))).values()
    assert line.memory is not None
    assert line.memory.tags == ("x", "y")
    assert texts(record("base"), removal(LATE), record("edited", EARLY)) == {"edited": None}
    assert texts(record("base"), record("edited", LATE), removal(EARLY)) == {"edited": None}


def test_what_memsync_itself_appends_is_the_word_of_the_log():
    assert texts(record("base"), record("edited", EARLY), record("edited twice", LATE)) == {"edited twice": None}
    assert texts(record("base"), removal(EARLY)) == {}
    assert texts(record("base"), removal(EARLY), record("base")) == {"base": None}
    assert texts(record("base"), memory_line("mm-a", "by a tool that knows no times").encode()) == {
        "by a tool that knows no times": None
    }


def test_a_replaced_line_that_no_longer_stands_in_its_place_is_the_base():
    """memsync repeats the line that it replaces; here another side edited that line in its place, and earlier."""
    in_place, base = record("of B", EARLY), record("base")
    assert texts(in_place, base, record("of A, later", LATE)) == {"of A, later": None, "of B": "mm-a"}
    assert texts(in_place, base, removal(LATE)) == {"of B": None}
    by_hand = record("by hand")  # at the time of the line that it was
    assert texts(by_hand, base, record("of A, later", LATE)) == {"of A, later": None, "by hand": "mm-a"}
    assert texts(record("base"), base, record("of A, later", LATE)) == {"of A, later": None}


def test_lines_of_two_logs_one_after_the_other_are_two_sides():
    base = record("base")
    log = (
        base,
        record("of A", EARLY),
        record("of B", LATE),
        record("of B", LATE),
        record("of B, again", "2026-04-01T00:00:00Z"),
    )
    assert texts(base, *log).keys() == {"of B, again"}
    lines = record("of B", EARLY), base, record("of A", LATE), record("of B", EARLY), record("of B, again", LATE)
    assert texts(*lines).keys() == {"of A", "of B, again"}


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("deed", ["removes", "edits"])
def test_what_was_written_after_the_clock_went_back_makes_no_text_merge(tmp_path, deed, private):
    store = Store(Place("project", tmp_path / ".gobby", tmp_path, private=private))
    write(store, record("base", EARLY), record("other", EARLY, "mm-b"))
    with store.writing():
        store.update({"mm-a": {"content": "edited", "updated_at": EARLY.replace("01T", "02T")}})
        if deed == "removes":
            store.remove(["mm-a"], datetime.fromisoformat(LATE))
        else:
            store.update({"mm-a": {"content": "edited twice", "updated_at": LATE}})
        store.add([decode(record("new, a month earlier", EARLY, "mm-c").rstrip()).memory])
    left = {"other", "new, a month earlier"} | ({"edited twice"} if deed == "edits" else set())
    assert live(Store(store.place)) == left
    store.export()
    assert live(Store(store.place)) == left


def test_such_a_file_is_read_the_same_in_both_orders_of_the_sides():
    sides = [(record("of A", EARLY),), (record("of B", LATE),)]
    assert texts(*sides[1], *sides[0]) == {"of B": None, "of A": "mm-a"}
    assert {line.id for line in read_lines(b"".join(map(b"".join, sides)))} == {"mm-a"}


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(Place("project", tmp_path / ".gobby", tmp_path, private=False))


def write(store: Store, *lines: bytes) -> None:
    store.place.directory.mkdir(exist_ok=True)
    store.place.memories.write_bytes(b"".join(lines))


def live(store: Store) -> set[str]:
    store.refresh()
    return {memory.content for memory in store.memories().values()}


def test_an_export_and_a_write_keep_both_texts(store):
    write(store, record("of B, later", LATE), record("of A", EARLY))
    assert live(store) == {"of B, later", "of A"}
    with store.writing():
        store.add([Memory(id="mm-new", content="new")])
    assert (live(store), live(Store(store.place))) == ({"of B, later", "of A", "new"},) * 2
    store.export()
    assert live(Store(store.place)) == {"of B, later", "of A", "new"}


def test_lines_that_somebody_appends_while_we_look_are_judged_too(store):
    write(store, record("of B, later", LATE))
    assert live(store) == {"of B, later"}
    with store.place.memories.open("ab") as file:
        file.write(record("of A", EARLY))
    assert live(store) == {"of B, later", "of A"}


@pytest.mark.parametrize("on_commit", [False, True])
def test_a_removed_memory_that_comes_back_as_it_was_is_no_text_merge(store, on_commit, clock):
    write(store, record("first", EARLY), record("second", EARLY, "mm-b"))
    store.on_commit = on_commit
    clock.move(days=60)
    with store.writing():
        store.remove(["mm-a"], clock())
        store.restore("mm-a", clock())
        store.remove(["mm-b"], clock())
        store.restore("mm-b", clock(), raw=record("second, as it was once", OLD, "mm-b").rstrip())
    expected = {"first", "second, as it was once"}
    assert (live(store), live(Store(store.place))) == (expected, expected)
    store.on_commit = False
    store.export()
    assert live(Store(store.place)) == expected


MARKED = (
    record("before", id_="mm-0"),
    b"<<<<<<< ours\n",
    record("of this side", LATE),
    b"=======\n",
    record("of the other side", EARLY),
    b">>>>>>> theirs\n",
    record("after", id_="mm-z"),
)


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY), (EARLY, EARLY)])
@pytest.mark.parametrize("gone", [set(some) for size in (0, 1, 2) for some in itertools.combinations((1, 3, 5), size)])
def test_whichever_markers_somebody_deleted_no_text_is_lost(gone, times):
    lines = [line for number, line in enumerate(MARKED) if number not in gone]
    lines = [line.replace(LATE.encode(), b"%1").replace(EARLY.encode(), b"%2") for line in lines]
    lines = [line.replace(b"%1", times[0].encode()).replace(b"%2", times[1].encode()) for line in lines]
    assert texts(*lines).keys() == {"before", "of this side", "of the other side", "after"}


@pytest.mark.parametrize("kind", ["log form", "later log form", "union"])
def test_what_git_merges_cleanly_without_us_loses_no_text(repo, kind):
    rows = [record(f"record number {number} says something", id_=f"mm-{number}") for number in range(1, 10)]
    repo.write_memories(b"".join(rows))
    if kind == "union":
        (repo.root / ".gitattributes").write_text("*.jsonl merge=union\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base")
    repo.git("switch", "-qc", "a")
    side_a = record("A says the port is 8081", EARLY, "mm-3")
    if kind == "union":
        repo.write_memories(b"".join([*rows[:2], side_a, *rows[3:]]))
    elif kind == "later log form":
        store = Store(Place("project", repo.root / ".gobby", repo.root, private=False))
        with store.writing():
            store.update({"mm-3": {"content": "A says the port is 8081", "updated_at": "2026-04-01T00:00:00.000Z"}})
            store.remove(["mm-5"], datetime.fromisoformat("2026-04-01T00:00:00.000Z"))
    else:
        repo.write_memories(b"".join([*rows, side_a, removal(EARLY, "mm-5")]))
    repo.git("commit", "-qam", "A")
    repo.git("switch", "-q", "main")
    side_b = [*rows[:2], record("B says the port is 9090", LATE, "mm-3"), rows[3]]
    repo.write_memories(b"".join([*side_b, record("B edits record five", LATE, "mm-5"), *rows[5:]]))
    repo.git("commit", "-qam", "B")
    for branch, other in (("main", "a"), ("a", "main")):
        repo.git("switch", "-q", "--detach", branch)
        subprocess.run(["git", "merge", "-q", other, "-m", "merged"], cwd=repo.root, check=True)
        found = {
            line.memory.content
            for line in merge.current(read_lines(repo.memories.read_bytes())).values()
            if line.memory
        }
        assert {"A says the port is 8081", "B says the port is 9090", "B edits record five"} <= found
        assert not jsonl.in_conflict(read_lines(repo.memories.read_bytes()))
