"""The hooks and `memsync sync` where a checkout is not an ordinary one."""

from __future__ import annotations

import subprocess

import pytest
from doing import committed, edit, remember, said, shown
from helpers import GitRepo, memsync

from memsync.git.install import install
from memsync.store.places import locate


@pytest.fixture
def remote(hooked, tmp_path) -> str:
    """Return the URL of a bare remote that the repository pushes to."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote")], check=True)
    hooked.git("remote", "add", "origin", f"file://{tmp_path / 'remote'}")
    hooked.git("push", "-q", "-u", "origin", "main")
    return f"file://{tmp_path / 'remote'}"


def clone(url: str, root, *words: str) -> GitRepo:
    subprocess.run(["git", "clone", "-q", *words, url, str(root)], check=True)
    install(locate(root))
    return GitRepo(root)


def test_a_shallow_clone_commits_and_pushes_after_others_did(hooked, remote, tmp_path):
    shallow = clone(remote, tmp_path / "shallow", "--depth", "1")
    remember(hooked.root, "from the whole one")
    assert memsync("sync", "--push", cwd=hooked.root).code == 0
    remember(shallow.root, "from the shallow one")
    shallow.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "from the shallow one" in committed(shallow)
    assert memsync("sync", "--push", cwd=shallow.root).code == 0
    hooked.git("pull", "-q", "--rebase")
    assert shown(hooked.root) == shown(shallow.root) == {"first", "from the whole one", "from the shallow one"}


@pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
def test_a_checkout_with_crlf_commits_the_same_bytes_as_any_other(hooked, remote, tmp_path, autocrlf):
    windows = clone(remote, tmp_path / "windows", "-c", f"core.autocrlf={autocrlf}")
    assert (b"\r\n" in windows.memories.read_bytes()) == (autocrlf == "true")
    (new,) = remember(windows.root, "second")
    said(windows, "commit", "-q", "--allow-empty", "-m", "work")
    assert windows.status() == ""
    windows.git("push", "-q")
    hooked.git("pull", "-q", "--rebase")
    assert b"\r" not in hooked.memories.read_bytes()
    assert hooked.git("diff", "--stat", "HEAD~1").splitlines()[-1] == " 1 file changed, 1 insertion(+)"
    assert new in hooked.memories.read_text()


def test_a_squashed_merge_brings_the_memories_of_the_branch(hooked):
    hooked.git("checkout", "-q", "-b", "side")
    for text in ("second", "third"):
        remember(hooked.root, text)
        hooked.git("commit", "-q", "--allow-empty", "-m", text)
    hooked.git("checkout", "-q", "main")
    hooked.git("merge", "-q", "--squash", "side")
    assert memsync("memory", "remember", "in between", cwd=hooked.root).code == 0
    hooked.git("add", ".gobby")
    hooked.git("commit", "-q", "-m", "squashed")
    assert shown(hooked.root) == {"first", "second", "third", "in between"}
    assert (hooked.status(), committed(hooked).count("\n")) == ("", 4)


def test_commits_that_a_rebase_squashes_keep_the_memories_of_all(hooked):
    for text in ("second", "third"):
        remember(hooked.root, text)
        hooked.git("commit", "-q", "--allow-empty", "-m", text)
    hooked.git("-c", "sequence.editor=sed -i 2s/pick/squash/", "-c", "core.editor=true", "rebase", "-qi", "HEAD~2")
    assert hooked.git("log", "--format=%s").splitlines() == ["second", "memories", "first"]
    assert (hooked.status(), committed(hooked).count("\n")) == ("", 3)


def test_a_stash_takes_new_memories_away_and_brings_them_back(hooked):
    remember(hooked.root, "second")
    hooked.git("stash", "-q")
    assert shown(hooked.root) == {"first"}
    remember(hooked.root, "third")
    hooked.git("commit", "-q", "--allow-empty", "-m", "third")
    subprocess.run(["git", "stash", "pop", "-q"], cwd=hooked.root, capture_output=True, check=False)
    assert shown(hooked.root) == {"first", "second", "third"}
    assert memsync("sync", cwd=hooked.root).code == 0
    assert "<<<<<<<" not in hooked.memories.read_text()
    assert shown(hooked.root) == {"first", "second", "third"}


def test_on_a_detached_head_the_hook_takes_memories_along(hooked):
    hooked.git("checkout", "-q", "--detach")
    remember(hooked.root, "second")
    hooked.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "second" in committed(hooked)


@pytest.mark.parametrize("mode", ["worktree", "on-commit", "auto-commit"])
def test_a_bisect_goes_on_when_a_memory_is_written_in_the_middle(hooked, mode):
    memsync("memory", "config", "memory_sync.mode", mode, "--global", cwd=hooked.root)
    for number in range(4):
        hooked.git("commit", "-q", "--allow-empty", "-m", str(number))
    hooked.git("bisect", "start", "HEAD", "HEAD~4")
    remember(hooked.root, "found while bisecting")
    edit(hooked.root, "mm-aaaaaa", "the first")
    hooked.git("bisect", "good")
    hooked.git("bisect", "reset")
    assert (hooked.status(), shown(hooked.root)) == ("", {"the first", "found while bisecting"})


def test_two_commits_at_once_in_two_worktrees_take_their_own_memories(hooked, tmp_path):
    hooked.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    linked = GitRepo(tmp_path / "linked")
    remember(hooked.root, "in the main tree")
    remember(linked.root, "in the linked tree")
    running = [
        subprocess.Popen(["git", "commit", "-q", "--allow-empty", "-m", "work"], cwd=repo.root)
        for repo in (hooked, linked)
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert ("in the main tree" in committed(hooked), "in the linked tree" in committed(hooked)) == (True, False)
    assert ("in the main tree" in committed(linked), "in the linked tree" in committed(linked)) == (False, True)


def test_a_file_that_is_already_in_conflict_is_not_made_worse_by_a_commit(hooked):
    conflict = hooked.memories.read_text() + "<<<<<<< ours\n" + '{"content":"a","id":"u1"}\n=======\n>>>>>>> theirs\n'
    hooked.memories.write_text(conflict)
    told = said(hooked, "commit", "-q", "--allow-empty", "-m", "work")
    assert shown(hooked.root) == {"first", "a"}
    assert "u1" in hooked.memories.read_text()
    assert "Traceback" not in told


def test_where_git_cannot_be_run_a_sync_says_so_and_claims_nothing(hooked, tmp_path):
    done = memsync("sync", "--json", cwd=hooked.root, env={"PATH": str(tmp_path)})
    assert (done.code, "install git, or put it into the PATH" in done.json["error"]) == (1, True)
