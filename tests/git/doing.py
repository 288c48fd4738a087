"""One call each: what a test does in a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from memsync import Memsync

if TYPE_CHECKING:
    from helpers import GitRepo


def remember(root: Path, *texts: str) -> list[str]:
    """Write memories as one short process would, and return their ids."""
    with Memsync.open(root) as project:
        return [project.remember(text).entry.id for text in texts]


def edit(root: Path, id_: str, text: str) -> None:
    with Memsync.open(root) as project:
        project.update(id_, content=text)


def forget(root: Path, id_: str) -> None:
    with Memsync.open(root) as project:
        project.forget(id_)


def shown(root: Path) -> set[str]:
    """Return the texts that a reader finds."""
    with Memsync.open(root) as project:
        return {entry.content for entry in project.memories()}


def committed(repo: GitRepo, rev: str = "HEAD") -> str:
    """Return the memory file of a commit; "" without one."""
    done = subprocess.run(
        ["git", "show", f"{rev}:.gobby/memories.jsonl"], cwd=repo.root, capture_output=True, text=True, check=False
    )
    return done.stdout


def said(repo: GitRepo, *words: str, code: int = 0) -> str:
    """Run git, which must end with *code*, and return all that it and the hooks print."""
    done = subprocess.run(["git", *words], cwd=repo.root, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
