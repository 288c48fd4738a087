"""A filter of git's on the memory file: what git has of it is read as a user reads it, or the filter is named."""

from __future__ import annotations

import subprocess

import pytest
from doing import edit, forget, remember
from gitfilters import set_up
from helpers import GitRepo, memsync

from memsync import Memsync
from memsync.memories.log import read_stretch

SECRET = '{"content":"The key is AKIAQXJ7ZP3MWN5KTR2V","id":"mm-hand22"}\n'
READERS = [  # what is asked, what the answer has, and what it has not
    (("list", "--at", "HEAD~3"), ("The kettle is old", "A cable that goes"), ("The kettle is new",)),
    (("log",), ("kettle", "A cable that goes", "hand22"), ("not committed",)),
    (("memory", "history", "kettle"), ("added", "changed"), ("not committed",)),
    (("memory", "blame"), ("The kettle is new",), ("not committed",)),
    (("memory", "diff", "HEAD~3..HEAD~2"), ("kettle", "A cable that goes"), ()),
    (("memory", "diff"), ("no memory or skill differs",), ()),
    (("memory", "diff", "HEAD~1"), ("hand22",), ("kettle",)),
    (("audit", "--history"), ("hand22",), ()),
]


def make_history(repo: GitRepo) -> None:
    """Commit two memories, then an edit and a removal, then a secret that a hand wrote, then the file without it."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    kettle, cable = remember(repo.root, "The kettle is old", "A cable that goes")
    commit(repo, "one")
    edit(repo.root, kettle, "The kettle is new")
    forget(repo.root, cable)
    commit(repo, "two")
    clean = repo.memories.read_text()
    for subject, text in (("three", SECRET + clean), ("four", clean)):
        repo.memories.write_text(text)
        commit(repo, subject)


def commit(repo: GitRepo, subject: str) -> None:
    repo.git("add", "-A")
    repo.git("commit", "-qm", subject, "--no-verify")


@pytest.mark.parametrize("kind", ["rot", "lfs", "crypt"])
def test_history_is_read_as_a_user_reads_it(repo, kind):
    set_up(repo, kind)
    make_history(repo)
    for words, there, not_there in READERS:
        done = memsync(*words, cwd=repo.root)
        said = done.out + done.err
        assert [text for text in there if text not in said] == [], said
        assert [text for text in not_there if text in said] == [], said
    with Memsync.open(repo.root) as project:
        kinds = sorted(event.kind for event in read_stretch(project).events)
    assert kinds == ["added", "added", "added", "changed", "removed", "removed"]


@pytest.mark.parametrize("kind", ["rot", "lfs"])
def test_without_the_filter_history_names_it_instead_of_an_empty_answer(repo, kind, monkeypatch):
    set_up(repo, kind)
    make_history(repo)
    if kind == "lfs":
        monkeypatch.setenv("GIT_LFS_SKIP_SMUDGE", "1")
    else:
        repo.git("config", "--remove-section", "filter.rot")
    for words, _, _ in READERS:
        if words != ("memory", "diff"):
            done = memsync(*words, cwd=repo.root)
            assert (done.code, f"git's filter {kind} does not give its text here" in done.err) == (1, True), words


@pytest.mark.parametrize("kind", ["lfs", "crypt"])
def test_a_file_that_was_taken_out_of_its_filter_has_its_whole_history(repo, kind):
    set_up(repo, kind)
    make_history(repo)
    rules = repo.root / ".gitattributes"
    rules.write_text(f"{rules.read_text()}.gobby/memories.jsonl !filter !diff\n")
    repo.git("add", "--renormalize", "-A")
    commit(repo, "plain")
    done = memsync("list", "--at", "HEAD~4", cwd=repo.root)
    assert (done.code, "The kettle is old" in done.out) == (0, True)
    assert "not committed" not in memsync("log", cwd=repo.root).out


def test_a_file_of_unreadable_lines_behind_a_filter_stops_no_sync(repo):
    set_up(repo, "rot")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    repo.memories.write_text("no record\n")
    commit(repo, "one")
    repo.git("switch", "-qc", "other")
    repo.memories.write_text("no record\nof theirs\n")
    commit(repo, "two")
    repo.git("switch", "-q", "main")
    repo.memories.write_text("no record\nof ours\n")
    commit(repo, "three")
    repo.git("config", "--remove-section", "merge.memsync")
    merge(repo, "other")
    done = memsync("sync", cwd=repo.root)
    assert (done.code, "does not give its text" in done.out + done.err) == (0, False)
    assert {"no record", "of theirs", "of ours"} <= set(repo.memories.read_text().splitlines())


def merge(repo: GitRepo, name: str) -> None:
    subprocess.run(["git", "merge", "-q", name], cwd=repo.root, capture_output=True, check=False)
