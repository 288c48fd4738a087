"""A file that another process appends to: its end is taken in, and whatever else was done to it is seen as well."""

from __future__ import annotations

import os

import pytest
from helpers import memory_line

from memsync.format.codec import encode
from memsync.records import Memory, parse_time
from memsync.store.places import locate
from memsync.store.store import Store

FIRST = "".join(memory_line(f"u{number}", f"text {number:03} " + "x" * 60) for number in range(100))
NEW = memory_line("new", "appended").encode()


@pytest.fixture
def store(repo) -> Store:
    """A store with a listener, as a server has one."""
    store = Store(locate(repo.root).place("project"))
    store.place.directory.mkdir(exist_ok=True)
    store.place.memories.write_text(FIRST)
    store.refresh()
    store.told = []
    store.follow(store.told.extend, store.memories())
    return store


def append(store: Store, data: bytes) -> None:
    with open(store.place.memories, "ab") as file:
        file.write(data)


def agrees(store: Store) -> bool:
    other = Store(store.place)
    other.refresh()
    return store.memories() == other.memories()


def test_an_appended_line_is_found_and_what_is_known_stays_as_it_is(store):
    known = dict(store.current_lines())
    append(store, NEW)
    (change,) = store.refresh()
    assert (change.id, store.told) == ("new", [change])
    assert all(store.current_lines()[id_] is line for id_, line in known.items())
    assert agrees(store)


def test_an_edit_in_place_beside_an_append_is_seen_at_once(store):
    whole = store.place.memories.read_bytes()
    with open(store.place.memories, "r+b") as file:
        file.write(whole.replace(b"text 001", b"TEXT 001") + NEW)
    assert {change.id for change in store.refresh()} == {"new", "u1"}
    assert agrees(store)


def _truncate_and_regrow(path, whole):
    path.write_bytes(b"")
    path.write_bytes(whole.replace(b"x", b"y") + NEW)


def _replace(path, whole):
    other = path.with_name("other")
    other.write_bytes(whole.replace(b"text 001", b"TEXT 001") + NEW)
    os.replace(other, path)


def _edit_the_end(path, whole):
    path.write_bytes(whole.replace(b"text 099", b"TEXT 099") + NEW)


def _conflict(path, whole):
    path.write_bytes(
        whole + b"<<<<<<< HEAD\n" + NEW + b"=======\n" + NEW.replace(b"appended", b"other") + b">>>>>>> x\n"
    )


@pytest.mark.parametrize("change", [_truncate_and_regrow, _replace, _edit_the_end, _conflict])
def test_what_is_no_plain_append_is_read_whole_at_once(store, change):
    change(store.place.memories, store.place.memories.read_bytes())
    store.refresh()
    assert agrees(store)


@pytest.mark.parametrize(
    "parts",
    [
        (NEW[:20], NEW[20:]),
        (NEW[:-1], b"\n", memory_line("newer", "two").encode()),
        (NEW[:-1], b"\n" + memory_line("newer", "two").encode()),
        (NEW.replace(b"\n", b"\r\n"), memory_line("newer", "two").encode()),
        (b"\n\n", NEW),
        (NEW, b'{"id":"new","deleted_at":"2026-01-01T00:00:00Z"}\n'),
    ],
    ids=["torn", "without a newline", "newline later", "CRLF", "blank lines", "removed again"],
)
def test_however_a_file_grows_its_follower_has_what_a_fresh_reader_has(store, parts):
    for part in parts:
        append(store, part)
        store.refresh()
        assert agrees(store)


EARLY, LATE = (f"2026-0{month}-01T00:00:00Z" for month in (2, 3))


@pytest.mark.parametrize(
    "parts",
    [
        [("u1", "edited", LATE), ("v", "older", EARLY)],
        [("v", "one", EARLY), ("v", "two", LATE), ("w", "older", EARLY)],
        [("u1", "edited", LATE), ("u1", "by another clock", EARLY), ("u1", "edited", LATE)],
        [("u1", "edited", LATE), ("u1", "by another clock", EARLY), ("v", "new", LATE)],
    ],
    ids=["an older record", "of a new one", "a side again", "another record"],
)
def test_a_follower_sees_two_versions_where_a_fresh_reader_does(store, parts):
    for id_, text, at in parts:
        append(store, memory_line(id_, text, updated_at=at).encode())
        store.refresh()
        assert agrees(store)


def test_an_edit_of_another_process_is_found(store):
    other = Store(store.place)
    with other.writing():
        other.update({"u1": {"content": "edited", "updated_at": LATE}})
        other.update({"u1": {"content": "edited twice", "updated_at": LATE}})
    store.refresh()
    assert store.get("u1").content == "edited twice"
    assert agrees(store)


@pytest.mark.parametrize("is_ours", [True, False], ids=["spelled as by memsync", "with spaces"])
def test_a_write_behind_the_log_of_another_tool_leaves_what_a_fresh_reader_finds(store, is_ours):
    edited = Memory("u1", "edited", updated_at=parse_time(LATE))
    append(store, encode(edited) + b"\n" if is_ours else memory_line("u1", "edited", updated_at=LATE).encode())
    with store.writing():
        store.add([Memory("v", "older", updated_at=parse_time(EARLY))])
    assert agrees(store)
    if is_ours:  # else both lines stay in the file, and are two versions
        assert not any(memory.conflict_of for memory in store.memories().values())


def test_a_line_that_was_cut_off_is_not_called_so_once_something_stands_behind_it(store):
    append(store, b'{"content":"to')
    with store.writing():
        store.add([Memory("v", "behind it")])
    ((number, why, _),) = store.problems()
    assert (number, why.startswith("not JSON")) == (101, True)


def test_a_file_with_carriage_returns_or_without_a_last_newline_grows_as_any_other(store):
    one = memory_line("u1", "one")
    for data in (FIRST.replace("\n", "\r\n"), FIRST.removesuffix("\n"), one, one.removesuffix("\n")):
        store.place.memories.write_text(data, newline="")
        store.refresh()
        for part in (b"\n", NEW):
            append(store, part)
            store.refresh()
            assert agrees(store)


def test_a_pending_file_that_comes_with_it_is_laid_over(store):
    store.on_commit = True
    with store.writing():
        store.update({"u1": {"content": "waits"}})
    append(store, NEW)
    store.refresh()
    assert agrees(store)
    assert store.get("u1").content == "waits"
