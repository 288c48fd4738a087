"""Every page and form of the desk, behind the gate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

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
    bulk,
    edits,
    health,
    hub,
    memories,
    pages,
    past,
    review,
    sessions,
    skills,
    timeline,
    undo,
)
from memsync.web.changes import Changes
from memsync.web.checkup import Checkup
from memsync.web.desk import Desk
from memsync.web.gate import Gate
from memsync.web.keys import Keys
from memsync.web.shelf import Shelf

if TYPE_CHECKING:
    from starlette.requests import Request


def build(live: Live, keys: Keys, changes: Changes, checkup: Checkup) -> Gate:
    """Return the application that shows the project of *live* to who has the *keys*."""
    desk, shelf, waiting = Desk(live, keys, changes), Shelf(), Waiting(checkup.copies)
    live.when_shut(waiting.stop)

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(changes.listen(), media_type="text/event-stream")

    routes = [
        *memory_routes(desk, shelf),
        *review_routes(desk, waiting),
        *git_routes(desk),
        *skill_routes(desk),
        desk.reads("/sessions", sessions.show),
        desk.reads("/sessions/one", sessions.show_session),
        desk.writes("/sessions/try", sessions.try_prompt),
        desk.reads("/map", partial(atlas.show, shelf)),
        *health_routes(desk, checkup),
        Route("/events", stream, methods=["GET"]),
        Mount("/static", StaticFiles(directory=pages.STATIC)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: desk.refuse})
    return Gate(app, keys)


def memory_routes(desk: Desk, shelf: Shelf) -> list[Route]:
    """Return the pages about memories, and their forms."""
    return [
        desk.reads("/", partial(memories.show_list, shelf)),
        desk.reads("/hub", partial(hub.show, hub.Questions())),
        desk.reads("/memory", partial(memories.show_record, shelf)),
        desk.reads("/memory/history", partial(past.show_history, past.Readings())),
        desk.reads("/memory/new", partial(edits.show_new, shelf)),
        desk.writes("/memory/new", partial(edits.create, shelf)),
        desk.writes("/memory/edit", partial(edits.edit, shelf)),
        desk.writes("/memory/supersede", edits.supersede),
        desk.writes("/memory/forget", edits.forget),
        desk.writes("/memory/restore", edits.restore),
        desk.writes("/memory/share", edits.share),
        desk.writes("/memory/unshare", edits.unshare),
        desk.writes("/memory/approve", edits.approve),
        desk.writes("/memory/revoke", edits.revoke),
        desk.writes("/bulk", bulk.preview),
        desk.writes("/bulk/do", bulk.apply),
        desk.writes("/undo", undo.take_back),
    ]


def git_routes(desk: Desk) -> list[Route]:
    """Return the pages about branches and commits, and their forms."""
    return [
        desk.reads("/branch", branch.show),
        desk.writes("/branch/stage", branch.stage_all),
        desk.writes("/branch/unstage", branch.unstage),
        desk.writes("/branch/resolve", branch.resolve),
        desk.writes("/branch/take-back", branch.take_back),
        desk.reads("/timeline", timeline.show),
    ]


def skill_routes(desk: Desk) -> list[Route]:
    """Return the pages about skills, and their forms."""
    return [
        desk.reads("/skills", skills.show_list),
        desk.reads("/skills/one", skills.show_skill),
        desk.reads("/skills/new", skills.show_new),
        desk.writes("/skills/new", skills.create),
        desk.writes("/skills/edit", skills.edit),
        desk.writes("/skills/delete", skills.delete),
        desk.writes("/skills/restore", skills.restore),
        desk.writes("/skills/approve", skills.approve),
        desk.writes("/skills/reject", skills.reject),
    ]


def health_routes(desk: Desk, checkup: Checkup) -> list[Route]:
    """Return the page about health and settings, and its forms."""
    return [
        desk.reads("/health", partial(health.show, checkup)),
        desk.reads("/health/doctor", partial(health.show_findings, checkup)),
        desk.writes("/health/fix", health.fix),
        desk.writes("/health/set", partial(health.set_setting, checkup)),
    ]


def review_routes(desk: Desk, waiting: Waiting) -> list[Route]:
    """Return the page of the queue, and its forms."""
    return [
        desk.reads("/review", partial(review.show, waiting)),
        desk.writes("/review/decide", partial(review.decide, waiting)),
        desk.writes("/review/undo", partial(review.undo, waiting)),
    ]
