"""Mode auto-commit: commits of the memory file alone, beside whatever the user is doing."""

from __future__ import annotations

import os
import shutil

import pytest
from doing import committed, edit, forget, remember, said, shown
from helpers import memsync


@pytest.fixture
def auto(hooked):
    """Return a repository in mode auto-commit."""
    assert memsync("memory", "config", "memory_sync.mode", "auto-commit", "--global", cwd=hooked.root).code == 0
    return hooked


def subjects(repo, rev: str = "HEAD") -> list[str]:
    return repo.git("log", "--format=%s", rev).splitlines()


def test_a_write_is_committed_and_what_the_user_staged_and_edited_stays_as_it_is(auto):
    (auto.root / "README").write_text("staged\n")
    auto.git("add", "README")
    (auto.root / "README").write_text("edited\n")
    (auto.root / "new").write_text("x\n")
    before = auto.status()
    remember(auto.root, "second")
    assert subjects(auto) == ["Update memories: +1 memory", "memories", "first"]
    assert auto.git("show", "--format=", "--name-only").splitlines() == [".gobby/memories.jsonl"]
    assert auto.status() == before == "MM README\n?? new\n"
    assert auto.git("diff", "--cached", "--name-only") == "README\n"


def test_consecutive_commits_of_ours_become_one_until_somebody_has_seen_it(auto, tmp_path):
    for text in ("second", "third"):
        remember(auto.root, text)
    edit(auto.root, "mm-aaaaaa", "the first")
    assert subjects(auto) == ["Update memories: +2 memories, 1 changed", "memories", "first"]
    auto.git("init", "-q", "--bare", str(tmp_path / "remote"))
    auto.git("remote", "add", "origin", str(tmp_path / "remote"))
    auto.git("push", "-q", "origin", "main")
    remember(auto.root, "fourth")
    assert subjects(auto)[:2] == ["Update memories: +1 memory", "Update memories: +2 memories, 1 changed"]
    auto.git("tag", "seen")
    remember(auto.root, "fifth")
    assert subjects(auto)[:2] == ["Update memories: +1 memory"] * 2
    auto.git("commit", "-q", "--allow-empty", "-m", "the user's")
    remember(auto.root, "sixth")
    assert subjects(auto)[:2] == ["Update memories: +1 memory", "the user's"]


def test_a_commit_that_only_a_detached_worktree_holds_is_not_replaced(auto, tmp_path):
    remember(auto.root, "second")
    auto.git("worktree", "add", "-q", "--detach", str(tmp_path / "looking"))
    remember(auto.root, "third")
    assert subjects(auto) == ["Update memories: +1 memory", "Update memories: +1 memory", "memories", "first"]


def test_a_commit_of_the_user_in_the_very_last_moment_stays_on_the_branch(auto, tmp_path, monkeypatch):
    real = shutil.which("git")
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = update-ref ] && {real} -c core.hooksPath=/dev/null commit -q --allow-empty -m "the user\'s"\n'
        f'exec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
        remember(auto.root, "second")
    assert subjects(auto) == ["the user's", "memories", "first"]
    assert (committed(auto).count("second"), auto.status()) == (0, " M .gobby/memories.jsonl\n")
    remember(auto.root, "third")
    assert subjects(auto) == ["Update memories: +2 memories", "the user's", "memories", "first"]
    assert auto.status() == ""


def test_a_commit_that_comes_to_nothing_goes_away(auto):
    (new,) = remember(auto.root, "second")
    assert len(subjects(auto)) == 3
    forget(auto.root, new)
    assert subjects(auto) == ["memories", "first"]
    assert auto.status() == ""


def test_a_commit_of_the_user_that_is_only_about_memories_is_never_replaced(auto):
    remember(auto.root, "second")
    auto.git("commit", "-q", "--amend", "-m", "I looked at these")
    remember(auto.root, "third")
    assert subjects(auto)[:2] == ["Update memories: +1 memory", "I looked at these"]


def test_what_the_user_staged_in_part_is_left_to_him(auto):
    with auto.memories.open("a") as file:
        file.write('{"content":"half","id":"mm-bbbbbb"}\n')
    auto.git("add", ".gobby")
    remember(auto.root, "second")
    assert subjects(auto) == ["memories", "first"]
    assert auto.status() == "MM .gobby/memories.jsonl\n"


