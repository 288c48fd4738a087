"""Local state: counted across processes, and lost without harm."""

from __future__ import annotations

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsync.store.state import Dedup, State, Usage

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "local" / "state.db"


@pytest.fixture
def state(path: Path) -> State:
    return State(path, private=False)


def test_reading_makes_no_file(state, path):
    assert (dict(state.usage()), state.session("s", "injected"), path.parent.exists()) == ({}, [], False)


def test_every_use_is_counted_with_its_last_time(state):
    state.record_use([(id_, NOON) for id_ in ["a", "b"]])
    state.record_use([(id_, LATER) for id_ in ["a"]])
    assert state.usage() == {"a": Usage(2, LATER), "b": Usage(1, NOON)}


def test_what_a_process_keeps_open_is_opened_anew_where_another_file_is_in_its_place(state, path):
    state.is_brief = True
    with ThreadPoolExecutor(1) as other:  # a server's calls come from many threads
        other.submit(state.record_use, [("a", NOON)]).result()
    state.record_use([("a", LATER)])
    assert State(path, private=False).usage() == {"a": Usage(2, LATER)}
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    state.record_use([("b", NOON)])
    assert State(path, private=False).usage() == {"b": Usage(1, NOON)} == state.usage()
    state.close()


def test_a_file_that_is_put_there_while_a_process_writes_is_the_one_it_writes_to_next(state, path):
    def change(known: dict[str, object]) -> dict[str, object]:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink()
        State(path, private=False).record_use([("a", NOON)])
        return known

    state.is_brief = True
    state.change_variables("s", NOON, change)
    state.record_use([("b", NOON)])
    assert State(path, private=False).usage() == {"a": Usage(1, NOON), "b": Usage(1, NOON)}
    state.close()


def test_a_clock_that_went_back_does_not_make_the_last_use_earlier(state):
    state.record_use([(id_, LATER) for id_ in ["a"]])
    state.record_use([(id_, NOON) for id_ in ["a"]])
    assert state.usage() == {"a": Usage(2, LATER)}


def test_the_use_that_another_process_records_is_seen_at_once(state, path):
    other = State(path, private=False)
    for count in range(1, 30):
        other.record_use([(id_, NOON) for id_ in ["a"]])
        assert state.usage() == {"a": Usage(count, NOON)}


def test_nothing_used_is_nothing_written(state, path):
    state.record_use([(id_, NOON) for id_ in []])
    assert not path.exists()


def test_a_session_lists_what_happened_to_which_memories_once_and_in_order(state):
    state.record_session("s", [(id_, "injected", NOON) for id_ in ["b", "a"]])
    state.record_session("s", [(id_, "injected", LATER) for id_ in ["a", "c"]])
    state.record_session("s", [(id_, "accessed", NOON) for id_ in ["d"]])
    state.record_session("t", [(id_, "injected", NOON) for id_ in ["e"]])
    assert state.session("s", "injected") == ["b", "a", "c"]


@pytest.mark.parametrize("rubbish", [b"not a database" * 100, b"\x00" * 4096, b"x"])
def test_a_file_that_is_no_database_is_begun_anew(state, path, rubbish):
    path.parent.mkdir()
    path.write_bytes(rubbish)
    state.record_use([(id_, NOON) for id_ in ["a"]])
    assert state.usage() == {"a": Usage(1, NOON)}


def test_a_database_with_a_damaged_page_is_begun_anew(state, path):
    state.record_use([(id_, NOON) for id_ in [f"memory {number}" for number in range(500)]])
    page = 4096
    with open(path, "r+b") as file:
        file.seek(page)
        file.write(b"\xff" * (path.stat().st_size - page))
    state.usage()
    state.record_use([(id_, NOON) for id_ in ["a"]])
    assert dict(state.usage()).get("a") == Usage(1, NOON)


