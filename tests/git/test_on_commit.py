"""Mode on-commit: git sees nothing until a commit, and what waits follows the branches."""

from __future__ import annotations

import pytest
from doing import committed, edit, forget, remember, said, shown
from helpers import memory_line, memsync

from memsync import Memsync
from memsync.memories.syncing import sync
from memsync.setup.doctor import examine
from memsync.setup.repository import set_value
from memsync.store.config import load
from memsync.store.places import locate
from memsync.store.settings import get


@pytest.fixture
def waiting(hooked):
    """Return a repository in mode on-commit."""
    with Memsync.open(hooked.root) as project:
        set_value(project, "memory_sync.mode", "on-commit", is_global=False)
    hooked.git("add", ".gobby")
    hooked.git("commit", "-q", "-m", "on-commit")
    return hooked


def test_a_session_of_two_hundred_writes_never_gets_in_the_way_of_git(waiting):
    with Memsync.open(waiting.root) as project:
        for number in range(200):
            project.remember(f"memory number {number}")
            if number % 50 == 0:
                assert waiting.status() == ""
    texts = {"first", *(f"memory number {number}" for number in range(200))}
    waiting.git("checkout", "-q", "-b", "side", "HEAD~1")
    assert (waiting.status(), shown(waiting.root)) == ("", texts)
    (waiting.root / "side").write_text("x\n")
    waiting.git("add", "side")
    waiting.git("stash", "-q")
    assert shown(waiting.root) == texts
    waiting.git("stash", "pop", "-q")
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "side")
    waiting.git("rebase", "-q", "main")
    waiting.git("bisect", "start", "-q", "HEAD", "HEAD~3")
    assert shown(waiting.root) == texts
    waiting.git("bisect", "reset")
    assert (waiting.status(), shown(waiting.root)) == ("", texts)
    waiting.git("commit", "-q", "--allow-empty", "-m", "work")
    assert committed(waiting).count("\n") == 201
    assert (waiting.status(), shown(waiting.root)) == ("", texts)
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


def test_another_process_sees_what_waits_and_recall_finds_it_from_the_cache(waiting):
    remember(waiting.root, "the tests need docker")
    for _ in range(3):
        ran = memsync("memory", "recall", "docker", "--json", cwd=waiting.root)
        assert [memory["content"] for memory in ran.json["memories"]] == ["the tests need docker"]
    assert memsync("index", "status", "--json", cwd=waiting.root).json["fresh"]
    edit(waiting.root, "mm-aaaaaa", "use podman")
    found = memsync("memory", "recall", "podman", "--json", cwd=waiting.root)
    assert [memory["content"] for memory in found.json["memories"]] == ["use podman"]
    assert waiting.status() == ""


def test_edits_and_removals_wait_too_and_come_with_the_commit(waiting):
    remember(waiting.root, "second")
    edit(waiting.root, "mm-aaaaaa", "the first")
    (second,) = [entry.id for entry in Memsync.open(waiting.root).list() if entry.content == "second"]
    forget(waiting.root, second)
    assert (waiting.status(), shown(waiting.root)) == ("", {"the first"})
    waiting.git("commit", "-q", "--allow-empty", "-m", "work")
    assert shown(waiting.root) == {"the first"}
    assert committed(waiting).count("\n") == 1


def test_a_removal_waits_through_a_branch_that_has_no_such_memory(waiting):
    waiting.git("checkout", "-q", "-b", "empty", "HEAD~2")
    waiting.git("checkout", "-q", "main")
    forget(waiting.root, "mm-aaaaaa")
    waiting.git("checkout", "-q", "empty")
    assert shown(waiting.root) == set()
    waiting.git("checkout", "-q", "main")
    assert shown(waiting.root) == set()
    waiting.git("commit", "-q", "--allow-empty", "-m", "work")
    assert committed(waiting) == ""


def test_a_removal_of_what_was_never_committed_waits_for_the_stash_that_has_it(waiting):
    with waiting.memories.open("a") as file:
        file.write('{"content":"by hand","id":"hand-1"}\n')
    forget(waiting.root, "hand-1")
    waiting.git("stash", "-q")
    with Memsync.open(waiting.root) as project:
        sync(project)
    waiting.git("stash", "pop", "-q")
    assert shown(waiting.root) == {"first"}
    with Memsync.open(waiting.root) as project:
        sync(project)
    assert ("by hand" in waiting.memories.read_text(), waiting.status()) == (False, "")
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


def test_a_removal_of_what_was_never_committed_and_is_gone_waits_no_longer(waiting):
    with waiting.memories.open("a") as file:
        file.write('{"content":"by hand","id":"hand-1"}\n')
    forget(waiting.root, "hand-1")
    waiting.git("checkout", "-q", ".")
    with Memsync.open(waiting.root) as project:
        sync(project)
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


