"""The server itself: every page and form behind the gate, watched files, and an end within two seconds of being told."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.errors import MemsyncError
from memsync.janitor.waiting import Waiting
from memsync.memories.fingerprints import version_of_rules
from memsync.system.programs import give_back_what_is_freed
from memsync.web import (
    atlas,
    branch,
    edits,
    export,
    health,
    hub,
    memories,
    pages,
    past,
    review,
    sessions,
    skills,
    today,
)
from memsync.web.desk import Changes, Desk, make_watcher
from memsync.web.gate import Gate
from memsync.web.health import Checkup
from memsync.web.shelf import Shelf

if TYPE_CHECKING:
    import socket
    from pathlib import Path
    from types import FrameType

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from memsync.memories.project import Project
    from memsync.store.places import Layout
    from memsync.web.serve import Keys

_PAGES: Final = (today, memories, edits, hub, past, review, branch, skills, sessions, atlas, health, export)
_MANY: Final = 1_000  # memories
_GRACE: Final = 1  # seconds that a running answer has when we are told to end
_PATIENCE: Final = 1.7  # seconds after which we end whatever is still being put in order


def run(start: Path, layout: Layout, keys: Keys, listener: socket.socket) -> None:
    """Answer on *listener* until a signal ends us; what was written is put in order before."""
    give_back_what_is_freed()
    live, changes, checkup = Live(start, face="at the desk", is_lean=True), Changes(), Checkup(start)
    threading.Thread(target=read_ahead, args=(live, checkup), daemon=True).start()
    try:
        with make_watcher(layout, changes.add), Endpoint(live, kind="ui"):
            asyncio.run(_Server(build(live, keys, changes, checkup), changes).serve(sockets=[listener]))
    finally:
        checkup.end()
        live.close()


def build(live: Live, keys: Keys, changes: Changes, checkup: Checkup) -> Gate:
    """Return the application, behind the gate, that shows the project of *live* to who has the *keys*."""
    waiting = Waiting(checkup.copies)
    live.when_shut(waiting.stop)
    desk = Desk(live, keys, changes, (Shelf(checkup.index), past.Readings(), waiting, checkup))

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(changes.listen(), media_type="text/event-stream")

    routes = [
        *(desk.route(address) for module in _PAGES for address in module.routes),
        Route("/events", stream, methods=["GET"]),
        Mount("/static", StaticFiles(directory=pages.STATIC)),
    ]
    return Gate(Starlette(routes=routes, exception_handlers={HTTPException: desk.refuse}), keys)


def read_ahead(live: Live, checkup: Checkup) -> None:
    """Have the memories read before the browser comes, which takes its time to open; what is wrong a page tells.

    Where many were never screened, a process of its own does it beside us, and makes the index: a page would wait for both.
    """
    with suppress(MemsyncError, OSError):
        live.call(lambda project: checkup.index.begin() if count_unread(project) > _MANY else None)


def count_unread(project: Project) -> int:
    """Return how many memories no process of this machine has screened, as far as that is noted."""
    project.stores.refresh()
    states = [state for state in map(project.state, project.stores) if state.path.exists()]  # asking would make it
    known = sum(len(state.screened(version_of_rules())) for state in states)
    return sum(len(store.memories()) for store in project.stores.values()) - known


class _Server(uvicorn.Server):
    """Uvicorn, which ends as a call and not as a signal, so that what was written is put in order."""

    def __init__(self, app: ASGIApp, changes: Changes) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._changes = changes

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end us."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; whoever waits for changes is let go at once."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # an answer that is cut off is no failure
        super().handle_exit(sig, frame)
        self._changes.end()
        last = threading.Timer(_PATIENCE, os._exit, [0])  # what was written is durable; an index may be made anew
        last.daemon = True
        last.start()
