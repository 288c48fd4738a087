"""Running the git program in one checkout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from memsync import programs
from memsync.errors import GitRefused

# What git sets for its hooks. A leaked GIT_DIR wins over the directory that git is started in, and a relative
# GIT_INDEX_FILE is read from there, so only a hook at the top of its own checkout may keep them.
_OF_HOOKS: Final = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY"
    " GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_IMPLICIT_WORK_TREE GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE".split()
)
_LONGEST: Final = 120.0


class Done(NamedTuple):
    """How a git command ended; 255 where there is no git, or it took too long."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output without its last newline."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def paths(self) -> list[str]:
        """The output of a command with -z."""
        return [part for part in self.out.decode("utf-8", "surrogateescape").split("\0") if part]


def clean_env(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return *env* without what binds git to another repository or index."""
    return {name: value for name, value in programs.child_env(env).items() if name not in _OF_HOOKS}


class Checkout:
    """Git in the work tree whose top is *top*. `in_hook`: git itself started us there, so its index counts."""

    def __init__(self, top: Path, *, in_hook: bool = False) -> None:
        self.top = top
        self._env = programs.child_env() if in_hook else clean_env()

    def run(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, patience: float = _LONGEST
    ) -> Done:
        """Run `git WORDS` at the top for *patience* seconds at most and return how it ended; never asks a question."""
        import subprocess

        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
        try:
            done = subprocess.run(
                [programs.find("git"), *words],
                cwd=self.top,
                input=stdin,
                capture_output=True,
                env={**self._env, **quiet, **(env or {})},
                timeout=patience,
                check=False,
            )
        except OSError as error:
            return Done(255, b"", f"it cannot be run ({error.strerror or error}); install git, or put it into the PATH")
        except subprocess.SubprocessError as error:
            return Done(255, b"", str(error))
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def ask(self, *words: str) -> str | None:
        """Return what `git WORDS` prints; None if it fails."""
        done = self.run(*words)
        return done.text if done.code == 0 else None

    def do(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run `git WORDS` and return what it prints.

        Raises:
            GitRefused: it failed.
        """
        done = self.run(*words, stdin=stdin, env=env)
        if done.code:
            raise GitRefused(words[0], done.err)
        return done.text
