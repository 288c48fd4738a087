"""The finder: from the cache while that is what the files say, else from the files."""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest
from helpers import memory_line, memsync
from searching import BUILTIN, HELD, ask, finder, fresh, index, is_untouched, opened, stores_in, write

from memsync import Memsync
from memsync.errors import ConfigError, OutsideTree, StoreUnreadable
from memsync.format.versions import copy_id
from memsync.records import Memory
from memsync.store.places import Place
from memsync.store.store import Store


@pytest.fixture
def place(tmp_path) -> Path:
    """Return a directory with three stores and a cache of them."""
    write(tmp_path, HELD)
    assert ask(opened(tmp_path)[1], "friday").ids == ["p2"]
    return tmp_path


def memories(place: Path, scope: str = "project") -> Path:
    return place / scope / "memories.jsonl"


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write(memory_line("new", "friday is a new day"))


def edit_in_place(path: Path) -> None:
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data.replace(b"friday", b"sunday"))
    os.utime(path, ns=(1, 1))  # the clock of a file system may tick too slowly to tell


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"friday", b"sunday"))
    other.replace(path)


def touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def by_memsync(path: Path) -> None:
    store = Store(Place("project", path.parent, None, private=False))
    with store.writing():
        store.add([Memory(id="new", content="friday is written by memsync")])
        store.remove(["p2"], datetime(2026, 1, 15, tzinfo=UTC))
    store.export()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


CHANGES = [append, edit_in_place, replace, touch, by_memsync, Path.unlink]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_cache_older_than_a_file_is_seen_and_the_next_process_has_one_that_fits(
    place, change: Callable[[Path], None]
):
    change(memories(place))
    expected = fresh(place, "friday")
    for is_fresh in (False, True):
        stores, made = opened(place)
        assert made.file.describe()["fresh"] == is_fresh
        assert ask(made, "friday") == expected
        assert is_untouched(stores)


@pytest.mark.parametrize("change", [*CHANGES, tear], ids=lambda change: change.__name__)
def test_where_more_than_a_few_lines_differ_an_index_is_made_and_the_next_process_has_it(place, monkeypatch, change):
    monkeypatch.setattr("memsync.memories.index_file.MOST", -1)
    change(memories(place))
    expected = fresh(place, "friday")
    for is_fresh in (False, True):
        stores, made = opened(place)
        assert (made.file.describe()["fresh"], made.file.is_made_anew) == (is_fresh, False)
        assert ask(made, "friday") == expected
        assert is_untouched(stores)


@pytest.mark.parametrize("scope", ["private", "global"])
@pytest.mark.parametrize("change", [append, Path.unlink], ids=lambda change: change.__name__)
def test_a_change_of_any_store_counts(place, scope, change):
    change(memories(place, scope))
    assert not opened(place)[1].file.describe()["fresh"]
    stores, made = opened(place)
    assert ask(made, "friday tests") == fresh(place, "friday tests")
    assert is_untouched(stores)


def test_a_file_that_was_not_there_before_is_seen(tmp_path):
    write(tmp_path, HELD[:2])
    assert ask(opened(tmp_path)[1], "tests").ids == ["p1"]
    write(tmp_path, HELD)
    assert set(ask(opened(tmp_path)[1], "tests").ids) == {"p1", "s1", "g1"}


def test_a_running_finder_follows_its_stores_and_others(place):
    stores, made = opened(place)
    ask(made, "tests")
    with stores["project"].writing():
        stores["project"].add([Memory(id="p3", content="written here about zebras")])
    append(memories(place, "global"))
    assert (ask(made, "zebras").ids, set(ask(made, "friday").ids)) == (["p3"], {"p2", "new"})
    made.save()
    stores, made = opened(place)
    assert (ask(made, "zebras").ids, is_untouched(stores)) == (["p3"], True)


