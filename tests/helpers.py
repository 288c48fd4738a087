"""What many tests need: a real git repository, records, and the real command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import prefork

EXPLORE = bool(os.environ.get("MEMSYNC_EXPLORE"))  # the sandbox clears it before each test


def sample(whole: int) -> int:
    """Return how many of *whole* examples a law draws: all where one explores, a third in each run of the tests."""
    return whole if EXPLORE else max(whole // 3, 4)


@dataclass(frozen=True)
class GitRepo:
    """A real repository, driven by the real git."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> GitRepo:
        """Make a repository with one commit."""
        root.mkdir(parents=True)
        repo = cls(root)
        repo.git("init", "-q")
        (root / "README").write_text("a project\n")
        repo.git("add", "README")
        repo.git("commit", "-q", "-m", "first")
        return repo

    def git(self, *words: str) -> str:
        """Run git and return what it prints; a failure is an error."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout

    def status(self, *words: str) -> str:
        """Return `git status --porcelain`: empty if git sees nothing new."""
        return self.git("status", "--porcelain", *words)

    @property
    def memories(self) -> Path:
        """The project's memory file."""
        return self.root / ".gobby" / "memories.jsonl"

    def write_memories(self, text: str | bytes) -> Path:
        """Put a memory file there as another tool would have left it."""
        self.memories.parent.mkdir(exist_ok=True)
        self.memories.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self.memories


# Filters of git's that a line of shell makes: to clean and to smudge. Between lines git merges what the first makes, never
# what the second does. What is empty stays so, as with git-crypt and git-lfs: of an empty file git asks no filter.
FILTERS = {
    "rot": ("tr A-Za-z N-ZA-Mn-za-m", "tr A-Za-z N-ZA-Mn-za-m"),
    "gzip": ("if IFS= read -r row; then { printf '%s\\n' \"$row\"; cat; } | gzip -nc; fi", "gzip -dcq || :"),
}


def put_stuck_git(directory: Path) -> str:
    """Put a git that never ends into *directory*, and return a PATH that finds it first; not on Windows."""
    os.mkfifo(pipe := directory / "pipe")
    script = directory / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec cat '{pipe}'\n")
    script.chmod(0o755)
    return f"{script.parent}{os.pathsep}{os.environ['PATH']}"


def memory_line(id_: str, content: str, **fields: object) -> str:
    """Spell a record with spaces, as json.dumps and Gobby do."""
    return json.dumps({"content": content, "id": id_, **fields}, sort_keys=True, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Ran:
    """What a finished command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """The one JSON object on standard output."""
        return json.loads(self.out)


def memsync(
    *words: str, cwd: Path, stdin: str | bytes = b"", env: Mapping[str, str] | None = None, timeout: float = 60
) -> Ran:
    """Run the real command in a process of its own."""
    env = {**os.environ, "COLUMNS": "100", **(env or {})}
    stdin = stdin.encode() if isinstance(stdin, str) else stdin
    if prefork.is_on_path():
        code, out, err = prefork.shared().run(words, cwd, env, stdin, timeout)
        return Ran(code, out.decode(), err.decode())
    command = [sys.executable, "-m", "memsync", *words]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=env, timeout=timeout, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def until(condition: Callable[[], object], patience: float = 60) -> None:
    """Wait until *condition* holds, for as long as a machine under load may need."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        pause.wait(0.01)
