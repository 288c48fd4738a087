"""The workflow for pull requests: its steps run as they stand, against a real repository in the place of the service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line, memsync
from ruamel.yaml import YAML

from memsync import origin
from memsync.cli import git
from memsync.format.jsonl import export, read_lines
from memsync.git import attributes

OLD = "2026-01-01T00:00:00.000Z"


def record(id_: str, text: str, day: int = 1) -> str:
    return memory_line(id_, text, created_at=OLD, updated_at=f"2026-01-0{day}T00:00:00.000Z")


BASE, OURS, THEIRS = record("a", "one"), record("a", "ours", 2), record("a", "theirs", 3) + record("b", "new")


def step(name: str) -> str:
    """Return the script of the step whose name begins so."""
    job = YAML(typ="safe").load((origin.templates() / git.RECIPE).read_text(encoding="utf-8"))["jobs"]["memories"]
    return next(entry["run"] for entry in job["steps"] if entry.get("name", "").startswith(name))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a directory with memsync, and with a `gh` that has no comment of ours yet and notes how it was called."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "memsync").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memsync "$@"\n')
    (directory / "gh").write_text('#!/bin/sh\necho "$@" >> "$RUNNER_TEMP/calls"\n')
    for program in directory.iterdir():
        program.chmod(0o755)
    return directory


def pull_request(repo: GitRepo, tmp_path: Path, ours: dict[str, str], theirs: dict[str, str]) -> GitRepo:
    """Return the checkout that the service makes of a branch `change` with *ours*, while main has *theirs*."""
    (repo.root / ".gitattributes").write_bytes(attributes.add_lines(b""))
    versions = {"base": {".gobby/memories.jsonl": BASE, "code": "1\n"}, "change": ours, "main": theirs}
    for branch, files in versions.items():
        if branch != "base":
            repo.git("switch", "-q", *(["-c", branch] if branch == "change" else [branch]))
        for name, text in files.items():
            (repo.root / name).parent.mkdir(exist_ok=True)
            (repo.root / name).write_text(text)
        repo.git("add", "-A")
        repo.git("commit", "-qm", branch)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    repo.git("clone", "-q", "--branch", "change", str(tmp_path / "hub.git"), str(tmp_path / "checkout"))
    return GitRepo(tmp_path / "checkout")


def run(checkout: GitRepo, programs: Path, name: str, base: str = "main") -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "BASE": base,
        "HEAD": "change",
        "PR": "7",
        "RUNNER_TEMP": str(programs),
        "GITHUB_REPOSITORY": "us/it",
    }
    words = ["bash", "-e", "-o", "pipefail", "-c", step(name)]
    return subprocess.run(words, cwd=checkout.root, env=env, capture_output=True, text=True, check=False)


def pushed(checkout: GitRepo) -> str:
    checkout.git("fetch", "-q", "origin")
    return checkout.git("log", "-1", "--format=%s", "origin/change").strip()


def test_the_workflow_merges_what_the_button_cannot_and_comments(repo, tmp_path, programs):
    ours, theirs = {".gobby/memories.jsonl": OURS}, {".gobby/memories.jsonl": THEIRS, "code": "2\n"}
    checkout = pull_request(repo, tmp_path, ours, theirs)
    done = run(checkout, programs, "Merge")
    assert done.returncode == 0, done.stderr
    assert pushed(checkout) == "Merge branch 'main' into change (memories merged by memsync)"
    data = checkout.memories.read_bytes()
    assert export(read_lines(data)) == data
    assert {line.memory.content for line in read_lines(data)} == {"ours", "theirs", "new"}
    assert checkout.git("show", "origin/change:code") == "2\n"
    assert run(checkout, programs, "Comment").returncode == 0
    assert "pr comment 7 --body-file" in (programs / "calls").read_text()
    comment = (programs / "memories.md").read_text()
    assert comment.startswith("<!-- memsync -->\n")
    assert "ours" in comment


def test_the_workflow_says_which_tested_prompts_change_and_fails_with_a_failing_test(repo, tmp_path, programs):
    asked = "which database does the project use now?"
    tests = f'{{"prompt": "{asked}", "not": ["b"]}}\n'
    ours = record("a", "one") + record("b", "The project uses the Postgres database now")
    checkout = pull_request(
        repo, tmp_path, {".gobby/memories.jsonl": ours, ".gobby/tests.jsonl": tests}, {"code": "2\n"}
    )
    assert run(checkout, programs, "Comment").returncode == 0
    comment = (programs / "memories.md").read_text()
    assert "**Memory tests**: 0 of 1 pass" in comment
    assert f"| 1 | `prompt {asked}` | `nothing` | `b` |" in comment
    failed = run(checkout, programs, "Test")
    assert failed.returncode == 1
    assert "::error file=.gobby/tests.jsonl,line=1,title=memory test::" in failed.stdout


def test_the_workflow_leaves_alone_what_the_button_can(repo, tmp_path, programs):
    checkout = pull_request(repo, tmp_path, {".gobby/memories.jsonl": OURS}, {"code": "2\n"})
    before = checkout.git("rev-parse", "HEAD")
    done = run(checkout, programs, "Merge")
    assert (done.returncode, "the button can merge this" in done.stdout) == (0, True)
    assert (checkout.git("rev-parse", "HEAD"), checkout.status(), pushed(checkout)) == (before, "", "change")


@pytest.mark.parametrize("option", ["--upload-pack=touch${IFS}%s/mark;git-upload-pack", "--output=%s/mark"])
def test_a_branch_that_is_named_like_an_option_of_git_is_merged_and_runs_nothing(repo, tmp_path, programs, option):
    checkout = pull_request(repo, tmp_path, {".gobby/memories.jsonl": OURS}, {".gobby/memories.jsonl": THEIRS})
    base = option % tmp_path
    hub = GitRepo(tmp_path / "hub.git")
    hub.git("update-ref", f"refs/heads/{base}", "main")
    done = run(checkout, programs, "Merge", base)
    assert not (tmp_path / "mark").exists()
    assert done.returncode == 0, done.stderr
    assert {line.memory.content for line in read_lines(checkout.memories.read_bytes())} == {"ours", "theirs", "new"}


def test_the_workflow_gives_up_where_code_is_in_conflict(repo, tmp_path, programs):
    ours = {".gobby/memories.jsonl": OURS, "code": "ours\n"}
    theirs = {".gobby/memories.jsonl": THEIRS, "code": "theirs\n"}
    checkout = pull_request(repo, tmp_path, ours, theirs)
    done = run(checkout, programs, "Merge")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "code")
    assert (checkout.status(), pushed(checkout)) == ("", "change")


def test_the_workflow_can_be_printed(repo):
    printed = memsync("git", "ci", "--from", "git+https://h.example/p@v1", cwd=repo.root).out
    assert printed == (origin.templates() / git.RECIPE).read_text(encoding="utf-8").replace(
        "MEMSYNC_SOURCE", "git+https://h.example/p@v1"
    )
