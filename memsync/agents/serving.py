"""`memsync serve`: a process that stays to answer hooks, one a project, until nobody has asked for a while or it is told to end."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.agents.wire import find_mark
from memsync.errors import LockTimeout, MemsyncError
from memsync.store.files import make_dirs
from memsync.store.lock import lock
from memsync.store.places import locate

_PATIENCE: Final = 1.5  # seconds for what is being done when we are told to end; what was written is durable


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
