"""The doctor beside the desk: where there is much to read a process of its own looks, so that no page waits for it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from memsync.memories.project import Project
from memsync.setup import doctor
from memsync.setup.doctor import Finding
from memsync.system import programs

_MUCH: Final = 2_500_000  # bytes of memories, which are read in a second or two
_FRESH: Final = 5.0  # seconds for which what was found is shown to whoever asks


class Look(NamedTuple):
    """What was found, None as long as somebody looks; and for how many seconds that has been so."""

    findings: Sequence[Finding] | None
    seconds: float = 0.0


class Checkup:
    """Looks for problems in the project at *start*, for one page after the other."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._began = 0.0
        self._found: list[Finding] = []
        self._ended = -_FRESH

    def look(self, project: Project) -> Look:
        """Return what the doctor finds, or for how long he has been looking: the next call goes on from there."""
        if self._process is None and _count_bytes(project) <= _MUCH:
            return Look(doctor.examine(project))
        if self._process is None and time.monotonic() - self._ended > _FRESH:
            self._begin()
        if self._process is not None:
            if self._process.poll() is None:
                return Look(None, time.monotonic() - self._began)
            self._end()
        return Look(self._found)

    def end(self) -> None:
        """Let nobody look any more."""
        if self._process is not None and self._said is not None:
            self._process.terminate()
            self._process.wait()
            self._said.close()
            self._process, self._said = None, None

    def _begin(self) -> None:
        self._said, self._began = tempfile.TemporaryFile(), time.monotonic()  # noqa: SIM115 - closed when it was read
        words = programs.own("-C", str(self._start.absolute()), "doctor", "--json")
        self._process = subprocess.Popen(
            words, env=programs.child_env(), stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.DEVNULL
        )

    def _end(self) -> None:
        assert self._said
        self._said.seek(0)
        with self._said as said:
            data = said.read()
        self._process, self._said, self._ended = None, None, time.monotonic()
        try:
            self._found = [Finding(**one) for one in json.loads(data)["findings"]]
        except (ValueError, LookupError, TypeError):
            self._found = [Finding("error", "memsync doctor", "ended without an answer; run it in a terminal")]


def _count_bytes(project: Project) -> int:
    """Return how much there is to read; no store is read for that, the project may just have been opened."""
    return sum(stamp.size for store in project.stores.values() for stamp in store.look())
