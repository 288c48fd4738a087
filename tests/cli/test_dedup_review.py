"""What dedup rejected, reviewed at a real terminal by `memsync review --kind rejection`: one keypress per pair."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

import pytest

from memsync import Memsync
from memsync.store.state import Dedup

pty = pytest.importorskip("pty", reason="terminals are POSIX")

KEPT = "Run make fmt before every commit; CI rejects unformatted Go."
REJECTED = ("Run make fmt before each commit.", "Run make lint before every commit.", "CI rejects Go.")


def talk(words: list[str], keys: list[str], prompt: str) -> str:
    """Run memsync at a terminal, press the next of *keys* at each *prompt*, and return all that it showed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "memsync", *words])
    shown, answered, keys = b"", 0, list(keys)
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:  # Linux's way to say that the other side is closed
            break
        if not part:
            break
        shown += part
        while keys and shown.count(prompt.encode()) > answered:
            os.write(fd, keys.pop(0).encode())
            answered += 1
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown.decode()
    return shown.decode()


@pytest.fixture
def review(project, repo, line, monkeypatch) -> Callable[[list[str]], str]:
    """Return a function that reviews three rejections and one copy with these keys."""
    repo.write_memories(line("mm-a", KEPT))
    rows = [("hash_exact", KEPT), *(("auto_reject", text) for text in reversed(REJECTED))]
    project.state("project").log_dedup(
        Dedup(project.clock(), text, "mm-a", KEPT, 0.9, decision, "why", None, line(f"mm-{n}", text).strip().encode())
        for n, (decision, text) in enumerate(rows)
    )
    monkeypatch.chdir(repo.root)
    return lambda keys: talk(["review", "--kind", "rejection"], keys, "q quit")


def outcome(project: Memsync) -> tuple[list[str], set[str]]:
    project.stores.refresh()
    rows = project.state("project").dedup_log()
    live = {memory.content for memory in project.store("project").memories().values()}
    return [row.review_status for row in rows], live - {KEPT}


def test_one_key_confirms_the_next_brings_back_and_the_last_leaves_it(review, project):
    shown = review(["a", "x", "j", "q"])
    assert outcome(project) == (["confirmed", "reversed", "unreviewed", "unreviewed"], {REJECTED[1]})
    assert "1/3" in shown


def test_what_differs_is_marked(review):
    shown = review(["q"])
    assert "\x1b[31m\x1b[1meach\x1b[0m" in shown
    assert "\x1b[32m\x1b[1mevery\x1b[0m" in shown


@pytest.mark.parametrize("key", ["q", "\x04", "Q"])
def test_stopping_keeps_what_was_decided(review, project, key):
    review(["?\x1b[Aa", key])  # other keys count for nothing
    assert outcome(project) == (["confirmed", "unreviewed", "unreviewed", "unreviewed"], set())


def test_remember_at_a_terminal_asks_whether_it_replaces_what_it_contradicts(project, repo, monkeypatch):
    old = project.remember("The API listens on port 8080").entry
    monkeypatch.chdir(repo.root)
    words, question = ["memory", "remember", "The API listens on port 8081"], f"does this replace {old.id}? [y/N]"
    assert "no longer true?" in talk(words, ["n\n"], question)
    assert project.get(old.id).memory.archived_at is None
    said = talk([*words[:2], "The API listens on port 8082"], ["y\n", "y\n"], "? [y/N]")
    assert re.search(rf"replaces (mm-\w+, )?{old.id}", re.sub(r"\x1b\[\d*m", "", said))
    project.stores.refresh()
    assert [entry.content for entry in project.memories()] == ["The API listens on port 8082"]
