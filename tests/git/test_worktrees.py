"""What waits and the history of a linked worktree or a submodule outlive its folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from helpers import GitRepo, memsync

FACT = "The staging database listens on port 7777"


@pytest.fixture
def main(repo: GitRepo) -> GitRepo:
    """Return a repository with memories, in mode on-commit."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    memsync("config", "memory_sync.mode", "on-commit", "--global", cwd=repo.root)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "begin")
    return repo


def add_tree(repo: GitRepo, name: str, *words: str) -> GitRepo:
    path = repo.root.parent / name
    repo.git("worktree", "add", "-q", "-b", f"branch-{name}", str(path), *words)
    return GitRepo(path)


def remember(tree: GitRepo, text: str, *, old_program: bool = False) -> None:
    done = memsync("remember", text, cwd=tree.root)
    assert "created" in done.out, done.err
    if old_program:
        move_to_former(tree)


def move_to_former(tree: GitRepo) -> None:
    """Leave the local files of *tree* where an older memsync has them."""
    git_dir = Path(tree.git("rev-parse", "--absolute-git-dir").strip())
    common = Path(tree.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    own = common / "memsync" / "worktrees" / git_dir.name
    (tree.root / ".gobby").mkdir(exist_ok=True)
    shutil.rmtree(tree.root / ".gobby" / "local", ignore_errors=True)
    shutil.move(own / ".gobby" / "local", tree.root / ".gobby" / "local")
    shutil.rmtree(own)


def listed(tree: GitRepo) -> str:
    return memsync("list", cwd=tree.root).out


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_what_waits_in_a_worktree_that_is_removed_goes_on_waiting_in_another(main, force):
    tree = add_tree(main, "wt")
    remember(tree, FACT)
    assert (tree.status(), main.status()) == ("", "")
    main.git("worktree", "remove", *force, str(tree.root))
    said = memsync("list", cwd=main.root)
    assert (FACT in said.out, "took over from the worktree wt, which is gone: 1 change" in said.err) == (True, True)
    assert "took over" not in memsync("list", cwd=main.root).err
    main.git("commit", "-q", "--allow-empty", "-m", "work")
    assert memsync("sync", cwd=main.root).code == 0
    assert FACT in main.memories.read_text()


def test_each_worktree_has_its_own_pending_changes(main):
    one, two = add_tree(main, "one"), add_tree(main, "two")
    remember(one, "Only the first one has this")
    remember(two, "Only the second one has that")
    assert ("first one" in listed(one), "second one" in listed(one)) == (True, False)
    assert ("first one" in listed(two), "second one" in listed(two)) == (False, True)
    assert "one has" not in listed(main)


def test_a_commit_in_a_worktree_takes_along_what_waits_there(main):
    memsync("git", "install", cwd=main.root)
    tree = add_tree(main, "wt")
    remember(tree, FACT)
    tree.git("commit", "-q", "--allow-empty", "-m", "work")
    assert FACT in tree.git("show", "HEAD:.gobby/memories.jsonl")


def test_an_edit_in_a_removed_worktree_loses_no_later_edit_elsewhere_and_can_be_restored(main):
    remember(main, "The kettle listens on port 7000")
    memsync("sync", cwd=main.root)
    main.git("add", "-A")
    main.git("commit", "-q", "-m", "kettle")
    (id_,) = (row.split()[0] for row in listed(main).splitlines() if "kettle" in row)
    tree = add_tree(main, "wt")
    memsync("update", id_, "-c", "The kettle listens on port 7001", cwd=tree.root)
    memsync("update", id_, "-c", "The kettle listens on port 7002", cwd=main.root)
    main.git("worktree", "remove", str(tree.root))
    assert "port 7002" in listed(main)
    assert "7001" in (main.root / ".gobby" / "local" / "history.jsonl").read_text()


def test_a_removal_in_a_removed_worktree_is_taken_over_and_a_forgotten_text_can_be_restored(main):
    remember(main, FACT)
    memsync("sync", cwd=main.root)
    main.git("add", "-A")
    main.git("commit", "-q", "-m", "fact")
    (id_,) = (row.split()[0] for row in listed(main).splitlines() if "7777" in row)
    tree = add_tree(main, "wt")
    assert memsync("forget", id_, cwd=tree.root).code == 0
    main.git("worktree", "remove", str(tree.root))
    assert FACT not in listed(main)
    assert memsync("restore", id_, cwd=main.root).code == 0
    assert FACT in listed(main)


def test_a_folder_that_was_deleted_is_named_and_taken_over_after_prune(main):
    tree = add_tree(main, "wt")
    remember(tree, FACT)
    shutil.rmtree(tree.root)
    said = memsync("doctor", cwd=main.root).out
    assert ("worktree wt is gone" in said, "1 change" in said, FACT in listed(main)) == (True, True, False)
    main.git("worktree", "prune")
    assert FACT in listed(main)
    assert "worktree wt" not in memsync("doctor", cwd=main.root).out


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_worktree_that_moves_keeps_what_waits(main, by_hand):
    tree = add_tree(main, "wt")
    remember(tree, FACT)
    moved = main.root.parent / "elsewhere"
    if by_hand:
        tree.root.rename(moved)
        assert FACT in listed(GitRepo(moved))
        GitRepo(moved).git("worktree", "repair")
    else:
        main.git("worktree", "move", str(tree.root), str(moved))
    main.git("worktree", "prune")
    assert (FACT in listed(GitRepo(moved)), FACT in listed(main)) == (True, False)


def test_what_a_locked_worktree_has_stays_its_own_while_its_folder_is_away(main):
    tree = add_tree(main, "wt")
    remember(tree, FACT)
    main.git("worktree", "lock", str(tree.root))
    away = tree.root.rename(main.root.parent / "usb")
    main.git("worktree", "prune")
    assert FACT not in listed(main)
    away.rename(tree.root)
    assert FACT in listed(tree)


def test_the_worktrees_of_a_bare_repository_take_over_from_each_other(main):
    bare = GitRepo(main.root.parent / "bare.git")
    main.git("clone", "-q", "--bare", str(main.root), str(bare.root))
    one, two = add_tree(bare, "one", "main"), add_tree(bare, "two", "main")
    remember(one, FACT)
    bare.git("worktree", "remove", str(one.root))
    assert FACT in listed(two)


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_submodule_that_is_taken_out_and_back_has_what_waited(main, force):
    whole = GitRepo.create(main.root.parent / "whole")
    whole.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(main.root), "sub")
    whole.git("commit", "-q", "-m", "sub")
    remember(GitRepo(whole.root / "sub"), FACT)
    whole.git("submodule", "deinit", "-q", *force, "sub")
    whole.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert FACT in listed(GitRepo(whole.root / "sub"))


