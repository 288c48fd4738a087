"""A filter of git's on the memory file, for tests: git-lfs, git-crypt, or one of a line of shell."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from helpers import FILTERS

if TYPE_CHECKING:
    from helpers import GitRepo

FILE = ".gobby/memories.jsonl"
HOME_MADE = dict(FILTERS)


def set_up(repo: GitRepo, kind: str) -> None:
    """Put the filter *kind* onto the memory file of a repository."""
    program = {"lfs": "git-lfs", "crypt": "git-crypt"}.get(kind)
    if program and not shutil.which(program):
        pytest.skip(f"NOT TESTED: {program} is not installed (apt-get install {program})")
    line = f"*.jsonl filter={kind}"
    if kind == "lfs":
        repo.git("lfs", "install", "--local")
        line += " diff=lfs merge=lfs -text"
    elif kind == "crypt":
        subprocess.run(["git-crypt", "init"], cwd=repo.root, check=True, capture_output=True)
        line = ".gobby/** filter=git-crypt diff=git-crypt"
    else:
        add_filter(repo, kind)
    (repo.root / ".gitattributes").write_text(f"{line}\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "a filter")


def add_filter(repo: GitRepo, kind: str) -> None:
    for way, command in zip(("clean", "smudge"), HOME_MADE[kind], strict=True):
        repo.git("config", f"filter.{kind}.{way}", command)
