"""The other end of a hook: a running memsync answers for its project on a local socket, with everything warm.

Each process has a socket of its own, so any number of them may run and die;
whoever asks takes the first that answers. Where sockets of this kind are missing, hooks answer themselves.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

from memsync import __version__
from memsync.agents import wire
from memsync.agents.hooks import answer
from memsync.agents.injection import Reply
from memsync.agents.live import Live
from memsync.clients import facts
from memsync.errors import MemsyncError
from memsync.memories.project import Project
from memsync.store.files import make_dirs
from memsync.store.places import locate
from memsync.system.home import run_dir
from memsync.system.limits import read_json

log = logging.getLogger(__name__)

_PATIENCE: Final = 5.0  # seconds that a caller may be silent
_NUMBERS: Final = count()


class Endpoint:
    """Answers hooks for the project of *live*, from `start` to `close`; *kind* is the command that holds it."""

    def __init__(self, live: Live, env: Mapping[str, str] = os.environ, *, kind: str = "mcp") -> None:
        self._live = live
        self._env = env
        self._kind = kind
        self._socket: socket.socket | None = None
        self.path: Path | None = None
        self.asked_at = time.monotonic()  # when it last answered, or began

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Do what `open` does, and never fail: without it hooks are slower."""
        try:
            self.open()
        except (OSError, MemsyncError) as error:
            log.info("hooks answer for themselves: %s", error)

    def open(self) -> Path:
        """Begin to listen, in a thread of its own, and return where.

        Raises:
            OSError, StoreError: no socket can be had there.
        """
        path = self._listen()
        threading.Thread(target=self._accept, name="memsync-hooks", daemon=True).start()
        return path

    def _listen(self) -> Path:
        layout = locate(self._live.start, self._env)
        root = os.path.realpath(layout.root or layout.start)
        directory = Path(run_dir(root, self._env))
        path = directory / f"{os.getpid()}{next(_NUMBERS):03d}"
        if not hasattr(socket, "AF_UNIX") or len(os.fsencode(path)) > wire.LONGEST:
            raise OSError(f"no socket can be made at {path}")
        make_dirs(directory, private=True)
        owner = directory.stat()
        if sys.platform != "win32" and (owner.st_uid != os.geteuid() or owner.st_mode & 0o077):
            raise PermissionError(f"{directory} is not this user's alone")
        new = path.with_name(f"{path.name}.new")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(new))
            new.chmod(0o600)
            listening.listen(64)
            new.rename(path)  # seen only when it answers
        except OSError:
            listening.close()
            new.unlink(missing_ok=True)
            raise
        self._socket, self.path = listening, path
        return path

    def close(self) -> None:
        """Stop listening, and leave nothing behind."""
        listening, self._socket = self._socket, None
        if listening is not None and self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
                self.path.parent.rmdir()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # wakes the thread
            listening.close()

    def _accept(self) -> None:
        listening = self._socket
        while listening is not None and self._socket is listening:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(caller,), name="memsync-hook", daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller:
            caller.settimeout(_PATIENCE)
            try:
                if not wire.is_own(caller):
                    return
                request = read_json(wire.read_line(caller))
                if request.get("event") == wire.WHO:
                    caller.sendall(json.dumps({"kind": self._kind, "version": __version__}).encode() + b"\n")
                    return
                reply = self._live.call(lambda project: self._answer(project, request))
                if reply is None:
                    caller.sendall(b"{}\n")
                    return
                self.asked_at = time.monotonic()
                caller.sendall(json.dumps({"out": reply.out}).encode() + b"\n")
                is_used = wire.read_line(caller) == wire.USED.strip()
                self._live.call(lambda _: reply.used() if is_used else reply.lost())
            except Exception as error:  # noqa: BLE001 - the boundary of the thread: the caller answers for itself
                log.info("a hook was not answered: %s", error)

    def _answer(self, project: Project, request: Any) -> Reply | None:
        """Return the answer; None if the caller is of another version, in another project or container, or waits no more."""
        if request["version"] != __version__ or time.time() > request["until"]:
            return None
        if request["is"] != wire.identify(request["cwd"]):
            return None
        asked = locate(Path(request["cwd"]), self._env)
        if (asked.project, asked.private) != (project.layout.project, project.layout.private):
            return None
        sender = facts.find(request["client"]).for_sender(request["payload"])
        return answer(project, sender, request["event"], request["payload"], request["by"])
