"""A directory of a clone may look like a bare repository, whose settings name programs: git must not take it for one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line, memsync

COMMANDS = (
    ("memory", "remember", "staging deploys use the green cluster since May"),
    ("memory", "init", "--dry-run"),
    ("doctor", "--fix"),
    ("sync",),
)


def embed(directory: Path, home: Path) -> None:
    """Make *directory* a bare repository with settings, of files that git can track."""
    directory.mkdir(exist_ok=True, parents=True)
    (directory / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (directory / name).mkdir()
        (directory / name / "kept").write_text("")
    program = f'"touch {home}/PWNED; false"'
    (directory / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = {program}\n\tpager = {program}\n"
    )


@pytest.mark.parametrize(("bare", "where"), [(".gobby", "."), (".gobby", ".gobby"), ("docs", "docs/objects")])
def test_no_program_is_run_that_an_embedded_bare_repository_names(tmp_path, home, bare, where):
    origin = GitRepo.create(tmp_path / "origin")
    origin.write_memories(memory_line("mm-aaaaaa", "staging deploys use the blue cluster", importance=1))
    embed(origin.root / bare, home)
    origin.git("add", "-Af")
    origin.git("commit", "-qm", "bring it")
    origin.git("clone", "-q", str(origin.root), str(tmp_path / "clone"))
    cwd = tmp_path / "clone" / where
    payload = json.dumps({"session_id": "s", "prompt": "how are staging deploys done?", "cwd": str(cwd)})
    assert memsync("hook", "prompt", cwd=cwd, stdin=payload).code == 0
    for words in COMMANDS:
        ran = memsync(*words, cwd=cwd)
        assert ran.code in (0, 1), ran.err
        assert not (home / "PWNED").exists(), words
    assert "green" in GitRepo(tmp_path / "clone").memories.read_text()


def test_a_real_bare_repository_and_its_worktrees_still_work(tmp_path, home):
    origin = GitRepo.create(tmp_path / "origin")
    origin.git("clone", "-q", "--bare", str(origin.root), str(tmp_path / "bare.git"))
    GitRepo(tmp_path / "bare.git").git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert memsync("memory", "add", "--global", "a fact for everywhere", cwd=tmp_path / "bare.git").code == 0
    done = memsync("memory", "add", "a fact of the project", "--json", cwd=tmp_path / "tree")
    assert done.json["memory"]["author"] == GitRepo(tmp_path / "tree").git("config", "user.name").strip()
    assert os.path.exists(tmp_path / "tree" / ".gobby" / "memories.jsonl")
