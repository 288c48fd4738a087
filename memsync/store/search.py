"""Searching a work tree with git while others work: begun early, waited for where the answer is needed."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.store.checkout import QUIET, clean_env
from memsync.system import programs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

_READING: Final = 0.5  # seconds for what a process has left in its pipe, which something that it started may hold


class Search:
    """Begins to look for *words*, each as a whole word, in the files at *top* that git does not ignore, but for those *without*.

    It has *patience* seconds from now on; what it has found counts, whenever somebody waits for it. `close` ends it; nobody need have waited.
    """

    def __init__(self, top: Path, words: Sequence[str], *, without: str, patience: float) -> None:
        import subprocess

        asked = [part for word in words for part in ("-e", word)]
        # The last two against settings: colours in names, and submodules, with which git refuses untracked files.
        options = ("-l", "-z", "-I", "-w", "-F", "--untracked", "--no-color", "--no-recurse-submodules")
        self._end = time.monotonic() + patience
        self._process: Popen[bytes] | None = None
        with suppress(OSError):  # there is no git
            self._process = subprocess.Popen(
                [programs.find("git"), "grep", *options, *asked, "--", ".", f":!{without}"],
                cwd=top,
                env={**clean_env(), **QUIET},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def wait(self) -> list[str] | None:
        """Return the paths of the files that have one of the words; None where there is no git, or it took too long."""
        import subprocess

        if self._process is None:
            return None
        is_done = self._process.poll() is not None  # and its answer is read, however late
        left = max(_READING if is_done else 0.0, self._end - time.monotonic())
        try:
            out, _ = self._process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            return None
        return [path for path in out.decode("utf-8", "surrogateescape").split("\0") if path]

    def close(self) -> None:
        """End the search, if it still runs."""
        if self._process is not None:
            with self._process as process:  # which reads no further: what git has started may hold the pipe for long
                process.kill()
            self._process = None
