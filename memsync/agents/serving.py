"""`memsync serve`: a process that stays to answer hooks, one a project, until nobody has asked for a while or it is told to end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.agents import wire
from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.agents.wire import find_mark
from memsync.errors import LockTimeout, MemsyncError
from memsync.store.files import make_dirs
from memsync.store.lock import lock
from memsync.store.places import Layout, locate
from memsync.system.home import run_dir
from memsync.system.limits import read_json

_PATIENCE: Final = 1.5  # seconds for what is being done when we are told to end; what was written is durable
_LOOK: Final = 0.3  # seconds that a server may take to say what it is


def serve(start: Path, *, idle: float, say: Callable[[Path], None], env: Mapping[str, str]) -> None:
    """Answer for the project that *start* is in until *idle* seconds have passed without a question, or a signal comes; *say* is told where.

    Raises:
        MemsyncError: another one answers for the project, or no socket can be had.
    """
    mark = Path(find_mark(locate(start, env), env))
    make_dirs(mark.parent, private=True)
    told = _hear_signals()
    try:
        with lock(mark, wait=0.0, is_told=False):
            live = Live(start.absolute(), env=env)
            _serve(live, Endpoint(live, env, kind="serve"), told, idle, say)
    except LockTimeout as error:
        pid = ""
        with suppress(OSError, ValueError):
            pid = f" (pid {int(mark.read_bytes())})"
        raise MemsyncError(f"another process answers for this project already{pid}") from error


def _serve(live: Live, endpoint: Endpoint, told: socket.socket, idle: float, say: Callable[[Path], None]) -> None:
    try:
        with suppress(MemsyncError, OSError):  # a store that cannot be read is told to whoever asks
            live.call(lambda project: project.finder.index)
        try:
            path = endpoint.open()
        except OSError as error:
            raise MemsyncError(f"nobody could ask ({error}); hooks answer for themselves") from error
        say(path)
        while (left := idle - (time.monotonic() - endpoint.asked_at)) > 0:
            if select.select([told], [], [], left)[0]:
                return
    finally:
        endpoint.close()
        live.close()


def _hear_signals() -> socket.socket:
    """Return what can be read once we are told to end; soon after that we do, whatever is being done.

    A signal may reach any thread, and only the kernel's own waiting is sure to hear of it.
    """
    heard, said = socket.socketpair()
    said.setblocking(False)

    def end(*_: object, _open: object = said) -> None:
        last = threading.Timer(_PATIENCE, os._exit, [0])
        last.daemon = True
        last.start()

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)
    signal.set_wakeup_fd(said.fileno())
    return heard


def list_servers(layout: Layout) -> list[dict[str, Any]]:
    """Return pid, kind ("serve" or "mcp") and version of each process that listens for the project of *layout*.

    Both are "" of one that does not say so in time: it hangs, or is of an old version.
    """
    found = []
    root = os.path.realpath(layout.root or layout.start)
    for path in wire.sockets(root, os.environ):
        if os.path.dirname(path) == run_dir(root) and (there := wire.connect(path, _LOOK)):
            said: Mapping[str, Any] = {}
            with there, suppress(OSError, ValueError):
                there.sendall(json.dumps({"event": wire.WHO, "version": ""}).encode() + b"\n")
                said = read_json(wire.read_line(there))
            known = {key: str(said.get(key, "")) for key in ("kind", "version")}
            found.append({"pid": int(os.path.basename(path)[:-3]), **known})
    return found
