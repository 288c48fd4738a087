"""Every way in which git brings two versions together: nothing lost, no marker left, the same bytes on both sides.

Each row is a command of git's in a real clone, with our driver, without its configuration, or without its attribute.
Afterwards the store is used as any command would use it: where git left a conflict, `doctor --fix` settles it.
"""

from __future__ import annotations

import subprocess

import pytest
from helpers import GitRepo, memory_line

from memsync import Memsync
from memsync.format.jsonl import export, in_conflict, read_lines
from memsync.git import attributes
from memsync.setup.doctor import examine, fix_findings

OLD, EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"
WITH_DRIVER = ("driver", "no driver", "no attribute")


def record(id_: str, text: str, updated_at: str = OLD, **fields: object) -> str:
    return memory_line(f"mm-{id_}", text, created_at=OLD, updated_at=updated_at, **fields)


BASE = record("a", "both edit") + record("b", "ours removes") + record("c", "theirs removes") + record("m", "untouched")
OURS = (
    record("a", "edited by us", EARLY)
    + record("c", "theirs removes")
    + record("d", "ours adds")
    + record("m", "untouched")
)
THEIRS = (
    record("a", "edited by them", LATE)
    + record("b", "ours removes")
    + record("e", "theirs adds")
    + record("m", "untouched")
)
TEXTS = {"edited by us", "edited by them", "ours adds", "theirs adds", "untouched"}
REMOVED = {"ours removes", "theirs removes"}


def commit(repo: GitRepo, text: str, message: str) -> None:
    repo.write_memories(text)
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", message)


def prepared(repo: GitRepo, setting: str, base: str = BASE, ours: str = OURS, theirs: str = THEIRS) -> GitRepo:
    """Commit *base*, then *ours* on main and *theirs* on other; main is checked out."""
    if setting != "no attribute":
        (repo.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    if setting != "no driver":
        attributes.install(repo.root)
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", "set up")
    if base:
        commit(repo, base, "base")
    repo.git("switch", "-qc", "other")
    commit(repo, theirs, "theirs")
    repo.git("switch", "-q", "main")
    commit(repo, ours, "ours")
    return repo


def run(repo: GitRepo, *words: str) -> int:
    return subprocess.run(["git", *words], cwd=repo.root, capture_output=True, check=False).returncode


def texts(repo: GitRepo) -> set[str]:
    """Settle what is to settle, and return the texts that everybody then finds."""
    with Memsync.open(repo.root) as project:
        fix_findings(project)
    data = repo.memories.read_bytes()
    assert not in_conflict(read_lines(data))
    assert export(read_lines(data)) == data
    return {entry.content for entry in Memsync.open(repo.root).list()}


MERGES = [
    ("merge", "other"),
    ("merge", "--no-ff", "other"),
    ("merge", "--squash", "other"),
    ("cherry-pick", "other"),
    ("rebase", "other"),
    ("rebase", "--apply", "other"),
    ("pull", "-q", "--no-rebase", ".", "other"),
    ("pull", "-q", "--rebase", ".", "other"),
]


@pytest.mark.parametrize("setting", WITH_DRIVER)
@pytest.mark.parametrize("words", MERGES, ids=" ".join)
def test_nothing_is_lost_and_no_marker_is_left(repo, words, setting):
    code = run(prepared(repo, setting), *words)
    if setting == "driver":
        assert code == 0
    assert texts(repo) == TEXTS


def test_every_way_gives_the_same_bytes_from_both_sides(repo):
    prepared(repo, "driver")
    results = set()
    for start, end in (("main", "other"), ("other", "main")):
        for words in MERGES:
            repo.git("switch", "-q", "--detach", start)
            repo.git(*[end if word == "other" else word for word in words])
            results.add(repo.memories.read_bytes())
            repo.git("reset", "-q", "--hard")
    assert len(results) == 1


@pytest.mark.parametrize("setting", WITH_DRIVER)
def test_a_stash_comes_back_into_another_version(repo, setting):
    prepared(repo, setting)
    repo.git("reset", "-q", "--soft", "HEAD~1")
    repo.git("stash", "-q")
    repo.git("merge", "-q", "--ff-only", "other")
    run(repo, "stash", "pop")
    assert texts(repo) == TEXTS


@pytest.mark.parametrize("setting", WITH_DRIVER)
def test_a_revert_takes_back_one_commit_and_nothing_of_others(repo, setting):
    prepared(repo, setting)
    commit(repo, OURS + record("z", "later"), "later")
    run(repo, "revert", "--no-edit", "HEAD~1")
    assert texts(repo) == {"both edit", "ours removes", "theirs removes", "untouched", "later"}


@pytest.mark.parametrize("setting", WITH_DRIVER)
def test_two_branches_that_each_made_the_file_keep_all_of_both(repo, setting):
    ours = record("a", "in both") + record("b", "ours adds", EARLY)
    theirs = record("a", "in both") + record("c", "theirs adds", LATE)
    code = run(prepared(repo, setting, "", ours, theirs), "merge", "other")
    assert (code == 0) or setting != "driver"
    assert texts(repo) == {"in both", "ours adds", "theirs adds"}


@pytest.mark.parametrize("setting", WITH_DRIVER)
def test_an_edit_wins_over_a_removal_on_the_other_side(repo, setting):
    base = record("a", "one") + record("b", "two")
    ours, theirs = record("b", "two"), record("a", "one, edited", LATE) + record("b", "two")
    run(prepared(repo, setting, base, ours, theirs), "merge", "other")
    assert texts(repo) == {"one, edited", "two"}


@pytest.mark.parametrize(("act", "left"), [("update", {"kept", "theirs"}), ("forget", {"theirs"})])
def test_what_a_merge_kept_is_named_until_somebody_has_looked(repo, act, left):
    prepared(repo, "driver", record("a", "base"), record("a", "kept", EARLY), record("a", "theirs", LATE))
    repo.git("merge", "-q", "other")
    with Memsync.open(repo.root) as project:
        (named,) = [
            finding for finding in examine(project) if "is the other text of mm-a, kept by a merge" in finding.what
        ]
        id_ = named.where.rpartition(" ")[2]
        project.update(id_, importance=project.get(id_).memory.importance) if act == "update" else project.forget(id_)
        assert not [finding for finding in examine(project) if "kept by a merge" in finding.what]
    assert texts(repo) == left


@pytest.mark.parametrize("setting", WITH_DRIVER)
def test_an_octopus_merges_or_refuses_and_loses_nothing(repo, setting):
    """git merges no file but as text in an octopus, and refuses one with conflicts."""
    prepared(repo, setting)
    repo.git("switch", "-qc", "third", "main~1")
    commit(repo, BASE + record("z", "a third adds"), "third")
    repo.git("switch", "-q", "main")
    if run(repo, "merge", "other", "third"):
        run(repo, "merge", "--abort")
        repo.git("reset", "-q", "--hard", "main")
        for branch in ("other", "third"):
            if run(repo, "merge", branch):
                texts(repo)
                repo.git("commit", "-qam", f"merged {branch}")
    assert texts(repo) == TEXTS | {"a third adds"}


def test_a_branch_that_is_merged_again_and_again_stays_one(repo):
    """Both sides go on after each merge; what lost is kept once, in its last form."""
    prepared(repo, "driver")
    for turn in range(3):
        for branch, other in (("main", "other"), ("other", "main")):
            repo.git("switch", "-q", branch)
            repo.git("merge", "-q", other)
            data = repo.memories.read_text()
            commit(repo, data + record(f"{branch}{turn}", f"{branch} in turn {turn}"), "more")
    expected = TEXTS | {f"{branch} in turn {turn}" for branch in ("main", "other") for turn in range(3)}
    assert texts(repo) == expected


def test_a_rebase_of_many_edits_keeps_the_last_text_and_not_each_on_the_way(repo):
    prepared(
        repo, "driver", ours=record("a", "draft 1", EARLY), theirs=record("a", "theirs", LATE), base=record("a", "base")
    )
    for number in (2, 3, 4):
        commit(repo, record("a", f"draft {number}", f"2026-01-02T00:00:0{number}.000Z"), f"draft {number}")
    repo.git("rebase", "-q", "other")
    assert texts(repo) == {"theirs", "draft 4"}


def test_a_crlf_checkout_merges_to_the_same_bytes(repo):
    prepared(repo, "driver")
    expected = None
    for value in ("false", "true"):
        repo.git("config", "core.autocrlf", value)
        repo.git("switch", "-q", "--detach", "main")
        repo.git("merge", "-q", "other")
        expected = expected or repo.memories.read_bytes()
        assert repo.memories.read_bytes() == expected
    assert b"\r" not in expected


def test_a_linked_worktree_merges_with_the_driver_of_its_clone(repo, tmp_path):
    prepared(repo, "driver")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "main")
    linked = GitRepo(tmp_path / "linked")
    linked.git("merge", "-q", "other")
    assert texts(linked) == TEXTS


