"""Asking a running memsync of the project over a local socket, and starting one. Imports next to nothing: a hook has no time.

A server listens on `~/.gobby/run/<key of its root>/<pid>`; the directory is the
user's alone. One JSON object each way, then a line that says that the answer was used.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from memsync.system import limits
from memsync.system.home import run_dir

if TYPE_CHECKING:
    import socket
    from typing import Any, Final

    from memsync.store.places import Layout

BOUND: Final = 1.8  # seconds of its own work that a hook may take
WAIT: Final = 4.0  # seconds by the clock, where the client allows 5: twenty sessions may ask in one instant
_PATIENT: Final = frozenset({"session-start", "prompt", "pre-compact", "post-compact"})
LONGEST: Final = 100  # bytes in the path of a socket; macOS takes 103, Linux 107
USED: Final = b"used\n"
WHO: Final = "who"  # the event of which a server of any version says what it is
IDLE: Final = 900.0  # seconds after which it ends, if nobody has asked
_SUFFIX: Final = 6  # bytes that the path of its socket is longer, at most
_AGAIN: Final = 60.0  # seconds after a start until another one is tried: it may fail each time
_LOOK: Final = 0.3  # seconds that a server may take to say what it is


def bound(env: Mapping[str, str]) -> float:
    """Return how many seconds of work a hook may take; `MEMSYNC_HOOK_SECONDS` says otherwise, for a slow machine."""
    return limits.seconds_of(env, "MEMSYNC_HOOK_SECONDS", BOUND)


def longest_wait(env: Mapping[str, str], event: str) -> float:
    """Return how many seconds by the clock the hook *event* may take: more than its work, where others work too."""
    seconds = bound(env)
    return WAIT if event in _PATIENT and "MEMSYNC_HOOK_SECONDS" not in env else seconds


def sockets(cwd: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the sockets of the servers whose root *cwd* is in, the nearest root first."""
    root = os.path.realpath(cwd)
    while True:
        directory = run_dir(root, env)
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            names = []
        yield from (os.path.join(directory, name) for name in names if name.isdigit())
        if root == os.path.dirname(root):
            return
        root = os.path.dirname(root)


def connect(path: str, patience: float) -> socket.socket | None:
    """Return a connection to the server at *path*; None if there is none, whose socket is then removed.

    Each answer on it may take *patience* seconds.
    """
    import socket

    if not hasattr(socket, "AF_UNIX"):
        return None
    there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    there.settimeout(patience)
    try:
        there.connect(path)
    except OSError as error:
        there.close()
        if isinstance(error, ConnectionRefusedError):  # its server is dead
            with contextlib.suppress(OSError):
                os.unlink(path)
        return None
    if not is_own(there):
        there.close()
        return None
    return there


def is_own(there: socket.socket, user: int | None = None) -> bool:
    """Tell whether the other side is a process of this *user*, where the system says whose it is; elsewhere the folder is the user's alone."""
    if sys.platform != "linux":
        return True
    import socket

    said = there.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # pid, uid, gid
    return int.from_bytes(said[4:8], sys.byteorder) == (os.geteuid() if user is None else user)


def ask(about: Mapping[str, Any], cwd: str, env: Mapping[str, str], seconds: float, use: Callable[[str], None]) -> bool:
    """Have a running server of the project that *cwd* is in answer *about*; return whether *use* took what it says.

    All servers together are given *seconds*, so that one that hangs costs no more beside another.
    """
    import json

    from memsync import __version__

    end = time.monotonic() + seconds
    for path in sockets(cwd, env):
        if (left := end - time.monotonic()) <= 0:
            return False
        if (there := connect(path, left)) is None:
            continue
        try:
            request = {"version": __version__, **about, "cwd": cwd, "is": identify(cwd), "until": time.time() + left}
            there.sendall(json.dumps(request).encode() + b"\n")
            reply = json.loads(read_line(there) or b"{}")
            if "out" in reply:
                use(reply["out"])
                there.sendall(USED)
                return True
        except (OSError, ValueError, RecursionError):
            pass
        finally:
            there.close()
    return False


def identify(directory: str) -> list[int]:
    """Return by what one *directory* is known from another: in another container the same path may be another one.

    Raises:
        OSError: there is none.
    """
    found = os.stat(directory)
    return [found.st_dev, found.st_ino]


def read_line(there: socket.socket) -> bytes:
    """Return the next line without its end; nothing if the other side went away."""
    parts = []
    while True:
        part = there.recv(65_536)
        parts.append(part)
        if not part or part.endswith(b"\n"):
            return b"".join(parts).removesuffix(b"\n") if part else b""


def find_mark(layout: Layout, env: Mapping[str, str]) -> str:
    """Return the file that the `memsync serve` of the project of *layout* holds locked."""
    return f"{run_dir(os.path.realpath(layout.root or layout.start), env)}.serve"


def start_server(layout: Layout, env: Mapping[str, str]) -> None:
    """Start `memsync serve` for the project of *layout*, apart from this process, unless it is there or was started just now. Never fails."""
    if sys.platform == "win32":
        return  # no local sockets
    from pathlib import Path

    from memsync.errors import MemsyncError
    from memsync.store.files import make_dirs
    from memsync.store.lock import lock
    from memsync.system import programs

    with contextlib.suppress(OSError, MemsyncError):
        mark = Path(find_mark(layout, env))
        if len(os.fsencode(mark)) + _SUFFIX > LONGEST:
            return  # it could not listen
        make_dirs(mark.parent, private=True)
        if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < _AGAIN:
            return
        with lock(mark, wait=0.0, is_told=False):  # who holds it is at work; taking it changes the file's time
            pass
        programs.start_apart("-C", str(layout.start), "serve", "--idle", f"{IDLE:g}")


def list_servers(layout: Layout) -> list[dict[str, Any]]:
    """Return pid, kind ("serve" or "mcp") and version of each process that listens for the project of *layout*.

    Both are "" of one that does not say so in time: it hangs, or is of an old version.
    """
    import json

    found = []
    root = os.path.realpath(layout.root or layout.start)
    for path in sockets(root, os.environ):
        if os.path.dirname(path) == run_dir(root) and (there := connect(path, _LOOK)):
            said: Mapping[str, Any] = {}
            with there, contextlib.suppress(OSError, ValueError):
                there.sendall(json.dumps({"event": WHO, "version": ""}).encode() + b"\n")
                said = limits.read_json(read_line(there))
            known = {key: str(said.get(key, "")) for key in ("kind", "version")}
            found.append({"pid": int(os.path.basename(path)[:-3]), **known})
    return found
