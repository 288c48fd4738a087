"""The page *Timeline*: what became of the memories in git, some commits at a time."""

from __future__ import annotations

from typing import Any, Final

from memsync.errors import MemsyncError
from memsync.history import events, timeline
from memsync.memories.project import Project
from memsync.web import spell
from memsync.web.branch import make_card
from memsync.web.desk import Given, Page

_COMMITS: Final = 25
_SLICE: Final = 0.25  # seconds of reading for one page, which takes up the next one as it is scrolled to
_FURTHEST: Final = 10_000_000
_ROWS: Final = 400  # events of a page: a commit may bring thousands


def show(project: Project, given: Given) -> Page:
    """Return what some commits did to the memories; the first page begins with what is not committed yet."""
    tip, skip = given.get("tip"), given.number("skip", 0, most=_FURTHEST)
    view: dict[str, Any] = {"error": "", "found": None, "rows": [], "notes": [], "older": "", "newer": "", "churn": []}
    view["command"] = spell.command("log")
    try:
        found = timeline.read_stretch(project, tip, skip=skip, most=_COMMITS, seconds=_SLICE)
        view |= {
            "found": found,
            "rows": [make_card(project, event) for event in found.events[:_ROWS]],
            "notes": events.notes(project),
            "older": "" if found.is_last else _link(found.tip, skip + found.commits),
            "newer": _link(found.tip, max(skip - _COMMITS, 0)) if skip else "",
            "churn": [(by, list(timeline.count_churn(found.events, by).items())[:30]) for by in ("type", "file")],
        }
    except MemsyncError as error:
        view["error"] = str(error)
    return Page("timeline.html", view)


def _link(tip: str, skip: int) -> str:
    return spell.address("/timeline", {"tip": tip, "skip": str(skip)}) if skip else "/timeline"
