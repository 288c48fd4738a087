"""`memsync rm --purge`: whatever became of a memory before, no file of ours holds a word of it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from calling import connected
from helpers import GitRepo, memory_line, memsync
from mcp.client.stdio import StdioServerParameters, stdio_client

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
    "updated many times, with tags": [
        ["update", "{id}", "--content", f"{TEXT} {n}", "--tags", "zebrafoots"] for n in range(3)
    ],
    "exported and synced": [["export"], ["sync"]],
}


def find_traces(*roots: Path) -> list[Path]:
    """Return every file below *roots* that holds the mark; of git's own folder only those that are ours."""
    files = (path for root in roots for path in root.rglob("*") if path.is_file() and not is_of_git(path))
    return [path for path in files if MARK in path.read_bytes().lower()]


def is_of_git(path: Path) -> bool:
    """Tell whether *path* is in a folder of git's, and in none of ours there."""
    return ".git" in path.parts and not any("memsync" in part for part in path.parts[path.parts.index(".git") :])


def run(repo: GitRepo, *words: str) -> str:
    done = memsync(*words, cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def look(repo: GitRepo, home: Path, id_: str) -> None:
    """See that nothing is left, and that nothing brings it back."""
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


def remember(repo: GitRepo, *options: str) -> str:
    run(repo, "remember", "Prices are integers in cents")
    return json.loads(run(repo, "remember", TEXT, *options, "--json"))["memory"]["id"]


def purge(repo: GitRepo, id_: str, home: Path) -> None:
    """Purge, and see that nothing is left, that nothing brings it back, and that the other memory stays."""
    run(repo, "rm", "--purge", id_)
    look(repo, home, id_)


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


def test_nothing_is_left_while_an_mcp_server_is_open_that_gave_it_nor_when_it_has_ended(repo: GitRepo, home: Path):
    id_ = remember(repo)
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "memsync", "mcp", "--whole"], cwd=repo.root, env=dict(os.environ)
    )
    with connected(stdio_client(parameters)) as caller:
        assert TEXT in str(caller.call("recall", query="where is the zebrafoot warehouse copied to?"))
        purge(repo, id_, home)
        assert TEXT not in str(caller.call("recall", query="what is copied to the second region?"))
        assert find_traces(repo.root, home) == []
    look(repo, home, id_)


def test_nothing_is_left_while_a_server_answers_commands_nor_when_it_has_ended(repo: GitRepo, home: Path):
    id_ = remember(repo)
    command = [sys.executable, "-m", "memsync", "serve"]
    with subprocess.Popen(command, cwd=repo.root, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout
            assert server.stdout.readline()
            assert TEXT in run(repo, "recall", "zebrafoot", "warehouse")
            purge(repo, id_, home)
            assert TEXT not in run(repo, "recall", "the", "second", "region")
            assert find_traces(repo.root, home) == []
        finally:
            server.terminate()
    look(repo, home, id_)


@pytest.mark.parametrize("where", [[], ["--private"]])
def test_nothing_is_left_of_what_a_linked_worktree_was_told_and_changed(where: list[str], repo: GitRepo, home: Path):
    linked = GitRepo(repo.root.with_name("linked"))
    repo.git("worktree", "add", "-q", str(linked.root))
    id_ = remember(linked, *where)
    run(linked, "update", id_, "--content", f"{TEXT} at night")
    assert TEXT in run(linked, "recall", "zebrafoot", "warehouse")
    memsync("recall", "zebrafoot", "warehouse", cwd=repo.root)
    run(linked, "rm", "--purge", id_)
    assert find_traces(repo.root, linked.root, home) == []
    look(linked, home, id_)
    look(repo, home, id_)


def test_nothing_is_left_of_a_text_that_lost_in_a_merge_and_was_kept_beside(repo: GitRepo, home: Path):
    lost = memory_line("mm-losing", TEXT, conflict_of="mm-winner")
    repo.write_memories(memory_line("mm-winner", "Prices are integers in cents") + lost)
    run(repo, "update", "mm-losing", "--content", f"{TEXT} at night")
    purge(repo, "mm-losing", home)


def test_nothing_is_left_of_what_was_imported_but_the_file_that_it_came_from(repo: GitRepo, home: Path, tmp_path: Path):
    source = tmp_path / "notes.json"
    source.write_text(json.dumps([{"content": TEXT}]))
    run(repo, "import", str(source))
    (id_,) = (one["id"] for one in json.loads(run(repo, "list", "--json"))["memories"])
    purge(repo, id_, home)


def test_nothing_is_left_of_a_candidate_that_would_replace_the_memory(repo: GitRepo, home: Path):
    id_ = remember(repo)
    with Project.open(repo.root) as project:
        Candidates(project).propose([Proposal(memory=Memory("", f"{TEXT} at noon", supersedes=(id_,)))])
    purge(repo, id_, home)
