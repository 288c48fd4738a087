"""The database of the index beside the stores: what it takes in, who may hold it, and what is left of what was purged."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import pytest
from helpers import memory_line
from searching import ask, fresh, is_untouched, opened, write

from memsync import Memsync
from memsync.agents.hooks import answer
from memsync.clients.facts import find
from memsync.records import Memory

LINES = {f"mm-{n:02d}": f"note {n} about the queue" for n in range(6)}
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def place(tmp_path) -> Path:
    """Return a directory with a store and an index of it."""
    write(tmp_path, [])
    put(tmp_path, LINES)
    made = opened(tmp_path)[1]
    assert made.index
    made.file.close()
    return tmp_path


def put(place: Path, lines: dict[str, str]) -> None:
    memories(place).write_text("".join(memory_line(id_, text) for id_, text in lines.items()))


def memories(place: Path, scope: str = "project") -> Path:
    return place / scope / "memories.jsonl"


def slots(place: Path) -> dict[str, int]:
    """Return the row of each memory, as a new process has it."""
    made = opened(place)[1]
    found = made.file.ask(lambda rows: dict(rows.ask("SELECT id, slot FROM record").fetchall()))
    made.file.close()
    return found


def test_rows_of_lines_that_stay_stay_whatever_moves_around_them(place):
    before = slots(place)
    put(place, dict(reversed(LINES.items())))
    assert slots(place) == before
    put(place, {"mm-0": "zebras", **LINES})
    after = slots(place)
    assert {id_: slot for id_, slot in after.items() if id_ in before} == before
    assert ask(opened(place)[1], "zebras").ids == ["mm-0"]


def test_a_file_in_which_lines_came_and_went_is_compared_and_not_read(place):
    changed = {id_: text for id_, text in LINES.items() if id_ != "mm-03"} | {"mm-01": "zebras", "mm-09": "okapis"}
    put(place, changed)
    stores, made = opened(place)
    assert made.file.ask(lambda rows: {id_ for (id_,) in rows.ask("SELECT id FROM record")}) == changed.keys()
    assert stores["project"].stamp is None
    assert ask(made, "zebras") == fresh(place, "zebras")


@pytest.mark.parametrize(
    "added",
    [
        memory_line("mm-00", LINES["mm-00"]),
        memory_line("mm-00", "zebras"),
        memory_line("mm-09", "zebras") * 2,
        '{"deleted_at":"2026-11-22T00:00:00Z","id":"mm-00"}\n',
        '{"content":"zebras"}\n',
        "\n",
        "<<<<<<< ours\n",
        memory_line("mm-09", "zebras").rstrip(),
    ],
)
def test_a_file_in_which_not_each_line_stands_for_itself_is_read(place, added):
    with memories(place).open("a") as file:
        file.write(added)
    stores, made = opened(place)
    found = made.file.ask(lambda rows: sorted(id_ for (id_,) in rows.ask("SELECT id FROM record")))
    assert stores["project"].stamp is not None
    assert found == sorted(stores["project"].ids())
    assert [ask(made, text) for text in ("zebras", "note 0")] == [fresh(place, text) for text in ("zebras", "note 0")]


def test_a_file_beside_which_something_waits_is_read(place):
    waiting = opened(place)[0]["project"].place.pending
    waiting.parent.mkdir(exist_ok=True)
    waiting.write_text(memory_line("mm-09", "zebras"))
    stores, made = opened(place)
    assert ask(made, "zebras").ids == ["mm-09"]
    assert stores["project"].stamp is not None


def test_a_word_that_nobody_says_any_more_is_in_no_row(place):
    put(place, {**LINES, "mm-okapi": "an okapi hides"})
    assert "mm-okapi" in slots(place)
    put(place, LINES)
    assert slots(place).keys() == LINES.keys()
    path = opened(place)[1].file.path
    with closing(sqlite3.connect(path)) as rows:
        assert rows.execute("SELECT word FROM word WHERE word LIKE 'okap%'").fetchall() == []
        rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"okapi" not in path.read_bytes()


def test_who_writes_takes_in_only_what_changed(place):
    stores, made = opened(place)
    before = slots(place)
    stores["project"].known = made.file.known_of("project")
    with stores["project"].writing():
        stores["project"].add([Memory(id="new", content="zebras")])
        stores["project"].remove(["mm-03"], NOW)
    made.save()
    later, after = opened(place), slots(place)
    assert after == {id_: slot for id_, slot in before.items() if id_ != "mm-03"} | {"new": after["new"]}
    assert (ask(later[1], "zebras").ids, is_untouched(later[0])) == (["new"], True)


def test_a_database_that_others_hold_is_waited_for_by_nobody_who_only_reads(place):
    stores, made = opened(place)
    with closing(sqlite3.connect(made.file.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert (ask(made, "note 4"), is_untouched(stores)) == (fresh(place, "note 4"), True)


def test_a_database_that_others_go_on_holding_is_waited_for_once(place):
    with closing(sqlite3.connect(place / "project" / "local" / "index.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        put(place, {**LINES, "mm-09": "zebras"})
        made = opened(place)[1]
        start = monotonic()
        assert made.file.ask(bool) is None
        assert monotonic() - start > 4
        start = monotonic()
        assert made.file.ask(bool) is None
        assert ask(made, "zebras").ids == ["mm-09"]
        assert monotonic() - start < 4


def test_who_is_asked_by_the_rows_and_asks_again_reads_the_files(place):
    made = opened(place)[1]

    def work(rows) -> tuple[object, int]:
        return made.file.ask(lambda _: "again"), rows.count()

    assert made.file.ask(work) == (None, len(LINES))
    assert made.file.ask(lambda rows: rows.count()) == len(LINES)


def test_a_database_that_is_removed_with_its_log_left_behind_is_made_anew(place):
    holder = opened(place)[1]
    put(place, {**LINES, "mm-09": "zebras"})
    assert ask(holder, "zebras").ids == ["mm-09"]  # what it took in is in the log
    holder.file.path.unlink()
    put(place, LINES)
    assert ask(opened(place)[1], "zebras").ids == []
    assert slots(place).keys() == LINES.keys()


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
        assert project.finder.file.path.exists()


def test_a_process_that_stays_gives_at_a_call_what_another_wrote_since_its_last_question(repo):
    call = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make fast"}, "tool_use_id": "1"}
    with Memsync.open(repo.root) as staying:
        staying.remember("Invoices are rounded per line")
        assert staying.recall("the invoices").hits  # by an index in memory, which is told of changes
        with repo.memories.open("a") as file:
            file.write(
                json.dumps({"id": "mm-made01", "content": "make fast is gone", "anchors": ["$ make fast"]}) + "\n"
            )
        assert answer(staying, find("claude"), "pre-tool", call).given == ("mm-made01",)