@pytest.mark.parametrize("how", ["detached", "merge"])
def test_without_a_branch_or_in_the_middle_of_a_merge_nothing_is_committed(auto, how):
    if how == "detached":
        auto.git("checkout", "-q", "--detach")
    else:
        auto.git("checkout", "-q", "-b", "side")
        auto.git("commit", "-q", "--allow-empty", "-m", "side")
        auto.git("checkout", "-q", "main")
        auto.git("merge", "-q", "--no-ff", "--no-commit", "side")
    head = auto.git("rev-parse", "HEAD")
    ran = memsync("memory", "remember", "second", cwd=auto.root)
    assert ran.code == 0
    assert auto.git("rev-parse", "HEAD") == head
    assert shown(auto.root) == {"first", "second"}


def test_the_first_commit_of_a_repository_may_be_ours(auto, tmp_path):
    auto.git("init", "-q", str(tmp_path / "empty"))
    empty = type(auto)(tmp_path / "empty")
    assert memsync("init", cwd=empty.root).code == 0
    remember(empty.root, "one")
    assert "one" in committed(empty)
    assert empty.git("show", "--format=%s", "--name-only").splitlines() == [
        "Update memories: +1 memory", "", ".gitattributes", ".gobby/.gitignore", ".gobby/memories.jsonl"
    ]  # fmt: skip
    assert empty.status() == ""


def test_the_second_commit_of_a_project_replaces_the_first_with_the_small_files(auto, tmp_path):
    other = type(auto).create(tmp_path / "other")
    assert memsync("init", "--no-git-hooks", cwd=other.root).code == 0
    remember(other.root, "one")
    remember(other.root, "two")
    assert subjects(other) == ["Update memories: +2 memories", "first"]
    assert other.git("show", "--format=", "--name-only").splitlines() == [
        ".gitattributes", ".gobby/.gitignore", ".gobby/memories.jsonl"
    ]  # fmt: skip


def test_a_secret_that_a_hand_wrote_is_not_committed_and_the_line_is_named(auto):
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    with auto.memories.open("a") as file:
        file.write(f'{{"content":"the token is {token}","id":"mm-bbbbbb"}}\n')
    ran = memsync("memory", "remember", "second", cwd=auto.root)
    assert ran.code == 0
    assert "not committed: " in ran.err
    assert "memories.jsonl:" in ran.err
    assert token not in ran.err
    assert subjects(auto) == ["memories", "first"]


def test_somebody_who_cannot_sign_keeps_his_memories_in_the_work_tree(auto):
    auto.git("config", "commit.gpgSign", "true")
    auto.git("config", "gpg.program", "false")
    ran = memsync("memory", "remember", "second", cwd=auto.root)
    assert "not committed: git commit failed" in ran.err
    assert (subjects(auto), auto.status()) == (["memories", "first"], " M .gobby/memories.jsonl\n")


def test_somebody_who_signs_signs_these_too(auto, tmp_path):
    signer = tmp_path / "gpg"
    signer.write_text("#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNED\n")
    signer.chmod(0o755)
    auto.git("config", "commit.gpgSign", "true")
    auto.git("config", "gpg.program", str(signer))
    remember(auto.root, "second")
    assert "gpgsig SIGNED" in auto.git("cat-file", "commit", "HEAD")


def test_a_locked_index_only_delays_the_commit(auto):
    lock = auto.root / ".git" / "index.lock"
    lock.touch()
    ran = memsync("memory", "remember", "second", cwd=auto.root)
    lock.unlink()
    assert "not committed" in ran.err
    assert subjects(auto) == ["memories", "first"]
    remember(auto.root, "third")
    assert subjects(auto)[0] == "Update memories: +2 memories"


def test_no_hook_of_the_user_runs_and_a_linked_worktree_commits_to_its_own_branch(auto, tmp_path):
    hook = auto.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    auto.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    linked = type(auto)(tmp_path / "linked")
    remember(linked.root, "second")
    assert subjects(linked)[0] == "Update memories: +1 memory"
    assert subjects(auto) == ["memories", "first"]
    assert not (linked.root / "ran").exists()
    assert (linked.status(), auto.status()) == ("", "")


def test_a_later_commit_of_the_user_works_as_ever(auto):
    remember(auto.root, "second")
    (auto.root / "README").write_text("edited\n")
    assert said(auto, "commit", "-qam", "work") == ""
    assert auto.git("show", "--format=", "--name-only").splitlines() == ["README"]