def test_an_edit_is_merged_into_what_another_branch_says_and_coming_back_undoes_nothing(waiting):
    waiting.git("checkout", "-q", "-b", "side")
    line = '{"content":"first","id":"mm-aaaaaa","tags":["side"],"updated_at":"2026-01-02T00:00:00.000Z"}\n'
    waiting.write_memories(line)
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "tagged")
    waiting.git("checkout", "-q", "main")
    edit(waiting.root, "mm-aaaaaa", "the first")
    before = (waiting.root / ".gobby" / "local" / "pending.jsonl").read_bytes()
    waiting.git("checkout", "-q", "side")
    assert [(e.content, e.memory.tags) for e in Memsync.open(waiting.root).list()] == [("the first", ("side",))]
    waiting.git("checkout", "-q", "main")
    assert [(e.content, e.memory.tags) for e in Memsync.open(waiting.root).list()] == [("the first", ())]
    assert (waiting.root / ".gobby" / "local" / "pending.jsonl").read_bytes() == before


def commit_work(repo, name: str = "work") -> None:
    (repo.root / name).write_text(f"{name}\n")
    repo.git("add", name)
    repo.git("commit", "-q", "-m", name)


def test_a_removal_and_an_edit_survive_commits_on_a_branch_that_never_had_the_record(waiting):
    waiting.git("branch", "release")
    first, second = remember(waiting.root, "Deploys go through the blue cluster", "The API listens on port 8080")
    commit_work(waiting, "both")
    forget(waiting.root, first)
    edit(waiting.root, second, "The API listens on port 8081")
    waiting.git("switch", "-q", "release")
    remember(waiting.root, "written on release")
    commit_work(waiting, "hotfix")
    assert [text in committed(waiting) for text in ("808", "blue", "on release")] == [False, False, True]
    assert (waiting.status(), "8081" in "".join(shown(waiting.root))) == ("", True)
    waiting.git("switch", "-q", "main")
    assert shown(waiting.root) == {"first", "The API listens on port 8081"}
    commit_work(waiting)
    assert [text in committed(waiting) for text in ("8081", "8080", "blue")] == [True, False, False]
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


def test_an_edit_counts_where_this_branch_removed_the_record_meanwhile(waiting):
    (id_,) = remember(waiting.root, "The API listens on port 8080")
    commit_work(waiting, "begin")
    waiting.git("switch", "-qc", "others")
    waiting.write_memories("")
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "others removed all")
    waiting.git("switch", "-q", "main")
    edit(waiting.root, id_, "The API listens on port 8081")
    forget(waiting.root, "mm-aaaaaa")
    waiting.git("merge", "-q", "--ff-only", "others")
    commit_work(waiting)
    assert (shown(waiting.root), "8081" in committed(waiting)) == ({"The API listens on port 8081"}, True)
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


def test_an_edit_outlives_a_removal_by_others_also_where_the_commit_it_was_made_on_was_rebased(waiting):
    edited, dropped = remember(waiting.root, "The API listens on port 8080", "Deploys go through the blue cluster")
    commit_work(waiting, "begin")
    waiting.git("switch", "-qc", "side")
    commit_work(waiting, "aside")
    edit(waiting.root, edited, "The API listens on port 8081")
    forget(waiting.root, dropped)
    waiting.git("switch", "-q", "main")
    waiting.write_memories(memory_line("mm-aaaaaa", "first"))
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "others removed both")
    waiting.git("switch", "-q", "side")
    waiting.git("rebase", "-q", "main")
    commit_work(waiting, "on")
    assert ("8081" in committed(waiting), "blue" in committed(waiting)) == (True, False)
    assert shown(waiting.root) == {"first", "The API listens on port 8081"}


def test_a_removal_goes_on_waiting_for_its_branch_where_others_removed_the_record_too(waiting):
    (id_,) = remember(waiting.root, "Deploys go through the blue cluster")
    commit_work(waiting, "begin")
    waiting.git("switch", "-qc", "side")
    commit_work(waiting, "aside")
    forget(waiting.root, id_)
    waiting.git("switch", "-q", "main")
    waiting.write_memories(memory_line("mm-aaaaaa", "first"))
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "others removed it")
    commit_work(waiting, "more")
    waiting.git("switch", "-q", "side")
    assert shown(waiting.root) == {"first"}
    commit_work(waiting, "on")
    assert "blue" not in committed(waiting)


def test_what_waits_for_another_branch_keeps_no_later_write_from_the_file(waiting):
    waiting.git("branch", "release")
    (id_,) = remember(waiting.root, "Deploys go through the blue cluster")
    commit_work(waiting, "both")
    forget(waiting.root, id_)
    waiting.git("switch", "-q", "release")
    assert memsync("memory", "config", "memory_sync.mode", "worktree", cwd=waiting.root).code == 0
    remember(waiting.root, "written on release")
    assert "written on release" in waiting.memories.read_text()
    with Memsync.open(waiting.root) as project:
        assert [f.what for f in examine(project) if "wait" in f.what] == [
            "1 memory waits; they belong to a branch that has these memories"
        ]


