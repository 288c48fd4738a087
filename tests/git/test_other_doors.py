"""Doors by which a memory went where nobody looks for it, or out of a file that a branch has: each is shut, or said."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from doing import committed, forget, remember, said, shown
from helpers import GitRepo, memsync

from memsync import Memsync
from memsync.errors import StoreError

MEMORIES = ".gobby/memories.jsonl"


def doctor(repo: GitRepo) -> str:
    return memsync("doctor", cwd=repo.root).out


# The folder of an open project moves


@pytest.mark.parametrize("then", ["gone", "another"])
def test_no_write_is_acknowledged_into_the_place_that_a_project_was_moved_from(hooked, then):
    old, new = hooked.root, hooked.root.with_name("moved")
    with Memsync.open(old) as project:
        project.remember("before the move")
        old.rename(new)
        if then == "another":
            shutil.copytree(new, old)
        with pytest.raises(StoreError, match="was moved, removed or replaced since this process opened it"):
            project.remember("after the move")
        assert project.recall("move") is not None
    assert old.exists() == (then == "another")
    assert shown(new) == {"first", "before the move"}


def test_a_worktree_that_is_removed_is_not_made_again(hooked):
    tree = hooked.root.with_name("tree")
    hooked.git("worktree", "add", "-q", "-b", "side", str(tree))
    with Memsync.open(tree) as project:
        project.recall("first")
        hooked.git("worktree", "remove", str(tree))
        with pytest.raises(StoreError, match="was moved, removed or replaced"):
            project.remember("nobody would see this")
    assert not tree.exists()


# A branch from before the memories


@pytest.fixture
def early(hooked):
    """Return a repository on a branch from before its memories, which main has."""
    hooked.git("switch", "-q", "-c", "early", "HEAD~1")
    return hooked


def test_what_is_written_on_a_branch_from_before_the_memories_keeps_nobody_from_the_other(early):
    remember(early.root, "found on the old branch")
    assert (early.status(), shown(early.root)) == ("", {"found on the old branch"})
    assert "1 memory waits; main has it and this branch does not yet" in doctor(early)
    (early.root / "README").write_text("more\n")
    assert "not in this commit: main has it" in said(early, "commit", "-am", "work")
    early.git("switch", "-q", "main")
    assert shown(early.root) == {"first", "found on the old branch"}
    early.git("commit", "-q", "--allow-empty", "-m", "memories")
    assert "found on the old branch" in committed(early)


def test_it_waits_also_where_only_the_remote_has_memories(early):
    clone = early.root.with_name("clone")
    subprocess.run(["git", "clone", "-q", str(early.root), str(clone)], check=True)
    other = GitRepo(clone)
    remember(clone, "written in a clone")
    assert other.status() == ""
    other.git("pull", "-q", "origin", "main")
    assert shown(clone) == {"first", "written in a clone"}


@pytest.mark.parametrize("way", ["merge", "init"])
def test_it_goes_into_the_file_once_the_branch_has_one(early, way):
    remember(early.root, "found on the old branch")
    if way == "merge":
        early.git("merge", "-q", "main")
    else:
        assert memsync("init", "--agent", "none", cwd=early.root).code == 0
    assert memsync("sync", cwd=early.root).code == 0
    early.git("commit", "-qm", "memories")
    assert "found on the old branch" in committed(early)


def test_a_project_whose_branches_have_no_memories_begins_with_a_file(repo):
    repo.git("branch", "other")
    remember(repo.root, "the first of all")
    assert repo.memories.exists()


# A file that was emptied or is ignored


@pytest.mark.parametrize("how", ["emptied", "deleted", "an older one"])
def test_doctor_says_which_memories_of_head_the_file_has_lost(hooked, how):
    gone = remember(hooked.root, "the second")
    hooked.git("add", "-A")
    hooked.git("commit", "-qm", "second")
    if how == "an older one":
        hooked.git("checkout", "-q", "HEAD~1", "--", MEMORIES)
    elif how == "emptied":
        hooked.memories.write_bytes(b"")
    else:
        hooked.memories.unlink()
    remember(hooked.root, "one more")
    lost = gone if how == "an older one" else sorted([*gone, "mm-aaaaaa"])
    many = "1 memory" if how == "an older one" else "2 memories"
    assert f"HEAD has {many} that the file has not, and nobody forgot here, {', '.join(lost)};" in doctor(hooked)
    for id_ in lost:
        assert memsync("restore", id_, "--at", "HEAD", cwd=hooked.root).code == 0
    assert shown(hooked.root) == {"first", "the second", "one more"}
    assert "HEAD has" not in doctor(hooked)


def test_doctor_names_none_that_was_forgotten_or_moved(hooked):
    (moved,) = remember(hooked.root, "goes to the private store")
    hooked.git("add", "-A")
    hooked.git("commit", "-qm", "second")
    forget(hooked.root, "mm-aaaaaa")
    assert memsync("unshare", moved, cwd=hooked.root).code == 0
    assert "HEAD has" not in doctor(hooked)


@pytest.mark.parametrize("pattern", [".gobby/", "*.jsonl", ".gobby/memories.jsonl"])
def test_doctor_says_that_git_ignores_the_memories_and_what_deletes_them(repo, pattern):
    (repo.root / ".gitignore").write_text(f"{pattern}\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "ignore")
    remember(repo.root, "the only copy")
    assert "git ignores it, so no commit has it, and `git clean -x` deletes it" in doctor(repo)
    ran = memsync("sync", cwd=repo.root)
    assert (ran.code, "git ignores it" in ran.out + ran.err) == (1, True)


# A commit of chosen parts


@pytest.mark.usefixtures("cold_starts")
@pytest.mark.skipif(
    sys.platform == "win32", reason="NOT PROMISED: nothing tells there which command of git runs a hook"
)
@pytest.mark.parametrize("words", [("-p",), ("--patch",), ("-vp",), ("--interactive",)], ids="".join)
def test_a_hunk_of_memories_that_its_user_leaves_out_is_left_out(hooked, words):
    answers = "p\n2\n\ny\nq\n" if words == ("--interactive",) else "n\ny\n"
    assert choose(hooked, answers, *words) == ("", "more\n")


@pytest.mark.parametrize("words", [("-p",), ("-a",)], ids="".join)
def test_a_hunk_of_memories_that_its_user_takes_is_taken(hooked, words):
    assert choose(hooked, "y\ny\n", *words) == ("the second", "more\n")


def choose(repo: GitRepo, answers: str, *words: str) -> tuple[str, str]:
    """Commit what *answers* choose of a change of the memories and one of README; return what of both is committed."""
    remember(repo.root, "the second")
    (repo.root / "README").write_text("more\n")
    done = subprocess.run(
        ["git", "commit", *words, "-m", "part"],
        cwd=repo.root,
        input=answers,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return "the second" if "the second" in committed(repo) else "", repo.git("show", "HEAD:README")
