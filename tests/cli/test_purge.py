"""`memsync rm --purge`: whatever became of a memory before, no file of ours holds a word of it afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import GitRepo, memsync

from memsync.learn.candidates import Candidates, Proposal
from memsync.memories.project import Project
from memsync.memories.undoing import note_steps
from memsync.records import Memory
from memsync.store.state import Dedup

TEXT = "The zebrafoot warehouse is copied to the second region"
MARK = b"zebrafoot"
HISTORIES: dict[str, list[list[str]]] = {
    "plain": [],
    "updated": [["update", "{id}", "--content", TEXT.replace("second", "third")]],
    "a text was added to it": [["remember", f"{TEXT}, every night at two"]],
    "an exact copy was rejected": [["remember", TEXT]],
    "a near copy was rejected": [["remember", TEXT.replace("The zeb", "the zeb") + "."]],
    "superseded": [["remember", "Backups go to the third region", "--supersedes", "{id}"]],
    "undone and done again": [["undo"], ["undo", "--redo"]],
    "recalled": [["recall", "zebrafoot", "warehouse"], ["show", "{id}"]],
    "forgotten": [["rm", "{id}"]],
    "private": [["unshare", "{id}"]],
}


def find_traces(*roots: Path) -> list[Path]:
    """Return every file below *roots*, git's own aside, that holds the mark."""
    files = (path for root in roots for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return [path for path in files if MARK in path.read_bytes().lower()]


def run(repo: GitRepo, *words: str) -> str:
    done = memsync(*words, cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def remember(repo: GitRepo, *options: str) -> str:
    run(repo, "remember", "Prices are integers in cents")
    return json.loads(run(repo, "remember", TEXT, *options, "--json"))["memory"]["id"]


def purge(repo: GitRepo, id_: str, home: Path) -> None:
    """Purge, and see that nothing is left, that nothing brings it back, and that the other memory stays."""
    run(repo, "rm", "--purge", id_)
    assert find_traces(repo.root, home) == []
    for words in (
        ["memory", "dedup", "reverse", "1"],
        ["restore", id_],
        ["undo"],
        ["janitor", "undo"],
        ["undo", "--redo"],
    ):
        memsync(*words, cwd=repo.root)
        assert find_traces(repo.root, home) == [], words


@pytest.mark.parametrize("history", HISTORIES)
def test_nothing_is_left_of_a_memory_that_was(history: str, repo: GitRepo, home: Path):
    id_ = remember(repo)
    for words in HISTORIES[history]:
        run(repo, *(word.format(id=id_) for word in words))
    assert find_traces(repo.root, home)
    purge(repo, id_, home)
    assert "Prices are integers in cents" in run(repo, "list")


@pytest.mark.parametrize("where", ["--private", "--global"])
def test_nothing_is_left_in_other_stores_of_a_memory_to_which_a_text_was_added(where: str, repo: GitRepo, home: Path):
    id_ = remember(repo, where)
    run(repo, "remember", f"{TEXT}, every night at two", where)
    purge(repo, id_, home)


def test_nothing_is_left_of_a_copy_that_the_janitor_merged(repo: GitRepo, home: Path):
    id_ = remember(repo)
    with repo.memories.open("a") as file:
        file.write(json.dumps({"id": "mm-copy22", "content": f"{TEXT}."}) + "\n")
    run(repo, "janitor", "run")
    kept = [one["id"] for one in json.loads(run(repo, "list", "--json"))["memories"] if "zebrafoot" in one["content"]]
    assert len(kept) == 1, id_
    purge(repo, kept[0], home)


def test_nothing_is_left_of_a_likely_copy_that_was_kept_and_the_other_text_stays(repo: GitRepo, home: Path):
    id_ = remember(repo)
    with Project.open(repo.root) as project:
        other = project.remember("Backups lie in the third region").entry
        row = Dedup(project.clock(), other.content, id_, TEXT, 0.9, "fallback_keep", "perhaps")
        project.state("project").log_dedup([row])
    purge(repo, id_, home)
    assert "Backups lie in the third region" in run(repo, "list")


def test_nothing_is_left_of_a_candidate_that_was_approved_and_proposed_again(repo: GitRepo, home: Path):
    with Project.open(repo.root) as project:
        waiting = Candidates(project)
        (one,) = waiting.propose([Proposal(memory=Memory("", TEXT))])
        (done,) = waiting.approve([one.memory.id])
        note_steps(project, "approve")
        waiting.put_back(one)
    purge(repo, done.entry.id, home)


def test_nothing_is_left_of_a_memory_that_a_session_was_given(repo: GitRepo, home: Path):
    id_ = remember(repo)
    payload = {"session_id": "s1", "cwd": str(repo.root), "prompt": "where is the zebrafoot warehouse copied to?"}
    done = memsync("hook", "prompt", "--client", "claude", cwd=repo.root, stdin=json.dumps(payload))
    assert TEXT in done.out
    purge(repo, id_, home)
