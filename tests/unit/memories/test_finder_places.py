"""Where the cache of the index may be, and who may use it at once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers import memory_line
from searching import HELD, ask, everything, finder, fresh, is_untouched, opened, stores_in, write

from memsync import Memsync
from memsync.memories.finder import Finder
from memsync.memories.index_file import IndexFile
from memsync.records import Memory


def test_without_a_place_there_is_no_cache_and_the_answers_are_the_same(tmp_path):
    write(tmp_path, HELD)
    made = finder(stores_in(tmp_path), cached=False)
    answers = [ask(made, "tests") for _ in range(2)]
    assert (made.file.path, made.rebuild(), answers[0]) == (None, 4, answers[1])
    assert not list(tmp_path.rglob("index*"))


@pytest.mark.parametrize("obstacle", ["local", "local/index.db"])
def test_a_place_that_cannot_be_written_to_is_no_error(tmp_path, obstacle):
    write(tmp_path, HELD)
    path = tmp_path / "project" / obstacle
    path.parent.mkdir(parents=True, exist_ok=True)
    if obstacle.endswith(".db"):
        path.mkdir()
    else:
        path.write_text("in the way")
    for _ in range(2):
        assert ask(opened(tmp_path)[1], "friday").ids == ["p2"]
    assert path.is_dir() == obstacle.endswith(".db")


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED: root may write everywhere; run as another user")
def test_a_read_only_place_is_no_error(tmp_path):
    write(tmp_path, HELD)
    (tmp_path / "project").chmod(0o500)
    try:
        assert ask(opened(tmp_path)[1], "friday").ids == ["p2"]
    finally:
        (tmp_path / "project").chmod(0o700)


def test_a_private_cache_is_for_its_owner_only(tmp_path):
    before = os.umask(0)
    try:
        stores = stores_in(tmp_path)
        write(tmp_path, HELD)
        file = IndexFile(stores, stores["global"].place, embedder="none", stop_words=True)
        made = Finder(stores, file, is_brief=False)
        ask(made, "tests")
    finally:
        os.umask(before)
    local = tmp_path / "global" / "local"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (local, made.file.path)}
    assert modes == {"local": 0o700, "index.db": 0o600}


def test_under_stealth_nothing_is_written_in_the_work_tree(repo, home):
    repo.write_memories(memory_line("a", "tests run with uv"))
    (home / ".gobby").mkdir()
    (home / ".gobby" / "config.yaml").write_text("memory_sync:\n  stealth: true\n")
    before = sorted(repo.root.rglob("*"))
    with Memsync.open(repo.root) as memsync:
        memsync.remember("private tests")
        assert len(memsync.recall("tests")) == 2
        assert len(memsync.recall("tests")) == 2
        assert memsync.finder.file.path.is_relative_to(home)
    assert memsync.finder.file.path.exists()
    assert [path for path in sorted(repo.root.rglob("*")) if ".git" not in path.parts] == [
        path for path in before if ".git" not in path.parts
    ]
    with Memsync.open(repo.root) as memsync:
        assert len(memsync.recall("tests")) == 2
        assert memsync.stores["private"].stamp is None


def test_where_nothing_was_ever_remembered_a_search_makes_no_directory(project, repo, home):
    assert (len(project.recall("anything")), project.finder.file.path) == (0, None)
    assert sorted(path.name for path in repo.root.iterdir()) == [".git", "README"]
    assert not (home / ".gobby").exists()


@pytest.fixture
def place(tmp_path) -> Path:
    """Return a directory with three stores and a cache of them."""
    write(tmp_path, HELD)
    assert ask(opened(tmp_path)[1], "friday").ids == ["p2"]
    return tmp_path


def test_threads_that_all_ask_first_share_one_index_that_hears_of_every_write(place):
    stores, made = opened(place)
    made.file.path.unlink()
    turns, answers = threading.Barrier(8), []

    def work() -> None:
        turns.wait()
        answers.append(ask(made, "tests"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [fresh(place, "tests")] * 8
    with stores["global"].writing():
        stores["global"].add([Memory(id="g2", content="zebras")])
    assert ask(made, "zebras").ids == ["g2"]


def test_writers_and_readers_in_one_process_leave_a_cache_of_one_moment(place):
    stores, made = opened(place)
    done = threading.Event()

    def write_on() -> None:
        for n in range(40):
            with stores["project"].writing():
                stores["project"].add([Memory(id=f"w{n}", content=f"zebra number{n}")])
        done.set()

    writer = threading.Thread(target=write_on)
    writer.start()
    while not done.is_set():
        made.refresh()
        made.search("zebra", limit=5, allow=everything, is_mine=lambda _: False)
        made.save()
    writer.join()
    made.save()
    stores, late = opened(place)
    found = [ask(late, "number7"), *(ask(opened(place)[1], f"number{n}") for n in range(40))]
    assert is_untouched(stores)
    assert [answer.ids[0] for answer in found] == ["w7", *(f"w{n}" for n in range(40))]


@pytest.mark.parametrize("has_old", [False, True])
def test_processes_that_all_make_the_cache_at_once_answer_alike_and_leave_a_whole_one(place, has_old):
    with (place / "project" / "memories.jsonl").open("a") as file:
        file.write(memory_line("new", "friday is a new day"))
    if not has_old:
        opened(place)[1].file.path.unlink()
    expected = fresh(place, "friday tests")
    script = (
        "import sys, json; from pathlib import Path; from searching import *;"
        "sys.stdin.read(1); made = finder(stores_in(Path(sys.argv[1])));"
        "print(json.dumps([[m[1], sum(m[3])] for m in ask(made, 'friday tests').matches]))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    crew = [
        subprocess.Popen([sys.executable, "-c", script, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        for _ in range(5)
    ]
    for process in crew:
        process.stdin.write(b"!")
        process.stdin.flush()
    said = [json.loads(process.communicate()[0]) for process in crew]
    assert said == [[[match[1], sum(match[3])] for match in expected.matches]] * 5
    stores, made = opened(place)
    assert (ask(made, "friday tests"), is_untouched(stores)) == (expected, True)
    left = {path.name.removesuffix("-wal").removesuffix("-shm") for path in made.file.path.parent.iterdir()}
    assert {name for name in left if not name.startswith("lock")} == {".gitignore", "index.db"}
