"""The processes that started us: their numbers and their command lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_FARTHEST = 12  # a hook manager puts a shell or two, and itself, between git and us


def find_pids(most: int) -> list[int]:
    """Return the number of our parent, of its parent and so on: at most *most*."""
    return [pid for pid, _ in islice(walk_up(), most)]


def walk_up() -> Iterator[tuple[int, list[str]]]:
    """Yield number and command line of our parent, of its parent and so on, as far as the system tells."""
    pid = os.getppid()
    for _ in range(_FARTHEST):
        if pid <= 1 or (found := _read_proc(pid) or _ask_ps(pid)) is None:
            return
        words, parent = found
        yield pid, words
        pid = parent


def _read_proc(pid: int) -> tuple[list[str], int] | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    parent = status.rpartition(b")")[2].split()[1]  # the name before it may hold anything
    return [os.fsdecode(word) for word in words if word], int(parent)


def _ask_ps(pid: int) -> tuple[list[str], int] | None:
    import subprocess

    from memsync.system import programs

    try:
        done = subprocess.run(
            [programs.find("ps"), "-o", "ppid=,args=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
        parent, _, line = done.stdout.strip().partition(" ")
        return line.split(), int(parent)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
