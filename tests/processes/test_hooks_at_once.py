"""Hooks of many sessions in one instant: one makes the index, and all answer.

`MEMSYNC_CHECK_CROWD=20 MEMSYNC_CHECK_MEMORIES=FILE` asks twenty with the memories of FILE, in the time that users have.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from helpers import memory_line, memsync, until

from memsync import Memsync

CROWD = int(os.environ.get("MEMSYNC_CHECK_CROWD") or 3)
MEMORIES = os.environ.get("MEMSYNC_CHECK_MEMORIES")
FACT = "The staging database of the harbour office listens on port 5433"
RECALL = "import sys\nfrom memsync.cli.app import run\ntry: run(['memory', 'recall', 'harbour office'])\nfinally: print('numpy' in sys.modules)"
CLAIM = "import sys\nfrom memsync.agents import entry\nprint(flush=True), sys.stdin.readline()\nprint(entry._claim(sys.argv[1]))"


def ask_all(root: Path, name: str) -> list[bool]:
    """Ask in one instant, and return who had the answer."""

    def ask(number: int) -> bool:
        payload = {
            "session_id": f"{name}{number}",
            "prompt": "which port has the staging database at the harbour office?",
        }
        ran = memsync("hook", "prompt", cwd=root, stdin=json.dumps(payload))
        return FACT in ran.out and not ran.err

    with ThreadPoolExecutor(CROWD) as pool:
        return list(pool.map(ask, range(CROWD)))


def test_hooks_of_many_sessions_all_answer(repo, monkeypatch):
    if MEMORIES:
        monkeypatch.delenv("MEMSYNC_HOOK_SECONDS")
    others = Path(MEMORIES).read_text() if MEMORIES else "".join(memory_line(f"m{n}", f"note {n}") for n in range(50))
    repo.write_memories(others + memory_line("mm-fact22", FACT, importance=1.0))
    assert ask_all(repo.root, "cold") == [True] * CROWD
    with open(repo.memories, "a") as file:
        file.write(memory_line("mm-hand22", "a line by hand"))
    assert ask_all(repo.root, "changed") == [True] * CROWD


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="NOT TESTED: who waits for a lock is read in /proc")
def test_who_waits_for_the_index_is_answered_from_what_another_saved(repo):
    repo.write_memories(memory_line("mm-fact22", FACT))
    with Memsync.open(repo.root) as project, closing(sqlite3.connect(":memory:")) as made:
        project.search("harbour office")
        path = project.finder.file.path
        with closing(sqlite3.connect(path)) as rows:
            rows.backup(made)
        project.finder.file.drop()
        path.touch()
        with closing(sqlite3.connect(path, isolation_level=None)) as maker:
            maker.execute("PRAGMA journal_mode = WAL")
            maker.execute("BEGIN IMMEDIATE")
            words = [sys.executable, "-c", RECALL]
            with subprocess.Popen(words, cwd=repo.root, stdout=subprocess.PIPE) as asks:
                until(lambda: is_open_by(path, asks.pid))
                for statement in made.iterdump():
                    if not statement.startswith(("BEGIN", "COMMIT")):
                        maker.execute(statement)
                maker.execute("COMMIT")
                out = asks.stdout.read().decode()
    assert out.startswith("mm-fact22")
    assert out.endswith("False\n")  # to make an index takes numpy


def is_open_by(path: Path, pid: int) -> bool:
    with suppress(OSError):
        return any(os.readlink(one) == str(path) for one in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_of_the_hooks_in_one_instant_one_sees_to_what_is_left(repo):
    words = [sys.executable, "-c", CLAIM, str(repo.root)]
    crew = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    for each in crew:
        each.stdout.readline()
    for each in crew:
        each.stdin.close()
    claims = []
    for each in crew:
        with each:
            claims.append(each.stdout.read())
    assert sorted(claims) == [b"False\n", b"False\n", b"True\n"]
