"""Every page and form of the desk, behind the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memsync.agents.live import Live
from memsync.janitor.waiting import Waiting
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
from memsync.web.desk import Changes, Desk
from memsync.web.gate import Gate
from memsync.web.shelf import Shelf

if TYPE_CHECKING:
    from starlette.requests import Request

    from memsync.web.serve import Keys

_PAGES: Final = (today, memories, edits, hub, past, review, branch, skills, sessions, atlas, health, export)


def build(live: Live, keys: Keys, changes: Changes, checkup: health.Checkup) -> Gate:
    """Return the application that shows the project of *live* to who has the *keys*."""
    waiting = Waiting(checkup.copies)
    live.when_shut(waiting.stop)
    desk = Desk(live, keys, changes, (Shelf(checkup.index), hub.Questions(), past.Readings(), waiting, checkup))

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(changes.listen(), media_type="text/event-stream")

    routes = [
        *(desk.route(address) for module in _PAGES for address in module.routes),
        Route("/events", stream, methods=["GET"]),
        Mount("/static", StaticFiles(directory=pages.STATIC)),
    ]
    return Gate(Starlette(routes=routes, exception_handlers={HTTPException: desk.refuse}), keys)
