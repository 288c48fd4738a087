"""How other programs are started: never by what the working directory holds, which is somebody's repository.

The one place that makes the command lines of child processes; `tests/test_starts.py` holds that.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
