"""A memory file that git left in conflict: it serves on, and is written clean by what git's index knows."""

from __future__ import annotations

import subprocess

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync import Memsync
from memsync.format.jsonl import in_conflict, read_lines
from memsync.format.merge import merge
from memsync.git.conflict import resolve

OLD, EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"


def record(id_: str, text: str, updated_at: str = EARLY, **fields: object) -> str:
    return memory_line(f"mm-{id_}", text, created_at=OLD, updated_at=updated_at, **fields)


# One text edited on both sides, a tag removed beside one added, a removal beside an untouched record, additions.
BASE = record("a", "one", tags=["x", "y"]) + record("b", "two") + record("c", "three") + record("z", "last")
OURS = record("a", "ours", tags=["x"]) + record("c", "three, edited", LATE) + record("d", "new") + record("z", "last")
THEIRS = (
    record("a", "theirs", LATE, tags=["w", "x", "y"]) + record("b", "two") + record("e", "newer") + record("z", "last")
)


def conflicted(repo: GitRepo, *words: str, style: str = "merge") -> bytes:
    """Bring two versions together by `git WORDS` without any driver of ours; return the bytes that git left."""
    repo.git("config", "merge.conflictStyle", style)
    repo.write_memories(BASE)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base")
    repo.git("switch", "-qc", "other")
    for branch, text in (("other", THEIRS), ("main", OURS)):
        repo.git("switch", "-q", branch)
        repo.write_memories(text)
        repo.git("commit", "-qam", branch)
    done = subprocess.run(["git", *words], cwd=repo.root, capture_output=True, check=False)
    assert done.returncode == 1
    assert in_conflict(read_lines(repo.memories.read_bytes()))
    return repo.memories.read_bytes()


EXPECTED = merge(BASE.encode(), OURS.encode(), THEIRS.encode()).data


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
@pytest.mark.parametrize(
    "words", [("merge", "other"), ("cherry-pick", "other"), ("rebase", "other")], ids=lambda w: w[0]
)
def test_a_conflict_is_settled_by_the_versions_that_git_holds(repo, words, style):
    conflicted(repo, *words, style=style)
    with Memsync.open(repo.root) as project:
        done = resolve(project.store("project"))
    assert (done.changed, done.held) == (True, None)
    assert repo.memories.read_bytes() == EXPECTED


def test_what_was_written_into_the_file_since_is_kept(repo):
    left = conflicted(repo, "merge", "other")
    more = record("f", "written meanwhile") + record("z", "last, edited meanwhile", LATE)
    repo.memories.write_bytes(left + more.encode())
    with Memsync.open(repo.root) as project:
        resolve(project.store("project"))
        texts = {entry.content for entry in project.memories()}
    assert texts == {"ours", "theirs", "three, edited", "new", "newer", "written meanwhile", "last, edited meanwhile"}


def test_what_a_person_resolved_is_left_as_he_wants_it(repo):
    conflicted(repo, "merge", "other")
    repo.write_memories(OURS)
    with Memsync.open(repo.root) as project:
        resolve(project.store("project"))
        assert {entry.content for entry in project.memories()} == {"ours", "three, edited", "new", "last"}


def test_reading_serves_both_sides_and_writes_nothing(repo):
    left = conflicted(repo, "merge", "other")
    found = memsync("memory", "list", "--json", cwd=repo.root).json["memories"]
    assert {"ours", "theirs", "three, edited", "new", "newer", "last"} <= {memory["content"] for memory in found}
    assert repo.memories.read_bytes() == left


def test_an_export_waits_for_git_and_is_clean_once_the_merge_is_over(repo):
    left = conflicted(repo, "merge", "other")
    held = memsync("memory", "export", "--json", cwd=repo.root).json
    assert (held["changed"], bool(held["held"]), repo.memories.read_bytes()) == (False, True, left)
    repo.git("commit", "-qam", "markers and all")
    assert memsync("memory", "export", "--json", cwd=repo.root).json["changed"]
    assert not in_conflict(read_lines(repo.memories.read_bytes()))
    assert {"ours", "theirs"} <= {entry.content for entry in Memsync.open(repo.root).list()}


def test_an_export_waits_for_a_stash_that_was_left_in_conflict(repo):
    """git says nothing of a stash but in its index."""
    conflicted(repo, "merge", "other")
    repo.git("merge", "--abort")
    repo.write_memories(OURS.replace("ours", "stashed"))
    repo.git("stash", "-q")
    repo.git("checkout", "-q", "other")
    subprocess.run(["git", "stash", "pop"], cwd=repo.root, capture_output=True, check=False)
    left = repo.memories.read_bytes()
    assert in_conflict(read_lines(left))
    assert memsync("memory", "export", "--json", cwd=repo.root).json["held"]
    assert repo.memories.read_bytes() == left
    assert memsync("doctor", "--fix", cwd=repo.root).code == 0
    assert not in_conflict(read_lines(repo.memories.read_bytes()))
    assert {"stashed", "theirs"} <= {entry.content for entry in Memsync.open(repo.root).list()}


def test_doctor_says_so_and_settles_it(repo):
    conflicted(repo, "merge", "other")
    found = memsync("doctor", "--json", cwd=repo.root).json["findings"]
    assert [(f["what"], f["fixable"]) for f in found if "git conflict" in f["what"]] == [
        ("a git conflict (3 marker lines); both sides are merged", True)
    ]
    fixed = memsync("doctor", "--fix", cwd=repo.root)
    assert "resolved the git conflict; every text of both sides is kept" in fixed.out
    assert repo.memories.read_bytes() == EXPECTED


def test_a_list_says_which_texts_are_copies_that_a_merge_kept(repo):
    conflicted(repo, "merge", "other")
    lines = memsync("memory", "list", cwd=repo.root).out.splitlines()
    (kept,) = [line for line in lines if " ours (" in line]
    assert "; in conflict with mm-a)" in kept
    assert not any("in conflict" in line for line in lines if line != kept)
