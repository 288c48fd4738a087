"""What a store promises to those who write its file without it."""

from __future__ import annotations

import pytest
from helpers import memory_line
from ops import NOW, ONE_FILE, a_memory, add, by_hand, lines, remove, restore, seen_by_others, shown, update

from memsync.errors import StoreUnreadable
from memsync.format.versions import copy_id
from memsync.records import Change, Memory


def test_a_record_in_another_spelling_is_there_once_after_forget_and_restore(store):
    by_hand(store, memory_line("u1", "spelled by another tool"))
    remove(store, "u1")
    restore(store, "u1")
    store.export()
    assert lines(store) == ['{"content": "spelled by another tool", "id": "u1"}']


def test_lines_that_cannot_be_read_stay_through_every_write_and_are_reported(store):
    by_hand(store, memory_line("u2", "two") + "{broken\n" + memory_line("u1", "one") + "[1]\n")
    store.refresh()
    assert [number for number, *_ in store.problems()] == [2, 4]
    update(store, "u1", content="uno")
    store.export()
    assert lines(store) == ['{"content":"uno","id":"u1"}', "[1]", '{"content": "two", "id": "u2"}', "{broken"]
    assert shown(store) == {"u1": "uno", "u2": "two"}


@ONE_FILE
def test_a_torn_last_line_is_kept_apart_from_the_next_write(store):
    by_hand(store, memory_line("u1", "one") + '{"id": "u2", "conte')
    add(store, a_memory("mm-aaaaaa", "after"))
    assert lines(store)[1] == '{"id": "u2", "conte'
    assert {id_: m.content for id_, m in seen_by_others(store).items()} == {"u1": "one", "mm-aaaaaa": "after"}


def test_a_file_with_conflict_markers_is_read_on_both_sides_and_written_clean_by_the_next_export(store):
    ours = memory_line("u1", "ours", updated_at="2026-01-02T00:00:00Z")
    theirs = memory_line("u1", "theirs", updated_at="2026-01-03T00:00:00Z") + memory_line("u2", "new")
    by_hand(store, f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> branch\n")
    store.refresh()
    before = store.memories()
    assert shown(store) == {"u1": "theirs", copy_id("u1", "ours"): "ours", "u2": "new"}
    assert store.export().changed
    assert b"<<<<" not in store.place.memories.read_bytes()
    assert seen_by_others(store) == store.memories() == before


def test_of_two_lines_with_one_id_the_later_wins_before_and_after_an_export(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    remove(store, "mm-aaaaaa")
    by_hand(store, memory_line("mm-aaaaaa", "by hand, first") + memory_line("mm-aaaaaa", "by hand, second"))
    store.refresh()
    assert shown(store) == {"mm-aaaaaa": "by hand, second"}
    store.export()
    assert shown(store) == {"mm-aaaaaa": "by hand, second"}
    assert seen_by_others(store) == store.memories()


def test_a_hand_edit_of_the_same_length_is_found_at_the_next_look(store):
    by_hand(store, memory_line("u1", "port 8080"))
    store.refresh()
    with open(store.place.memories, "r+b") as file:
        file.write(memory_line("u1", "port 8081").encode())
    before, after = Memory(id="u1", content="port 8080"), Memory(id="u1", content="port 8081")
    assert store.refresh() == [Change("u1", before, after)]
    assert store.refresh() == []


@ONE_FILE
def test_a_file_that_somebody_deletes_is_empty_and_the_next_write_makes_it_anew(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    store.place.memories.unlink()
    assert [change.after for change in store.refresh()] == [None]
    add(store, a_memory("mm-bbbbbb", "two"))
    assert shown(store) == {"mm-bbbbbb": "two"}
    assert seen_by_others(store) == store.memories()


def test_a_line_that_somebody_adds_while_the_lock_is_held_is_kept_and_seen(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    with store.writing():
        by_hand(store, memory_line("u1", "by hand"))
        store.add([a_memory("mm-bbbbbb", "two")])
    assert shown(store) == {"mm-aaaaaa": "one", "u1": "by hand", "mm-bbbbbb": "two"}
    assert seen_by_others(store) == store.memories()


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_byte_order_mark_and_other_line_ends_are_read(store, start, ending):
    by_hand(store, start + memory_line("u1", "one").replace("\n", ending))
    store.refresh()
    assert shown(store) == {"u1": "one"}
    add(store, a_memory("mm-aaaaaa", "two"))
    store.export()
    assert {id_: m.content for id_, m in seen_by_others(store).items()} == {"u1": "one", "mm-aaaaaa": "two"}
    assert b"\r" not in store.place.memories.read_bytes()


def test_a_file_that_is_not_text_is_refused_every_time_and_stays_as_it_is(store):
    by_hand(store, "")
    store.place.memories.write_bytes(memory_line("u1", "one").encode("utf-16"))
    before = store.place.memories.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreUnreadable, match="UTF-16"):
            add(store, a_memory("mm-aaaaaa", "one"))
    assert store.place.memories.read_bytes() == before


def test_what_a_hand_brought_back_without_a_time_stays_away_when_it_is_removed_by_a_clock_that_went_back(store):
    add(store, a_memory("mm-aaaaaa", "one"))
    remove(store, "mm-aaaaaa")
    by_hand(store, memory_line("mm-aaaaaa", "by hand") + memory_line("mm-aaaaaa", "by hand"))
    with store.writing():
        store.remove(["mm-aaaaaa"], NOW)
    store.export()
    assert shown(store) == {}
