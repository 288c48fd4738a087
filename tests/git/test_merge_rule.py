"""The merge rule arrives in every clone, and whatever undoes it is named."""

from __future__ import annotations

import subprocess

import pytest
from doing import edit, remember, said
from helpers import GitRepo, memsync

from memsync.git import attributes
from memsync.git.install import find_rule, install, list_stale_roots, read_noted
from memsync.store.checkout import Checkout
from memsync.store.places import Layout, locate


@pytest.fixture
def ready(repo) -> GitRepo:
    """Return a repository as `memsync init` leaves it, committed."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    remember(repo.root, "first")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    return repo


def stale_roots(layout: Layout) -> list[str]:
    assert layout.git is not None
    return list_stale_roots(layout, read_noted(Checkout(layout.git.root)))


def problems(repo: GitRepo) -> list[str]:
    rule = find_rule(locate(repo.root))
    return list(rule.find_problems()) if rule else []


def spoil_by_removing(repo: GitRepo) -> str:
    repo.git("rm", "-q", ".gitattributes")
    repo.git("commit", "-qm", "no attributes")
    return "no .gitattributes has a merge rule for .gobby/memories.jsonl"


def spoil_by_overriding(repo: GitRepo) -> str:
    with (repo.root / ".gitattributes").open("a") as file:
        file.write("*.jsonl merge=union\n")
    return "another rule is in force for .gobby/memories.jsonl, merge=union"


def spoil_by_a_nearer_file(repo: GitRepo) -> str:
    (repo.root / ".gobby" / ".gitattributes").write_text("memories.jsonl -merge\n")
    return "another rule is in force for .gobby/memories.jsonl, merge=unset"


def spoil_by_not_committing(repo: GitRepo) -> str:
    repo.git("rm", "-q", "--cached", ".gitattributes")
    repo.git("commit", "-q", "--no-verify", "-m", "forgotten")
    return "the merge rule for .gobby/memories.jsonl is not committed (HEAD has no merge rule)"


def spoil_the_driver(repo: GitRepo) -> str:
    repo.git("config", "--remove-section", "merge.memsync")
    return "this clone has no merge driver"


SPOILERS = [
    spoil_by_removing,
    spoil_by_overriding,
    spoil_by_a_nearer_file,
    spoil_by_not_committing,
    spoil_the_driver,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_what_undoes_the_merge_rule_is_named(ready, spoil):
    assert problems(ready) == []
    expected = spoil(ready)
    (found,) = problems(ready)
    assert found.startswith(expected)


def test_status_and_doctor_say_it_and_are_content_without_it(ready):
    said = memsync("git", "status", cwd=ready.root).out
    assert "memories are merged record by record" in said
    assert memsync("doctor", cwd=ready.root).out == "all is well\n"
    spoil_by_removing(ready)
    spoil_the_driver(ready)
    value = memsync("git", "status", "--json", cwd=ready.root).json
    assert (value["attribute"], value["merging"]["here"], len(value["problems"])) == (False, "unspecified", 2)
    assert "no merge driver" in memsync("git", "status", cwd=ready.root).out
    ran = memsync("doctor", cwd=ready.root)
    assert (ran.code, "no merge driver" in ran.out, "has a merge rule" in ran.out) == (1, True, True)


def test_a_memory_file_that_git_does_not_have_needs_no_rule(repo):
    remember(repo.root, "first")
    assert problems(repo) == []


def test_after_the_folder_moved_the_rule_and_the_noted_place_are_found_missing_and_set_right(ready):
    (ready.root / "sub").mkdir()
    ready.git("mv", ".gobby", "sub/.gobby")
    moved = locate(ready.root / "sub")
    rule = find_rule(moved)
    assert rule is not None
    assert [text.split(" for ")[1].split(";")[0] for text in rule.find_problems()] == ["sub/.gobby/memories.jsonl"]
    assert stale_roots(moved) == [
        "memories were in ., and are not there any more; `memsync git install` notes where they are now"
    ]
    install(moved)
    assert (stale_roots(moved), ready.git("config", "--get-all", "memsync.root")) == ([], "sub\n")
    assert memsync("init", "--agent", "none", cwd=ready.root / "sub").code == 0
    ready.git("add", "-A")
    ready.git("commit", "-qm", "moved")
    rule = find_rule(moved)
    assert rule is not None
    assert list(rule.find_problems()) == []


def test_readmes_first_steps_give_a_team_that_merges(repo, tmp_path):
    """`git add .gobby` alone left the rule out for ever, and clones merged as text."""
    assert memsync("init", "--agent", "claude", cwd=repo.root).code == 0
    (id_,) = remember(repo.root, "CI needs Node 20")
    repo.git("add", ".gobby")
    repo.git("commit", "-qm", "Remember why CI is on Node 20")
    assert ".gitattributes" in repo.git("ls-tree", "--name-only", "HEAD").split()
    subprocess.run(["git", "clone", "-q", str(repo.root), str(tmp_path / "clone")], check=True)
    clone = GitRepo(tmp_path / "clone")
    install(locate(clone.root))
    assert problems(clone) == []
    edit(clone.root, id_, "CI needs Node 22")
    clone.git("commit", "-qam", "clone")
    edit(repo.root, id_, "CI needs Node 24")
    repo.git("commit", "-qam", "origin")
    clone.git("pull", "-q", "--no-rebase")
    assert clone.status() == ""


def test_the_rule_that_init_added_to_a_file_of_the_user_goes_along_but_no_line_of_his(repo):
    path = repo.root / ".gitattributes"
    path.write_text("*.png binary\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "his")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    remember(repo.root, "first")
    repo.git("add", ".gobby")
    repo.git("commit", "-qm", "memories")
    assert (repo.status(), problems(repo)) == ("", [])
    path.write_text(path.read_text() + "*.pdf binary\n")
    remember(repo.root, "second")
    repo.git("add", ".gobby")
    repo.git("commit", "-qm", "more")
    assert repo.status() == " M .gitattributes\n"


@pytest.mark.parametrize("state", ["untracked", "staged", "committed"])
@pytest.mark.parametrize("move", [[], ["--keep"]])
def test_a_stealth_round_trip_leaves_driver_rule_and_files_as_they_were(repo, state, move):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    remember(repo.root, "first")
    if state != "untracked":
        repo.git("add", "-A")
    if state == "committed":
        repo.git("commit", "-qm", "begin")
    before = repo.status(), (repo.root / ".gitattributes").read_bytes(), attributes.list_missing(repo.root)
    assert memsync("memory", "config", "--stealth", "on", "-y", *move, cwd=repo.root).code == 0
    assert problems(repo) == [] or state == "untracked"
    assert memsync("memory", "config", "--stealth", "off", "-y", cwd=repo.root).code == 0
    assert (repo.status(), (repo.root / ".gitattributes").read_bytes(), attributes.list_missing(repo.root)) == before
    assert "AD" not in said(repo, "status", "--porcelain")
