"""Two lines of one id that another tool wrote: no merge of text by memsync, so nothing is chosen between them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from helpers import memory_line, memsync

TIMES = ("2026-02-01T00:00:00+00:00", "2026-02-02T00:00:00+00:00")
OLD = memory_line("bbb1", "Node 18 because of canvas", created_at=TIMES[0], updated_at=TIMES[0])
NEW = memory_line("bbb1", "The build uses Node 20", created_at=TIMES[0], updated_at=TIMES[1])
FIRST = memory_line("aaa1", "alpha record", created_at="2026-01-05T00:00:00+00:00")
LAST = memory_line("zzz1", "omega record", created_at="2026-01-01T00:00:00+00:00")
CORPUS = Path(os.environ.get("MEMSYNC_DATA", "")) / "gobby" / "corpus.jsonl"


@pytest.fixture
def doubled(repo):
    """Return a repository with a record of which another tool left two versions."""
    repo.write_memories(FIRST + OLD + NEW + LAST)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "theirs")
    return repo


def numstat(repo) -> str:
    return repo.git("diff", "--numstat", "--", ".gobby/memories.jsonl").split("\t.")[0]


def test_a_write_touches_no_line_of_another_record(doubled):
    for words, changed in ((["add", "an unrelated memory"], "1\t0"), (["update", "aaa1", "-c", "beta"], "2\t1")):
        assert memsync(*words, cwd=doubled.root).code == 0
        assert numstat(doubled) == changed
    assert OLD + NEW in doubled.memories.read_text()


def test_doctor_speaks_of_a_duplicate_and_not_of_a_merge(doubled):
    said = memsync("doctor", cwd=doubled.root).out
    assert ("duplicate id bbb1; a later line wins" in said, "merge of text" in said) == (True, False)


@pytest.mark.parametrize("words", [["update", "bbb1", "-c", "Node 22"], ["forget", "bbb1"], ["doctor", "--fix"]])
def test_a_line_that_a_write_drops_is_in_the_local_history(doubled, words):
    memsync(*words, cwd=doubled.root)
    assert "canvas" not in doubled.memories.read_text()
    kept = (doubled.memories.parent / "local" / "history.jsonl").read_text()
    assert json.loads(OLD)["content"] in kept
    assert "is gone" not in memsync("doctor", cwd=doubled.root).out
    assert memsync("restore", "bbb1", cwd=doubled.root).code == 0
    assert json.loads(NEW if words[0] != "doctor" else OLD)["content"] in doubled.memories.read_text()


def test_what_a_merge_of_text_drops_is_in_the_local_history(repo):
    """Where memsync spelled one of the two, they are merged, and the earlier one is still to be had."""
    ours = '{"content":"The build uses Node 20","created_at":"2026-02-01T00:00:00.000Z","id":"bbb1","updated_at":"2026-02-02T00:00:00.000Z"}\n'
    repo.write_memories(FIRST + OLD + ours + LAST)
    assert memsync("add", "an unrelated memory", cwd=repo.root).code == 0
    everything = repo.memories.read_text() + (repo.memories.parent / "local" / "history.jsonl").read_text()
    assert "because of canvas" in everything


@pytest.mark.skipif(not CORPUS.is_file(), reason="MEMSYNC_DATA does not name the real records")
def test_an_update_of_a_real_file_is_one_changed_line(repo):
    repo.write_memories(CORPUS.read_bytes())
    memsync("export", cwd=repo.root)
    subprocess.run(["git", "add", "-A"], cwd=repo.root, check=True)
    id_ = json.loads(CORPUS.read_text().splitlines()[100])["id"]
    assert memsync("update", id_, "--importance", "0.9", cwd=repo.root).code == 0
    assert numstat(repo) == "1\t1"
