"""The tools on what git knows of memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from memsync.history import diff, events
from memsync.mcp import shapes
from memsync.mcp.parameters import Id
from memsync.mcp.tool import READ, Offer
from memsync.memories.project import Project


def memory_history(project: Project, memory_id: Id) -> Mapping[str, Any]:
    """Show what happened to one memory, newest first: who changed what, when, in which commit."""
    return events.as_history(events.events(project, memory_id), events.notes(project))


def memory_diff(
    project: Project,
    span: Annotated[str, Field(description="REV..REV, REV...REV, or REV for that commit and the work tree.")] = "HEAD",
) -> diff.Difference:
    """Show which memories and skills differ between two commits, or since the last."""
    return diff.difference(project, span)


def memory_blame(
    project: Project, memory_id: Annotated[str | None, Field(description="Each field of this one.")] = None
) -> Mapping[str, Any]:
    """Show who last changed each memory, or each field of one."""
    return events.as_blame(events.blame(project, memory_id), events.notes(project))


OFFERS: Final = (
    Offer("memory history", memory_history, "History of a memory", shapes.History, READ),
    Offer("memory diff", memory_diff, "Changes of memories", shapes.Difference, READ),
    Offer("memory blame", memory_blame, "Authors of memories", shapes.Blame, READ),
)
