"""How many git processes a command starts: each is felt, so a fact is asked for once. Real git writes down what ran."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doing import remember
from helpers import GitRepo, memsync

Started = Callable[..., list[str]]


@pytest.fixture
def ready(repo, tmp_path) -> GitRepo:
    """Return a repository with hooks and merge driver, a remote, two commits with memories, and one memory that waits for the next."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    for text in ("the tests need docker", "CI needs Node 20"):
        remember(repo.root, text)
        repo.git("add", "-A")
        repo.git("commit", "-qm", text, "--no-verify")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    repo.git("push", "-qu", "origin", "HEAD")
    remember(repo.root, "the linter is strict on Mondays")
    return repo


@pytest.fixture
def started(ready, tmp_path, monkeypatch) -> Started:
    """Run memsync with some words, and return the git commands that it started itself."""

    def run(*words: str, cwd: Path = ready.root) -> list[str]:
        trace = tmp_path / "trace"
        trace.unlink(missing_ok=True)
        with monkeypatch.context() as traced:
            traced.setenv("GIT_TRACE2_EVENT", str(trace))
            done = memsync(*words, cwd=cwd)
        assert done.code == 0, done.err
        return list(read_starts(trace))

    return run


def read_starts(trace: Path) -> Iterator[str]:
    """Yield the command lines that git noted in *trace*; what git started itself has the name of its parent in its own."""
    for line in trace.read_text(encoding="utf-8").splitlines() if trace.exists() else ():
        event = json.loads(line)
        if event["event"] == "start" and "/" not in event["sid"]:
            yield " ".join(event["argv"][1:])


BUDGETS = [
    (("status",), 8),
    (("git", "status"), 8),
    (("doctor",), 14),
    (("git", "install"), 5),
    (("init", "--agent", "none"), 12),  # the filter decides on our line, and is named
    (("log",), 9),
    (("diff",), 7),
    (("sync",), 4),
    (("sync", "--commit"), 18),
    (("git", "hook", "pre-commit"), 10),  # two of them for lines of instruction files that it makes false
    (("git", "hook", "post-checkout", "HEAD~1", "HEAD", "1"), 2),
    (("git", "hook", "post-checkout", "HEAD", "HEAD", "1"), 1),
    (("list",), 0),
    (("recall", "docker"), 0),
    (("tags",), 0),
]


@pytest.mark.parametrize(("words", "most"), BUDGETS, ids=[" ".join(words) for words, _ in BUDGETS])
def test_a_command_starts_no_more_git_than_its_answer_needs(started, words, most):
    ran = started(*words)
    assert len(ran) <= most, "\n".join(ran)


@pytest.mark.parametrize("words", [("status",), ("doctor",), ("sync",), ("git", "hook", "pre-commit")])
def test_no_command_asks_git_the_same_twice(ready, started, words):
    ready.git("worktree", "add", "-q", "../beside", "-b", "beside")
    beside = ready.root.parent / "beside"
    remember(beside, "what is known in the other worktree")
    for cwd in (ready.root, beside):
        ran = started(*words, cwd=cwd)
        assert sorted(ran) == sorted(set(ran))


def test_outside_of_git_none_is_started(started, tmp_path):
    (tmp_path / "nowhere").mkdir()
    assert started("status", cwd=tmp_path / "nowhere") == []


def test_the_hook_reads_all_staged_files_at_once(ready, started):
    for number in range(5):
        skill = ready.root / ".claude" / "skills" / f"skill-{number}" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: skill-{number}\ndescription: of a skill\n---\nDo it.\n")
    ready.git("add", "-A")
    assert sum("cat-file" in line for line in started("git", "check")) == 1
