"""A commit that is refused after our hook has staged the memories: nothing of ours stays staged."""

from __future__ import annotations

import sys

import pytest
from doing import committed, remember, said, shown
from helpers import memsync, until

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="NOT PROMISED: nobody waits there for git to end"),
    pytest.mark.usefixtures("cold_starts"),
]


@pytest.fixture
def begun(hooked):
    """Return a repository where a memory waits for a commit, and a file of the user is staged."""
    return begin(hooked)


def begin(hooked):
    remember(hooked.root, "CI needs Node 20")
    (hooked.root / "work").write_text("mine\n")
    hooked.git("add", "work")
    return hooked


def refuse(repo, hook: str) -> None:
    path = repo.root / ".git" / "hooks" / hook
    script = path.read_text() if path.exists() else "#!/bin/sh\n"
    path.write_text(script + "exit 1\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        ("worktree", "pre-commit"),
        ("worktree", "commit-msg"),
        ("on-commit", "no message"),
        ("auto-commit", "pre-commit"),
    ],
)
def test_a_commit_that_fails_leaves_nothing_of_ours_staged(hooked, mode, how):
    assert memsync("memory", "config", "memory_sync.mode", mode, "--global", cwd=hooked.root).code == 0
    if mode == "auto-commit":
        hooked.git("checkout", "-q", "--detach")  # where it leaves memories for the user's commit
    begun = begin(hooked)
    if how != "no message":
        refuse(begun, how)
    told = said(begun, "commit", "-m", "" if how == "no message" else "work", code=1)
    assert "memsync" not in told
    until(lambda: begun.git("diff", "--cached", "--name-only") == "work\n")
    assert shown(begun.root) == {"first", "CI needs Node 20"}
    begun.git("commit", "-q", "--no-verify", "-m", "work")
    assert "Node" not in committed(begun)


def test_the_next_commit_takes_along_what_a_failed_one_did_not(begun):
    said(begun, "commit", "-m", "", code=1)
    until(lambda: begun.git("diff", "--cached", "--name-only") == "work\n")
    begun.git("commit", "-q", "-m", "work")
    assert ("Node" in committed(begun), begun.status()) == (True, "")


def test_what_the_user_stages_after_a_failed_commit_stays_staged(begun):
    (begun.root / ".gitattributes").write_text("*.png binary\n")
    said(begun, "commit", "-m", "", code=1)
    begun.git("add", ".gitattributes")
    until(lambda: ".gobby/memories.jsonl" not in begun.git("diff", "--cached", "--name-only"))
    assert begun.git("diff", "--cached", "--name-only") == ".gitattributes\nwork\n"
