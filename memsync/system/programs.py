"""How other programs are started, and which run: never by what the working directory holds, which is somebody's repository.

The one place that makes the command lines of child processes; `tests/test_starts.py` holds that.
"""

from __future__ import annotations

import errno
import functools
import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

UNFINISHED: Final = 124  # as timeout(1) says it


def own(*words: str) -> list[str]:
    """Return the command line that runs *words* with this memsync. `-P`: no module of the working directory is ours."""
    return [sys.executable, "-P", "-m", "memsync", *words]


def start_apart(*words: str) -> None:
    """Run *words* with this memsync in a process that goes on when we have ended, and holds nothing that somebody waits for."""
    line = own(*words)
    if sys.platform == "win32":
        from subprocess import DETACHED_PROCESS, DEVNULL, Popen

        Popen(line, env=child_env(), creationflags=DETACHED_PROCESS, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    else:
        nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        os.posix_spawn(line[0], line, child_env(), file_actions=nowhere, setsid=True)


def ask(*words: str, seconds: float | None = None) -> tuple[int, str]:
    """Run *words* with this memsync, wait for it, and return how it ended and what it said.

    What takes more than *seconds* is ended, with the code UNFINISHED.
    """
    import subprocess

    line = own(*words)
    try:
        done = subprocess.run(
            line,
            env=child_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return UNFINISHED, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")


@contextmanager
def keep_safe_path() -> Iterator[None]:
    """Let no worker that `multiprocessing` starts meanwhile load a module of the working directory."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


def find(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the path of the program *name*, from those directories of PATH that are absolute.

    The system would also look in the working directory: Windows always, others where PATH has an empty entry.

    Raises:
        FileNotFoundError: there is none.
    """
    if os.path.dirname(name):
        if os.path.isabs(name):
            return name
    else:
        endings = env.get("PATHEXT", ".COM;.EXE").split(";") if os.name == "nt" else [""]
        for directory in _keep_absolute(env.get("PATH", os.defpath)):
            for ending in endings:
                path = os.path.join(directory, name + ending)
                if os.access(path, os.X_OK) and not os.path.isdir(path):
                    return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def child_env(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return *env* for a child process, which must not find programs or modules in its working directory either."""
    paths = {name: os.pathsep.join(_keep_absolute(env[name])) for name in ("PATH", "PYTHONPATH") if env.get(name)}
    return {**env, **paths, "NoDefaultCurrentDirectoryInExePath": "1"}


def git_env(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return *env* for git, which takes no directory of a work tree for a bare repository: its settings would run programs."""
    said = env.get("GIT_CONFIG_COUNT", "")
    count = int(said) if said.isdecimal() else 0
    added = {f"GIT_CONFIG_KEY_{count}": "safe.bareRepository", f"GIT_CONFIG_VALUE_{count}": "explicit"}
    return {**child_env(env), **added, "GIT_CONFIG_COUNT": str(count + 1)}


def _keep_absolute(path: str) -> list[str]:
    return [directory for directory in path.split(os.pathsep) if os.path.isabs(directory)]


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

    try:
        return subprocess.run([find("ps"), *words], capture_output=True, text=True, check=False, timeout=5).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


@functools.cache
def has_frozen_heap() -> bool:
    """Tell whether the host keeps its heap out of the collector, as servers do before they fork; to count it takes milliseconds."""
    return gc.get_freeze_count() > 0


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
        if was_on and lasting and not has_frozen_heap():
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