def test_a_database_that_was_deleted_is_made_again(state, path):
    state.record_use([(id_, NOON) for id_ in ["a"]])
    path.unlink()
    assert dict(state.usage()) == {}
    state.record_use([(id_, NOON) for id_ in ["b"]])
    assert state.usage() == {"b": Usage(1, NOON)}


def test_a_place_without_room_for_a_database_is_no_error(tmp_path):
    (tmp_path / "local").write_bytes(b"a file is in the way")
    state = State(tmp_path / "local" / "state.db", private=False)
    state.record_use([(id_, NOON) for id_ in ["a"]])
    assert (dict(state.usage()), state.session("s", "injected")) == ({}, [])


def test_a_database_that_another_writer_has_locked_is_no_error(state, path):
    state.record_use([(id_, NOON) for id_ in ["a"]])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    state.record_use([(id_, NOON) for id_ in ["a"]])
    writer.execute("ROLLBACK")
    writer.close()
    assert state.usage() == {"a": Usage(1, NOON)}


def test_a_table_from_another_version_is_no_error(state, path):
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE usage (other TEXT)")
    db.close()
    state.record_use([(id_, NOON) for id_ in ["a"]])
    assert dict(state.usage()) == {}


def test_a_private_database_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "local" / "state.db"
    State(path, private=True).record_use([(id_, NOON) for id_ in ["a"]])
    modes = {file.name: oct(stat.S_IMODE(os.stat(file).st_mode)) for file in path.parent.iterdir()}
    assert oct(stat.S_IMODE(os.stat(path.parent).st_mode)) == "0o700"
    assert {"state.db", ".gitignore"} <= modes.keys()
    assert {*modes.values()} == {"0o600"}


def decided(text: str, decision: str = "auto_reject", **more: object) -> Dedup:
    return Dedup(NOON, text, "mm-old", "the old text", 0.97, decision, "why", "Test User", b'{"id":"x"}', **more)


def test_the_dedup_log_keeps_every_column_and_shows_the_latest_first(state):
    assert state.log_dedup([decided("one"), decided("two", "fallback_keep")]) == [1, 2]
    assert state.dedup_log() == [decided("two", "fallback_keep", number=2), decided("one", number=1)]


def test_looking_into_a_dedup_log_that_is_not_there_makes_no_file(state, path):
    assert (state.dedup_log(), path.exists()) == ([], False)


def test_a_review_changes_only_the_rows_it_names(state):
    state.log_dedup([decided("one"), decided("two"), decided("three")])
    state.set_reviewed([1, 3], "confirmed")
    assert [row.review_status for row in state.dedup_log()] == ["confirmed", "unreviewed", "confirmed"]


def test_a_decision_that_cannot_be_logged_has_the_number_0(tmp_path):
    (tmp_path / "local").write_text("a file where the directory should be")
    assert State(tmp_path / "local" / "state.db", private=False).log_dedup([decided("one")]) == [0]


def test_the_log_of_exact_copies_does_not_grow_for_ever_and_no_other_row_is_dropped(state):
    copy = decided("copy", "hash_exact")._replace(rejected=None)
    state.log_dedup([decided("first"), copy, *[copy] * 1_500])
    state.log_dedup([copy])
    kept = state.dedup_log()
    assert (len(kept), kept[-1]) == (1_001, decided("first", number=1))


def test_tokens_are_summed_by_day_across_processes_and_can_be_given_back(state, path):
    other = State(path, private=False)
    assert [state.spend("2026-01-15", 100), other.spend("2026-01-15", 50), state.spend("2026-01-15", -30)] == [
        100,
        150,
        120,
    ]
    assert state.spend("2026-01-16", 7) == 7


def test_half_a_character_is_not_noted_and_no_failure(state):
    state.record_use([("mm-\ud800", NOON)])
    assert state.uses_of("mm-\ud800") == []
    state.record_use([("mm-a", NOON)])
    assert set(state.usage()) == {"mm-a"}