class Interrupt:
    """Raises KeyboardInterrupt when store and index come to their line number *moment*."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self, frame: FrameType, event: str, _: object) -> Interrupt | None:
        if Path(frame.f_code.co_filename).name not in {"core.py", "lexical.py", "store.py"}:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def test_an_update_that_is_cut_off_at_any_line_leaves_no_wrong_index_and_no_wrong_cache(place):
    before = {scope: memories(place, scope).read_bytes() for scope in ("project", "global")}
    for moment in range(1, 500):
        made = opened(place)[1]
        assert made.index
        append(memories(place))
        interrupt = Interrupt(moment)
        sys.settrace(interrupt)
        with suppress(KeyboardInterrupt):
            made.refresh()
        sys.settrace(None)
        made.save()
        append(memories(place, "global"))
        made.refresh()
        assert ask(opened(place)[1], "friday") == ask(made, "friday") == fresh(place, "friday"), moment
        for scope, data in before.items():
            memories(place, scope).write_bytes(data)
        if interrupt.left > 0:
            return
    pytest.fail("the update has no end")


def test_what_was_written_and_put_in_order_by_one_process_is_cached_for_the_next(project, repo):
    project.remember("tests run with uv")
    assert len(project.recall("tests")) == 1
    project.remember("deploy on friday")
    project.close()
    later = type(project).open(repo.root)
    assert [hit.content for hit in later.recall("friday")] == ["deploy on friday"]
    assert [store.stamp for store in later.stores.values()] == [None, None, None]


def test_in_another_home_the_cache_fits_after_the_first_recall(repo, tmp_path):
    other = {"MEMSYNC_HOME": str(tmp_path / "other")}
    memsync("remember", "tests run with uv", cwd=repo.root)
    memsync("recall", "tests", cwd=repo.root)
    memsync("remember", "--global", "I like tabs", cwd=repo.root)
    for env in ({}, other, {}, other):
        assert "uv" in memsync("recall", "tests", cwd=repo.root, env=env).out
        assert memsync("index", "status", "--json", cwd=repo.root, env=env).json["fresh"], env


def test_what_another_process_has_written_and_cached_between_two_looks_of_one_is_found(repo, clock):
    def opened() -> Memsync:
        return Memsync.open(repo.root, clock=clock)

    with opened() as project:
        for name in ("Alder", "Birch", "Cedar"):
            project.remember(f"{name} is released by the {name.lower()} crew", scope="project")
    with opened() as project:
        project.finder.rebuild()
    with opened() as first:
        assert first.remember("Alder is released by the alder crew", scope="project").status == "exists"
        with opened() as second:
            second.remember("The quota of the archive is 40 GB", scope="project")
        first.remember("Nightly jobs start at two", scope="project")
    with opened() as project:
        assert [hit.content for hit in project.recall("quota of the archive")] == ["The quota of the archive is 40 GB"]


def test_a_process_that_asks_once_loads_no_numpy(project, repo):
    project.remember("tests run with uv")
    project.recall("tests")
    project.close()
    script = (
        "import sys; from memsync import Memsync; print(len(Memsync.open('.').recall('test')), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=repo.root, capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"


@pytest.mark.parametrize(
    "shape", ["blank", "crlf", "bom", "nameless", "junk", "torn", "conflict", "diff3", "duplicates", "foreign"]
)
def test_lines_of_every_shape_are_read_at_their_place(tmp_path, shape):
    one, two = memory_line("a", "first tests é"), memory_line("b", "second tests 日本")
    text = {
        "blank": f"\n{one}\n \n{two}\n",
        "crlf": f"{one}{two}".replace("\n", "\r\n"),
        "bom": f"\ufeff{one}\ufeff{two}",
        "nameless": f"{json.dumps({'content': 'nameless tests'})}\n{two}",
        "junk": f"# tests\n[1]\n{one}{{\n{two}",
        "torn": f"{one}{two.rstrip()}",
        "conflict": f"{one}<<<<<<< a\n{two}=======\n{memory_line('c', 'theirs tests', updated_at='2026-01-01')}>>>>>>> b\n",
        "diff3": f"{one}{two}<<<<<<< a\n||||||| base\n{memory_line('c', 'base tests')}=======\n>>>>>>> b\n",
        "duplicates": f"{one}{two}{memory_line('a', 'last tests')}{two}",
        "foreign": '{"type":"note", "id":"x", "content":"tests \\ud83d\\ude42", "big": 123456789012345678901234567890}\n',
    }[shape]
    memories(tmp_path).parent.mkdir()
    memories(tmp_path).write_text(text, newline="")
    expected = ask(opened(tmp_path)[1], "tests")
    stores, made = opened(tmp_path)
    assert (ask(made, "tests"), is_untouched(stores)) == (expected, True)
    assert len(expected.ids) == {"foreign": 1, "conflict": 3}.get(shape, 2)


def test_a_record_merged_from_both_sides_of_a_conflict_is_found_though_it_stands_on_no_line(tmp_path):
    sides = [memory_line("a", f"{side} tests", updated_at=f"2026-01-0{day}") for side, day in (("our", 1), ("new", 2))]
    memories(tmp_path).parent.mkdir()
    memories(tmp_path).write_text("<<<<<<< a\n{}=======\n{}>>>>>>> b\n".format(*sides))
    for _ in range(2):
        assert sorted(ask(opened(tmp_path)[1], "tests").ids) == ["a", copy_id("a", "our tests")]


def test_lines_with_problems_are_reported_though_no_store_was_read(repo, project):
    repo.write_memories(f"{memory_line('a', 'tests')}junk\n")
    project.recall("tests")
    problems = list(project.finder.find_problems())
    later = type(project).open(repo.root)
    assert len(later.recall("tests")) == 1
    assert [(path, tuple(first)) for path, first in later.finder.find_problems()] == problems
    assert (problems[0][0], problems[0][1][:2]) == (repo.memories, (1, 2))
    assert all(store.stamp is None for store in later.stores.values())


def test_a_rebuilt_index_asks_no_rows(place):
    path = opened(place)[1].file.path
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute("DELETE FROM term")
    assert ask(opened(place)[1], "friday").ids == []
    assert opened(place)[1].rebuild() == 4
    stores, made = opened(place)
    assert (ask(made, "friday").ids, is_untouched(stores)) == (["p2"], True)


def test_an_index_that_was_replaced_is_not_held(place):
    one = opened(place)[1]
    old = weakref.ref(one.index)
    one.rebuild()
    gc.collect()
    assert old() is None


def test_an_index_whose_stores_tell_another_one_is_made_again(place):
    stores, one = opened(place)
    other = finder(stores)
    assert [len(each.index) for each in (one, other)] == [4, 4]
    append(memories(place))
    assert ["new" in ask(each, "friday").ids for each in (other, one, other)] == [True, True, True]


def test_the_status_says_whether_the_cache_is_what_the_files_are(place):
    keys = ("memories", "fresh", "embedder", "vectors", "degraded")
    state = opened(place)[1].file.describe()
    # More than the one page that stands in the file so far: the rest is beside it.
    assert (state["path"], state["bytes"] > 4096) == (str(opened(place)[1].file.path), True)
    assert tuple(state[key] for key in keys) == (4, True, "none", False, "")
    append(memories(place))
    assert opened(place)[1].file.describe()["fresh"] is False
    assert finder(stores_in(place), embedder="builtin").file.describe()["fresh"] is False
    finder(stores_in(place), embedder="builtin").rebuild()
    state = finder(stores_in(place), embedder="builtin").file.describe()
    assert tuple(state[key] for key in keys) == (5, True, BUILTIN.id, True, "")


@pytest.mark.parametrize("cached", [True, False])
def test_a_file_that_cannot_be_read_is_an_error_that_says_so(place, cached):
    if not cached:
        opened(place)[1].file.path.unlink()
    memories(place).unlink()
    memories(place).mkdir()
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        ask(opened(place)[1], "tests")


@pytest.mark.parametrize("cached", [True, False])
def test_a_link_out_of_the_repository_is_not_followed(repo, project, tmp_path, cached):
    repo.write_memories(memory_line("a", "tests"))
    if cached:
        project.recall("tests")
    (tmp_path / "secret").write_text(memory_line("b", "secret tests"))
    repo.memories.unlink()
    repo.memories.symlink_to(tmp_path / "secret")
    with pytest.raises(OutsideTree):
        type(project).open(repo.root).recall("tests")


def test_a_setting_that_names_no_embedder_is_an_error_that_lists_them(tmp_path):
    with pytest.raises(ConfigError, match=r"memory\.embedder: .*builtin"):
        finder(stores_in(tmp_path), embedder="nonsense")


def test_the_answer_is_that_of_an_index_of_all_records(place):
    contents = [memory.content for _, memory in HELD]
    gates = [ask(searched, "friday tests").gate for searched in (opened(place)[1], index(*contents))]
    assert gates[0] == gates[1] > 0
