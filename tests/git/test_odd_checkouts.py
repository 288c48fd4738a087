"""Checkouts as people really have them: sparse ones, shared ones, with line ends of another system."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from doing import remember, said, shown
from helpers import memsync

from memsync import Memsync
from memsync.git.install import install
from memsync.store.places import locate


def test_a_checkout_that_was_sparse_once_takes_its_first_memories(repo):
    """git leaves .git/info/sparse-checkout behind."""
    repo.git("sparse-checkout", "init", "--cone")
    repo.git("sparse-checkout", "disable")
    remember(repo.root, "The first memory of this clone")
    assert "first memory" in repo.memories.read_text()
    done = memsync("sync", "--json", cwd=repo.root)
    assert (done.code, done.json["held"]) == (0, None)


def test_a_sparse_clone_without_our_init_keeps_what_it_writes_and_gives_it_back(hooked):
    hooked.git("sparse-checkout", "set", "src")
    assert not hooked.memories.exists()
    (hooked.root / ".git" / "hooks" / "pre-commit").unlink()
    remember(hooked.root, "written in the sparse clone")
    assert memsync("sync", "--json", cwd=hooked.root).json["held"] == "the sparse checkout leaves it out"
    hooked.git("sparse-checkout", "disable")
    remember(hooked.root, "written in the whole clone")
    assert shown(hooked.root) == {"first", "written in the sparse clone", "written in the whole clone"}
    assert "sparse clone" in hooked.memories.read_text()


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_in_a_checkout_of_a_group_every_local_file_can_be_written_by_the_group(tmp_path, repo):
    repo.git("config", "core.sharedRepository", "group")
    old = os.umask(0o002)
    try:
        remember(repo.root, "Written by the first user of the group")
        with Memsync.open(repo.root) as project:
            project.recall("first user")
    finally:
        os.umask(old)
    local = repo.root / ".gobby" / "local"
    closed = [path.name for path in local.rglob("*") if not path.stat().st_mode & stat.S_IWGRP]
    assert closed in ([], [".gitignore"])
    assert local.stat().st_mode & 0o007 == 0


def test_with_safecrlf_everything_that_init_wrote_can_be_added(repo):
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "core.safecrlf", "true")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    repo.git("add", ".gitattributes", ".gobby")
    repo.git("commit", "-qm", "begin", "--no-verify")
    assert repo.git("check-attr", "merge", ".gobby/memories.jsonl").endswith(": memsync\n")
    assert repo.git("check-ignore", ".gobby/local/lock") == ".gobby/local/lock\n"
    assert b"\r" not in (repo.root / ".gobby" / "memories.jsonl").read_bytes()


def test_with_other_line_ends_the_first_commit_takes_the_rule_along(repo):
    repo.git("config", "core.autocrlf", "true")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    install(locate(repo.root))
    remember(repo.root, "first")
    said(repo, "commit", "-q", "--allow-empty", "-m", "work")
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").split() == [
        ".gitattributes",
        ".gobby/.gitignore",
        ".gobby/memories.jsonl",
        "README",
    ]


def test_what_waited_in_a_stash_of_everything_comes_back_as_the_guide_says(hooked):
    assert memsync("memory", "config", "memory_sync.mode", "on-commit", "--global", cwd=hooked.root).code == 0
    remember(hooked.root, "First waiting")
    hooked.git("stash", "-q", "--all")
    remember(hooked.root, "Second waiting")
    said(hooked, "stash", "pop", code=1)
    guide = (Path(__file__).parents[2] / "docs" / "git.md").read_text()
    steps = guide[guide.index("mv .gobby/local ") : guide.index("rm -r .gobby/local.new") + 22]
    subprocess.run(["sh", "-e", "-c", steps], cwd=hooked.root, check=True, capture_output=True)
    assert shown(hooked.root) == {"first", "First waiting", "Second waiting"}
    assert not (hooked.root / ".gobby" / "local.new").exists()
