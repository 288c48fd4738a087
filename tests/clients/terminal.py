"""A program in a terminal of its own, driven by what it says there."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_DRAWN = re.compile(r"\x1b(?:\[[0-9;?>]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[=>])")


class Terminal:
    """What a program says, without how it is drawn, and a keyboard."""

    def __init__(self, terminal: int, patience: float) -> None:
        self._terminal, self._end, self._said = terminal, time.monotonic() + patience, ""
        self._from = 0

    def type(self, text: str) -> None:
        """Press the keys of *text*; what is waited for from now on is said afterwards."""
        self._read(0)
        self._from = len(self._said)
        os.write(self._terminal, text.encode())

    def wait_for(self, pattern: str, *, seconds: float | None = None) -> str:
        """Return what it says that matches *pattern*; "" where *seconds* pass without it.

        Raises AssertionError, with the end of what was said, where patience or the program ends.
        """
        end = self._end if seconds is None else min(self._end, time.monotonic() + seconds)
        while not (found := re.search(pattern, self.said)):
            if time.monotonic() >= end and seconds is not None and end < self._end:
                return ""
            assert time.monotonic() < self._end, f"no {pattern!r} in: {self.said[-3000:]}"
            self._read(0.5)
        return found[0]

    @property
    def said(self) -> str:
        """What was said since a key was pressed."""
        return _DRAWN.sub("", self._said[self._from :])

    def _read(self, seconds: float) -> None:
        while select.select([self._terminal], [], [], seconds)[0]:
            try:
                self._said += os.read(self._terminal, 65536).decode("utf-8", "replace")
            except OSError as error:  # how a terminal says that nobody is there any more
                raise AssertionError(f"it ended: {self.said[-3000:]}") from error
            seconds = 0


@contextmanager
def in_terminal(words: Sequence[str], env: Mapping[str, str], cwd: Path, patience: float) -> Iterator[Terminal]:
    """Run a program in a terminal, for *patience* seconds at most, and end it with all that it started."""
    import pty  # where there are terminals
    import termios

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.execvpe(words[0], [*words], {**env, "TERM": "xterm-256color"})
    termios.tcsetwinsize(terminal, (50, 160))
    try:
        yield Terminal(terminal, patience)
    finally:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
