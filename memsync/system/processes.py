"""Processes: those that started us, those that run on this machine, and how one that stays gives back the memory that is free."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

_ROUNDS = 3  # looks for what has started since; a machine that builds something never comes to an end
_FARTHEST = 12  # a hook manager puts a shell or two, and itself, between git and us
# From glibc's malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGE: Final = 1 << 18  # bytes, from which on a block is the system's own


def find_pids(most: int) -> list[int]:
    """Return the number of our parent, of its parent and so on: at most *most*."""
    return [pid for pid, _ in islice(walk_up(), most)]


def walk_up() -> Iterator[tuple[int, list[str]]]:
    """Yield number and command line of our parent, of its parent and so on, as far as the system tells."""
    pid = os.getppid()
    for _ in range(_FARTHEST):
        if pid <= 1 or (found := _read_proc(pid) or _ask_ps(pid)) is None:
            return
        yield pid, found[0]
        pid = found[1]


def list_running() -> Iterator[tuple[list[str], str]]:
    """Yield command line and working directory of each process that runs here, those that start meanwhile too.

    A directory is "" where the system does not tell it, as on macOS; processes of other users are left out then.
    On Windows there are none.
    """
    seen, started = set[str](), set[str]()
    for _ in range(_ROUNDS):
        with suppress(OSError):
            started = set(filter(str.isdecimal, os.listdir("/proc"))) - seen
        seen |= started
        for number in sorted(started, key=int):
            with suppress(OSError):  # it has ended, or is another user's
                words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
                yield [os.fsdecode(word) for word in words if word], os.readlink(f"/proc/{number}/cwd")
    if not seen:
        for line in _run_ps("-x", "-o", "args=").splitlines():
            yield line.split(), ""


def _read_proc(pid: int) -> tuple[list[str], int] | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    parent = status.rpartition(b")")[2].split()[1]  # the name before it may hold anything
    return [os.fsdecode(word) for word in words if word], int(parent)


def _ask_ps(pid: int) -> tuple[list[str], int] | None:
    parent, _, line = _run_ps("-o", "ppid=,args=", "-p", str(pid)).strip().partition(" ")
    return (line.split(), int(parent)) if parent.isdecimal() else None


def _run_ps(*words: str) -> str:
    """Return what `ps WORDS` prints; "" if it cannot be run."""
    import subprocess

    from memsync.system import programs

    try:
        return subprocess.run(
            [programs.find("ps"), *words], capture_output=True, text=True, check=False, timeout=5
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


@contextmanager
def collector_paused(*, lasting: bool = True) -> Iterator[None]:
    """Have the cycle collector wait while very many things without cycles are made, which it would look through again and again.

    What is *lasting* counts as old then: to be looked through once for being new takes a tenth of making an index.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on and lasting:
            gc.freeze()  # takes all there is out of the generations
            gc.unfreeze()  # and puts it into the oldest
        if was_on:
            gc.enable()


def trim() -> None:
    """Give back what lies free between what is held, which takes milliseconds; elsewhere than with glibc nothing is done."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_what_is_freed() -> None:
    """Have glibc keep little for later, where it is the C library; call it before threads are there. Elsewhere nothing is done."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        set_option = ctypes.CDLL(None).mallopt
        for option, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _LARGE), (_TRIM_THRESHOLD, _LARGE)):
            set_option(option, value)