def test_what_an_older_memsync_writes_in_a_worktree_is_read_and_moved_each_time(main):
    tree = add_tree(main, "wt")
    for text in ("First the old one wrote this", "Then it wrote that on port 8080"):
        remember(tree, text, old_program=True)
        remember(tree, f"And the new one: {len(text)} letters")
        assert text in listed(tree)
    assert not (tree.root / ".gobby" / "local" / "pending.jsonl").exists()
    main.git("worktree", "remove", "--force", str(tree.root))
    said = listed(main)
    assert ("First the old one" in said, "port 8080" in said, said.count("And the new one")) == (True, True, 2)


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_in_the_old_place_of_a_worktree_is_not_followed(main, tmp_path):
    tree = add_tree(main, "wt")
    remember(tree, FACT, old_program=True)
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text("not ours\n")
    (tree.root / ".gobby" / "local" / "history.jsonl").unlink()
    (tree.root / ".gobby" / "local" / "history.jsonl").symlink_to(foreign)
    listed(tree)
    assert foreign.read_text() == "not ours\n"


def test_the_local_files_of_other_worktrees_stay_when_one_is_taken_out_of_memsync(main):
    one, two = add_tree(main, "one"), add_tree(main, "two")
    remember(one, FACT)
    remember(two, "The other one has this")
    assert memsync("uninstall", "--purge", "--yes", cwd=two.root).code == 0
    assert FACT in listed(one)


@pytest.fixture
def edited_beside(repo):
    """Return a worktree with a memory that was edited in the main tree since, and its id."""
    memsync("config", "--global", "memory_sync.mode", "on-commit", cwd=repo.root)
    memsync("remember", "kettle lamp base text number one", cwd=repo.root)
    memsync("sync", cwd=repo.root)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "base")
    (entry,) = memsync("list", "--json", cwd=repo.root).json["memories"]
    memsync("update", entry["id"], "--content", "kettle edited in the main tree", cwd=repo.root)
    tree = repo.root.parent / "wt"
    repo.git("worktree", "add", "-q", str(tree), "-b", "wt")
    return tree, entry["id"]


@pytest.mark.parametrize(
    "words", [("--content", "kettle edited in the worktree"), ("--tag", "seen")], ids=["a text", "a tag"]
)
def test_an_edit_in_a_removed_worktree_takes_no_edit_of_the_main_tree_along(repo, edited_beside, words):
    tree, id_ = edited_beside
    assert memsync("update", id_, *words, cwd=tree).code == 0
    repo.git("worktree", "remove", "--force", str(tree))
    found = memsync("list", "--json", cwd=repo.root).json["memories"]
    texts = {memory["content"] for memory in found}
    assert "kettle edited in the main tree" in texts
    assert words[1] in texts or any(words[1] in memory["tags"] for memory in found)
    assert "kettle lamp base text number one" not in texts


def test_a_removal_in_a_removed_worktree_leaves_an_edit_that_it_had_not_seen(repo, edited_beside):
    tree, id_ = edited_beside
    memsync("rm", id_, cwd=tree)
    repo.git("worktree", "remove", "--force", str(tree))
    (left,) = memsync("list", "--json", cwd=repo.root).json["memories"]
    assert left["content"] == "kettle edited in the main tree"
