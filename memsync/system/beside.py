"""A command of ours in a process beside one that stays: what reads all of a large store holds up nobody, and its memory is not ours."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from memsync.system import programs

if TYPE_CHECKING:
    from subprocess import Popen

_MUCH: Final = 2_500_000  # bytes of memories, which are read in a second or two


def is_much(sizes: Iterable[int]) -> bool:
    """Tell whether files of *sizes* bytes, ABSENT ones below 0, are so large that all of them are read beside."""
    return sum(max(size, 0) for size in sizes) > _MUCH


class Beside:
    """Runs `memsync WORDS --json` in the project at *start*, time after time. The caller lets in one thread at a time."""

    def __init__(self, start: Path, *words: str) -> None:
        self._words = ("-C", str(start.absolute()), *words, "--json")
        self._process: Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._began = self._ended = 0.0
        self.answer: Any = None  # of the last one that has ended; None if it had no answer
        self.failure = ""  # why that one had none
        self.count = 0  # of those that have ended

    @property
    def is_going(self) -> bool:
        """Whether one runs; if it has just ended, its answer is taken."""
        if self._process is not None and self._process.poll() is not None:
            self._take()
        return self._process is not None

    @property
    def seconds(self) -> float:
        """For how long the present one has been running, or the last one ran."""
        return (time.monotonic() if self._process is not None else self._ended) - self._began

    @property
    def age(self) -> float:
        """How many seconds ago the last one has ended."""
        return time.monotonic() - self._ended

    def begin(self) -> None:
        """Start one, unless one runs."""
        from subprocess import DEVNULL, Popen

        if not self.is_going:
            self._said, self._began = tempfile.TemporaryFile(), time.monotonic()  # noqa: SIM115 - closed when it was read
            words = programs.own(*self._words)
            self._process = Popen(words, env=programs.child_env(), stdin=DEVNULL, stdout=self._said, stderr=DEVNULL)

    def end(self) -> None:
        """Let none run any more."""
        if self._process is not None and self._said is not None:
            self._process.terminate()
            self._process.wait()
            self._said.close()
            self._process, self._said = None, None

    def _take(self) -> None:
        assert self._said
        with self._said as said:
            said.seek(0)
            data = said.read()
        code = self._process.returncode if self._process else 0
        self._process, self._said, self._ended, self.count = None, None, time.monotonic(), self.count + 1
        try:
            self.answer = json.loads(data)
        except ValueError:
            self.answer = None
        self.failure = _describe_failure(code, self.answer)


def _describe_failure(code: int, answer: Any) -> str:
    """Return why a process that ended with *code* and said *answer* failed; "" if it did not."""
    if isinstance(answer, dict) and "error" in answer:
        return str(answer["error"])
    if answer is not None:
        return ""
    return f"it was killed by signal {-code}" if code < 0 else f"it ended without an answer, with exit code {code}"