def test_two_clones_that_push_in_turn_end_with_the_same_bytes(repo, tmp_path):
    prepared(repo, "driver")
    repo.git("init", "-q", "--bare", str(tmp_path / "hub.git"))
    repo.git("push", "-q", str(tmp_path / "hub.git"), "main", "other")
    clones = []
    for name, branch in (("one", "main"), ("two", "other")):
        subprocess.run(["git", "clone", "-q", tmp_path / "hub.git", tmp_path / name], check=True, capture_output=True)
        clone = GitRepo(tmp_path / name)
        attributes.install(clone.root)
        clone.git("switch", "-qC", "work", f"origin/{branch}")
        clones.append(clone)
    one, two = clones
    one.git("push", "-q", "origin", "work")
    for clone in (two, one, two):
        clone.git("pull", "-q", "--rebase=false", "--no-edit", "origin", "work")
        clone.git("push", "-q", "origin", "work")
    assert one.memories.read_bytes() == two.memories.read_bytes()
    assert texts(one) == texts(two) == TEXTS


def test_a_moved_folder_takes_the_changes_of_the_other_side_along(repo):
    prepared(repo, "driver")
    repo.git("switch", "-q", "main")
    (repo.root / "sub").mkdir()
    repo.git("mv", ".gobby", "sub/.gobby")
    (repo.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    (repo.root / "sub" / ".gitattributes").write_bytes(attributes.add_lines(b""))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "moved")
    run(repo, "merge", "other")
    moved = GitRepo(repo.root / "sub")
    assert texts(moved) == TEXTS


def test_a_memory_restored_after_its_removal_was_committed_outlives_a_second_removal(repo):
    """It is as if somebody had written it again; back as it was, it would be untouched here and removed there."""
    prepared(repo, "driver", BASE, BASE, record("a", "both edit"))
    with Memsync.open(repo.root) as project:
        project.forget("mm-m")
    repo.git("commit", "-qam", "removed")
    with Memsync.open(repo.root) as project:
        project.restore("mm-m")
    repo.git("commit", "-qam", "restored")
    repo.git("merge", "-q", "other")
    assert texts(repo) == {"both edit", "untouched"}


def test_a_memory_restored_before_anybody_could_see_its_removal_is_as_if_nothing_had_happened(repo):
    prepared(repo, "driver")
    with Memsync.open(repo.root) as project:
        project.forget("mm-m")
        project.restore("mm-m")
    assert repo.status() == ""
