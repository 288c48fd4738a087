"""Searching a work tree with git while others work: begun early, waited for where the answer is needed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.store.checkout import QUIET, clean_env
from memsync.system import programs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen


class Search:
    """Begins to look for *words*, each as a whole word, in the files at *top* that git does not ignore, but for those *without*.

    It has *patience* seconds from now on. `close` ends it; nobody need have waited for it.
    """

    def __init__(self, top: Path, words: Sequence[str], *, without: str, patience: float) -> None:
        import subprocess

        asked = [part for word in words for part in ("-e", word)]
        options = ("-l", "-z", "-I", "-w", "-F", "--untracked")
        self._end = time.monotonic() + patience
        self._process: Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                [programs.find("git"), "grep", *options, *asked, "--", ".", f":!{without}"],
                cwd=top,
                env={**clean_env(), **QUIET},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            self.close()

    def wait(self) -> list[str] | None:
        """Return the paths of the files that have one of the words; None where there is no git, or it took too long."""
        import subprocess

        if self._process is None:
            return None
        try:
            out, _ = self._process.communicate(timeout=max(0.0, self._end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        return [path for path in out.decode("utf-8", "surrogateescape").split("\0") if path]

    def close(self) -> None:
        """End the search, if it still runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
