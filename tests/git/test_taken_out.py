"""A memory file that the user took out of git stays out, until he adds it again."""

from __future__ import annotations

import pytest
from doing import committed, remember, said
from helpers import memsync


@pytest.fixture
def taken_out(hooked):
    """Return a repository whose memory file a commit has taken out of git, with new memories in it."""
    hooked.git("rm", "-q", "--cached", ".gobby/memories.jsonl")
    hooked.git("commit", "-qm", "Do not track memories")
    remember(hooked.root, "private thing about the customer Acme")
    return hooked


def commit(repo, text: str) -> str:
    (repo.root / "README").write_text(text)
    return said(repo, "commit", "-am", text)


def test_the_hook_leaves_it_out_and_says_once_what_to_do(taken_out):
    why = "took it out of git; `git add .gobby/memories.jsonl` puts it in again"
    assert [why in commit(taken_out, text) for text in ("one", "two", "three")] == [True, False, False]
    assert (committed(taken_out), taken_out.status()) == ("", "?? .gobby/\n")


def test_who_adds_it_again_has_it_in_each_commit(taken_out):
    taken_out.git("add", ".gobby/memories.jsonl")
    commit(taken_out, "back")
    remember(taken_out.root, "later")
    commit(taken_out, "more")
    assert "later" in committed(taken_out)


@pytest.mark.parametrize("words", [["sync"], ["sync", "--commit"]], ids=" ".join)
def test_a_sync_leaves_it_out_and_says_so(taken_out, words):
    ran = memsync(*words, cwd=taken_out.root)
    assert (ran.code, "took it out of git" in ran.out + ran.err) == (1, True)
    assert taken_out.status() == "?? .gobby/\n"


def test_auto_commit_leaves_it_out(taken_out):
    assert memsync("memory", "config", "memory_sync.mode", "auto-commit", "--global", cwd=taken_out.root).code == 0
    remember(taken_out.root, "another private thing")
    assert (committed(taken_out), taken_out.status()) == ("", "?? .gobby/\n")


def test_a_branch_that_never_had_it_takes_it(taken_out):
    taken_out.git("switch", "-q", "--orphan", "new")
    (taken_out.root / "README").write_text("x\n")
    taken_out.git("add", "README")
    said(taken_out, "commit", "-qm", "new")
    assert "Acme" in committed(taken_out)
