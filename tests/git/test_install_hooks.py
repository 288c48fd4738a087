"""Our hooks beside anybody's: what is there stays, works, and comes back byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from helpers import GitRepo, memsync

from memsync import Memsync
from memsync.errors import StoreNotWritable
from memsync.git.install import NAMES, install, status, uninstall
from memsync.store.places import locate

SHELL_HOOK = b"#!/usr/bin/env bash\nset -eu\necho theirs >> ran\nexit 0\n"
PYTHON_HOOK = b"#!/usr/bin/env python3\nopen('ran', 'a').write('theirs\\n')\n"


def write_hook(path: Path, data: bytes, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def everything(directory: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in directory.rglob("*") if path.is_file() and path.suffix != ".sample")
    return {str(path.relative_to(directory)): (path.read_bytes(), path.lstat().st_mode) for path in files}


def commit_a_memory(repo: GitRepo, text: str = "CI needs Node 20") -> list[str]:
    with Memsync.open(repo.root) as project:
        project.remember(text)
    repo.git("commit", "-q", "--allow-empty", "-m", "work")
    return repo.git("show", "--format=", "--name-only", "HEAD").splitlines()


def states(repo: GitRepo) -> set[str]:
    return set(status(locate(repo.root))["hooks"].values())


def test_installing_makes_four_hooks_and_a_second_time_changes_nothing(repo):
    assert len(install(locate(repo.root))) == len(NAMES) + 2
    assert states(repo) == {"installed"}
    before = everything(repo.root / ".git")
    assert install(locate(repo.root)) == []
    assert everything(repo.root / ".git") == before


@pytest.mark.parametrize(
    ("data", "mode", "runs"),
    [
        (SHELL_HOOK, 0o755, True),
        (b"echo theirs >> ran\n", 0o755, True),
        (PYTHON_HOOK, 0o755, True),
        (SHELL_HOOK, 0o644, False),
        (b"#!/bin/sh", 0o755, False),
        (b"#!/bin/sh\n", 0o755, False),
        (b"#!/bin/sh\r\n", 0o644, False),
        (b"", 0o755, False),
    ],
)
def test_a_hook_that_was_there_still_does_what_it_did_and_comes_back_byte_for_byte(repo, data, mode, runs):
    write_hook(repo.root / ".git" / "hooks" / "pre-commit", data, mode)
    before = everything(repo.root / ".git")
    install(locate(repo.root))
    assert states(repo) == {"installed"}
    assert ".gobby/memories.jsonl" in commit_a_memory(repo)
    assert (repo.root / "ran").exists() == runs
    uninstall(locate(repo.root))
    after = everything(repo.root / ".git")
    assert {name: after[name] for name in before if name.startswith(("hooks", "config"))} == {
        name: before[name] for name in before if name.startswith(("hooks", "config"))
    }
    assert [name for name in after if name.startswith("hooks") and name not in before] == []


def test_a_hook_that_is_a_link_to_a_committed_script_leaves_the_script_alone(repo):
    script = write_hook(repo.root / "scripts" / "check.sh", SHELL_HOOK)
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to("../../scripts/check.sh")
    install(locate(repo.root))
    commit_a_memory(repo)
    assert (script.read_bytes(), (repo.root / "ran").read_text()) == (SHELL_HOOK, "theirs\n")
    uninstall(locate(repo.root))
    assert os.readlink(hook) == "../../scripts/check.sh"


def test_lines_that_somebody_adds_to_our_hook_stay_when_ours_go(repo):
    install(locate(repo.root))
    hook = repo.root / ".git" / "hooks" / "post-merge"
    hook.write_bytes(hook.read_bytes() + b"echo mine\n")
    uninstall(locate(repo.root))
    assert hook.read_bytes() == b"#!/bin/sh\necho mine\n"


def test_a_hook_that_moved_our_hook_away_runs_it_and_gets_no_second_block(repo):
    install(locate(repo.root))
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    hook.rename(hook.with_name("pre-commit.legacy"))  # as `pre-commit install` does
    write_hook(hook, b'#!/bin/sh\n"$0.legacy" "$@"\n')
    assert (install(locate(repo.root)), states(repo)) == ([], {"installed"})
    assert ".gobby/memories.jsonl" in commit_a_memory(repo)
    uninstall(locate(repo.root))
    assert [path.name for path in hook.parent.iterdir() if path.suffix != ".sample"] == ["pre-commit"]


def test_husky_gets_the_block_in_its_own_files_without_a_path_of_this_machine(repo):
    write_hook(repo.root / ".husky" / "pre-commit", b"echo theirs >> ran\n", 0o644)
    for name in NAMES:
        write_hook(repo.root / ".husky" / "_" / name, b'#!/usr/bin/env sh\nsh -e ".husky/$(basename "$0")" "$@"\n')
    repo.git("config", "core.hooksPath", ".husky/_")
    install(locate(repo.root))
    assert status(locate(repo.root))["keeper"] == "husky"
    assert states(repo) == {"installed"}
    text = (repo.root / ".husky" / "pre-commit").read_text()
    assert text.endswith("echo theirs >> ran\n")
    assert str(repo.root) not in text
    assert "bin" not in text
    uninstall(locate(repo.root))
    assert sorted(path.name for path in (repo.root / ".husky").iterdir()) == ["_", "pre-commit"]
    assert (repo.root / ".husky" / "pre-commit").read_bytes() == b"echo theirs >> ran\n"


def test_a_hooks_path_in_the_repository_is_used_and_one_outside_is_refused(repo, tmp_path):
    repo.git("config", "core.hooksPath", ".githooks")
    install(locate(repo.root))
    assert (status(locate(repo.root))["keeper"], states(repo)) == ("repository", {"installed"})
    repo.git("config", "core.hooksPath", str(tmp_path / "everybody"))
    with pytest.raises(StoreNotWritable, match=r"core\.hooksPath leads out of the repository"):
        install(locate(repo.root))
    assert not (tmp_path / "everybody").exists()


def test_where_hooks_are_refused_memories_merge_all_the_same_and_uninstalling_takes_that_out(repo, tmp_path):
    repo.git("config", "core.hooksPath", str(tmp_path / "everybody"))
    with pytest.raises(StoreNotWritable, match="git still merges memories"):
        install(locate(repo.root))
    found = status(locate(repo.root))
    assert (found["keeper"], bool(found["driver"])) == ("outside", True)
    said = memsync("git", "status", cwd=repo.root).out
    assert ("(outside the repository)" in said, "`memsync git hook NAME`" in said, "git install" in said) == (
        True,
        True,
        False,
    )
    assert "removed our merge driver" in memsync("uninstall", cwd=repo.root).out
    assert status(locate(repo.root))["driver"] is None
    assert b"memsync" not in (repo.root / ".git" / "config").read_bytes()


def test_lefthook_keeps_its_hooks_and_the_user_is_told_what_to_add(repo):
    (repo.root / "lefthook.yml").write_text("pre-commit:\n  jobs: []\n")
    done = install(locate(repo.root))
    assert "run: memsync git hook pre-commit || test $? -ne 65" in done[-1]
    assert states(repo) == {"missing"}
    (repo.root / "lefthook.yml").write_text(done[-1].partition("\n")[2])
    assert states(repo) == {"installed"}


def test_a_linked_worktree_shares_the_hooks_of_its_clone(repo, tmp_path):
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    linked = GitRepo(tmp_path / "linked")
    install(locate(linked.root))
    assert states(repo) == states(linked) == {"installed"}
    assert commit_a_memory(linked) == [".gobby/memories.jsonl"]
    assert (linked.status(), repo.status()) == ("", "")


def test_a_project_below_the_top_is_staged_too(repo):
    (repo.root / "packages" / "a b" / ".gobby").mkdir(parents=True)
    install(locate(repo.root / "packages" / "a b"))
    with Memsync.open(repo.root / "packages" / "a b") as project:
        project.remember("one")
    repo.git("commit", "-q", "--allow-empty", "-m", "work")
    assert repo.git("show", "--format=", "--name-only", "-z", "HEAD").split("\0")[:-1] == [
        "packages/a b/.gobby/memories.jsonl"
    ]


def test_without_memsync_on_the_machine_commits_go_on_in_silence(repo):
    install(locate(repo.root))
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    lines = hook.read_text().splitlines(keepends=True)
    hook.write_text("".join(line.replace("command -v memsync", "command -v memsync-gone") for line in lines))
    with Memsync.open(repo.root) as project:
        project.remember("one")
    (repo.root / "README").write_text("changed\n")
    done = subprocess.run(["git", "commit", "-qam", "x"], cwd=repo.root, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_outside_git_the_command_says_what_to_do(tmp_path):
    ran = memsync("git", "install", cwd=tmp_path)
    assert ran.code == 1
    assert "in no work tree of git; run `git init` first" in ran.err


def test_in_a_bare_repository_too(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    assert memsync("git", "status", cwd=tmp_path / "bare").code == 1


def test_the_doctor_names_hooks_that_have_gone_and_is_silent_where_nobody_wanted_any(repo):
    assert "hook" not in memsync("doctor", cwd=repo.root).out
    repo.write_memories("")
    install(locate(repo.root))
    assert memsync("doctor", cwd=repo.root).out == "all is well\n"
    (repo.root / ".git" / "hooks" / "pre-commit").unlink()
    (repo.root / ".git" / "hooks" / "post-merge").chmod(0o644)
    said = memsync("doctor", cwd=repo.root).out
    assert "the hook pre-commit of memsync is missing; `memsync git install` installs it" in said
    assert "the hook post-merge of memsync is off" in said
