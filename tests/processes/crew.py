"""Real processes for a test, without the price of starting Python for each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ACTORS = Path(__file__).with_name("actors.py")
PATIENCE = 60.0


class Actor:
    """One process; `said` is everything it said so far."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        self.pid, self._end = pid, end
        self.said: list[dict[str, Any]] = []
        self._rest = b""

    def tell(self) -> None:
        """Say: go on, or stop."""
        self._end.sendall(b"!")

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def listen(self, patience: float = PATIENCE) -> bool:
        """Take in what it says next; False at its end, or when the patience is."""
        self._end.settimeout(max(patience, 0.001))  # zero would mean: do not wait at all, and say so with an error
        try:
            heard = self._end.recv(65536)
        except TimeoutError:
            return False
        *rows, self._rest = (self._rest + heard).split(b"\n")
        self.said += map(json.loads, rows)
        return bool(heard)

    def until(self, is_heard: Callable[[], bool]) -> None:
        """Listen until that is so."""
        deadline = time.monotonic() + PATIENCE
        while not is_heard():
            if not self.listen(max(0.0, deadline - time.monotonic())):
                self._check_for_a_crash()
                pytest.fail(f"it never said so: {self.said[-3:]}")

    def until_round(self, number: int) -> None:
        self.until(lambda: any(what.get("round") == number for what in self.said))

    def until_it_did(self, count: int) -> None:
        self.until(lambda: sum("did" in what for what in self.said) >= count)

    def to_its_end_by(self, number: int) -> list[dict[str, Any]]:
        """Listen until the process is gone, as somebody who repeats the signal that it seems to have missed.

        Python drops an interrupt that arrives in a weakref callback or in a finalizer.
        """
        deadline = time.monotonic() + PATIENCE
        while self._is_there(time.monotonic() + 1):
            assert time.monotonic() < deadline, "it did not end"
            self.signal(number)
        return self._at_its_end()

    def to_the_end(self) -> list[dict[str, Any]]:
        """Listen until the process is gone, and return what it said."""
        assert not self._is_there(time.monotonic() + PATIENCE), "it did not end"
        return self._at_its_end()

    def _is_there(self, deadline: float) -> bool:
        """Listen until the process is gone; True if it still is there at the deadline."""
        while self.listen(max(0.0, deadline - time.monotonic())):
            pass
        return time.monotonic() >= deadline

    def _at_its_end(self) -> list[dict[str, Any]]:
        self._end.close()
        self._check_for_a_crash()
        return self.said

    def _check_for_a_crash(self) -> None:
        for what in self.said:
            if "crash" in what:
                pytest.fail(f"an actor crashed: {what['crash']}")


class Crew:
    """A process with memsync loaded that forks the actors."""

    def __init__(self, **env: str) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, str(ACTORS), str(theirs.fileno())]
            self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()], env={**os.environ, **env})
        self._ends: list[socket.socket] = []

    def start(self, job: str, **args: Any) -> Actor:
        ours, theirs = socket.socketpair()
        with theirs:
            message = json.dumps({"job": job, "home": os.environ["HOME"], "args": args}).encode()
            socket.send_fds(self._line, [message], [theirs.fileno()])
        self._ends.append(ours)
        return Actor(int(self._line.recv(64)), ours)

    def close(self) -> None:
        """Hang up: an actor that still speaks dies of it."""
        for end in (*self._ends, self._line):
            end.close()
        self._process.wait(PATIENCE)


def what_is_known(said: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, Any] | None]:
    """Return what the process was told is stored (id -> text), and what it was doing when it ended, if anything."""
    stored: dict[str, str] = {}
    doing = None
    for what in said:
        if "about_to" in what:
            doing = what
        elif "refused" in what:
            doing = None
        elif "did" in what:
            doing = None
            if what["did"] == "forget":
                del stored[what["id"]]
            elif what["did"] != "export":
                stored[what["id"]] = what["text"]
    return stored, doing