def test_a_removal_loses_against_an_edit_that_another_branch_made(waiting):
    waiting.git("checkout", "-q", "-b", "side")
    waiting.write_memories(memory_line("mm-aaaaaa", "edited there", updated_at="2026-01-02T00:00:00Z"))
    waiting.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "edited")
    waiting.git("checkout", "-q", "main")
    forget(waiting.root, "mm-aaaaaa")
    waiting.git("checkout", "-q", "side")
    assert shown(waiting.root) == {"edited there"}
    waiting.git("checkout", "-q", "main")
    assert shown(waiting.root) == set()


def edit_by_hand(repo, old, new):
    repo.write_memories(repo.memories.read_text().replace(old, new))


def test_a_text_that_was_edited_by_hand_while_another_waits_outlives_the_next_edit(waiting):
    edit(waiting.root, "mm-aaaaaa", "by an agent")
    edit_by_hand(waiting, "first", "by hand")
    assert shown(waiting.root) == {"by an agent", "by hand"}
    edit(waiting.root, "mm-aaaaaa", "by an agent again")
    assert shown(waiting.root) == {"by an agent again", "by hand"}
    said(waiting, "commit", "-q", "--allow-empty", "-m", "both")
    assert shown(waiting.root) == {"by an agent again", "by hand"}


def test_a_copy_of_a_text_that_lost_against_what_waits_stays_forgotten(waiting):
    edit(waiting.root, "mm-aaaaaa", "by an agent")
    edit_by_hand(waiting, "first", "by hand")
    with Memsync.open(waiting.root) as project:
        copy = next(entry for entry in project.memories() if entry.memory.conflict_of)
    forget(waiting.root, copy.id)
    assert shown(waiting.root) == {"by an agent", "by hand"} - {copy.content}


def test_two_processes_write_at_once_and_nothing_is_lost(waiting):
    one, other = Memsync.open(waiting.root), Memsync.open(waiting.root)
    for number in range(10):
        one.remember(f"one {number}")
        other.remember(f"other {number}")
    waiting.git("commit", "-q", "--allow-empty", "-m", "work")
    one.remember("after the commit")
    other.stores.refresh()
    assert len(shown(waiting.root)) == len(other.list()) == 22
    assert (waiting.status(), committed(waiting).count("\n")) == ("", 21)


def test_a_fold_that_was_cut_short_before_its_end_changes_nothing_the_second_time(waiting):
    remember(waiting.root, "second")
    edit(waiting.root, "mm-aaaaaa", "the first")
    pending = waiting.root / ".gobby" / "local" / "pending.jsonl"
    held = pending.read_bytes()
    assert memsync("memory", "export", cwd=waiting.root).code == 0
    folded = waiting.memories.read_bytes()
    pending.write_bytes(held)  # as if the process had been killed before it removed the file
    assert shown(waiting.root) == {"the first", "second"}
    assert memsync("memory", "export", cwd=waiting.root).code == 0
    assert (waiting.memories.read_bytes(), pending.exists()) == (folded, False)


def test_back_in_mode_worktree_the_next_write_takes_what_waited_along(waiting):
    remember(waiting.root, "second")
    assert memsync("memory", "config", "memory_sync.mode", "worktree", cwd=waiting.root).code == 0
    assert shown(waiting.root) == {"first", "second"}
    remember(waiting.root, "third")
    assert {"second" in waiting.memories.read_text(), "third" in waiting.memories.read_text()} == {True}
    assert not (waiting.root / ".gobby" / "local" / "pending.jsonl").exists()


@pytest.mark.parametrize("mode", ["worktree", "on-commit"])
def test_while_a_rebase_is_under_way_writes_wait_whatever_the_mode(hooked, mode):
    assert memsync("memory", "config", "memory_sync.mode", mode, "--global", cwd=hooked.root).code == 0
    hooked.git("checkout", "-q", "-b", "side")
    for branch in ("side", "main"):
        hooked.git("checkout", "-q", branch)
        (hooked.root / "README").write_text(f"{branch}\n")
        hooked.git("commit", "-qam", branch)
    hooked.git("checkout", "-q", "side")
    said(hooked, "rebase", "main", code=1)
    remember(hooked.root, "in the middle")
    assert memsync("memory", "export", "--json", cwd=hooked.root).json["held"] == "a rebase is under way"
    assert hooked.status() == "UU README\n"
    (hooked.root / "README").write_text("both\n")
    hooked.git("add", "README")
    hooked.git("-c", "core.editor=true", "rebase", "--continue")
    assert (hooked.status(), shown(hooked.root)) == ("", {"first", "in the middle"})
    hooked.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "in the middle" in committed(hooked)


def test_a_sparse_checkout_without_the_store_keeps_new_memories_and_never_empties_the_file(hooked):
    (hooked.root / "src").mkdir()
    (hooked.root / "src" / "x").write_text("x\n")
    hooked.git("add", "src")
    hooked.git("commit", "-q", "-m", "src")
    hooked.git("sparse-checkout", "set", "src")
    assert not hooked.memories.exists()
    remember(hooked.root, "in the sparse tree")
    (hooked.root / "src" / "x").write_text("y\n")
    hooked.git("commit", "-qam", "work")
    assert "first" in committed(hooked)
    assert hooked.status() == ""
    hooked.git("sparse-checkout", "disable")
    assert shown(hooked.root) == {"first", "in the sparse tree"}
    hooked.git("commit", "-q", "--allow-empty", "-m", "whole")
    assert committed(hooked).count("\n") == 2


def test_an_unknown_mode_is_refused_with_the_ones_there_are(hooked):
    ran = memsync("memory", "config", "memory_sync.mode", "sometimes", cwd=hooked.root)
    assert (ran.code, "one of worktree, on-commit, auto-commit" in ran.err) == (1, True)
    (hooked.root / ".gobby" / "config.yaml").write_text("memory_sync:\n  mode: never\n")
    loaded = load(locate(hooked.root))
    assert "memory_sync.mode: 'never' is not one of" in loaded.warnings[0]
    assert get(loaded.settings, "memory_sync.mode") == "worktree"


def test_the_status_and_the_doctor_say_what_waits_and_mending_leaves_it_waiting(waiting):
    (waiting.root / ".git" / "info" / "attributes").write_text(".gobby/memories.jsonl merge=memsync\n")
    remember(waiting.root, "second")
    edit(waiting.root, "mm-aaaaaa", "the first")
    ran = memsync("status", "--json", cwd=waiting.root).json
    (store,) = [store for store in ran["stores"] if store["scope"] == "project"]
    assert (ran["mode"], store["waiting"], store["pending"]) == ("on-commit", 2, False)
    assert "2 wait for a commit" in memsync("status", cwd=waiting.root).out
    assert memsync("doctor", "--fix", cwd=waiting.root).out == "all is well\n"
    assert waiting.status() == ""
    memsync("memory", "config", "memory_sync.mode", "worktree", "--global", cwd=waiting.root)
    waiting.git("rm", "-q", ".gobby/config.yaml")
    assert "2 memories wait; the next write" in memsync("doctor", cwd=waiting.root).out


def test_private_memories_come_back_into_the_store_and_wait(waiting):
    assert memsync("memory", "config", "--stealth", "on", cwd=waiting.root).code == 0
    remember(waiting.root, "private")
    assert memsync("memory", "config", "--stealth", "off", "--move", cwd=waiting.root).code == 0
    assert (waiting.status(), shown(waiting.root)) == ("", {"first", "private"})
    waiting.git("commit", "-q", "--allow-empty", "-m", "work")
    assert "private" in committed(waiting)


@pytest.mark.parametrize("mode", ["on-commit", "worktree"])
@pytest.mark.usefixtures("cold_starts")
def test_a_commit_that_would_hold_memories_alone_is_not_begun_and_leaves_nothing_staged(hooked, mode):
    assert memsync("memory", "config", "memory_sync.mode", mode, "--global", cwd=hooked.root).code == 0
    remember(hooked.root, "CI needs Node 20")
    before = hooked.status()
    told = said(hooked, "commit", "-m", "only", code=1)
    assert "nothing else is staged, so git makes no commit; `memsync sync --commit` commits it alone" in told
    assert (hooked.status(), shown(hooked.root)) == (before, {"first", "CI needs Node 20"})
    if mode == "on-commit":
        hooked.git("rebase", "-q", "HEAD")
    assert memsync("sync", "--commit", cwd=hooked.root).code == 0
    assert ("Node 20" in committed(hooked), hooked.status()) == (True, "")


@pytest.mark.parametrize("words", [["--amend", "--no-edit"], ["--allow-empty", "-m", "work"], ["--am", "--no-edit"]])
def test_a_commit_that_git_makes_anyway_takes_them_along(waiting, words):
    remember(waiting.root, "CI needs Node 20")
    waiting.git("commit", "-q", *words)
    assert ("Node 20" in committed(waiting), waiting.status()) == (True, "")


def test_an_alias_of_git_and_a_path_to_it_are_seen_through(waiting):
    waiting.git("config", "alias.again", "commit --amend --no-edit")
    remember(waiting.root, "CI needs Node 20")
    waiting.git("again", "-q")
    assert "Node 20" in committed(waiting)
