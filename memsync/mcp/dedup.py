"""The tools on what was decided about texts that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from memsync.janitor import review
from memsync.mcp import shapes
from memsync.mcp.parameters import Limit
from memsync.mcp.tool import ADD, COUNT, READ, Offer
from memsync.memories.project import Project

Number = Annotated[str, Field(description="As dedup_log shows it.")]


def dedup_log(
    project: Project,
    limit: Limit = 50,
    decision: Annotated[str | None, Field(description="Only these, such as auto_reject.")] = None,
    status: Literal["unreviewed", "confirmed", "reversed"] | None = None,
) -> Mapping[str, Any]:
    """Show which texts were rejected, merged or kept beside one that is alike, the latest first."""
    return review.listed(project, review.chosen(project, decision, status)[:limit])


def dedup_confirm(
    project: Project, decision_ids: Annotated[list[str], Field(min_length=1, description="As dedup_log shows them.")]
) -> Mapping[str, Any]:
    """Mark decisions as correct, so that nobody looks at them again."""
    found = [review.find(project, ref) for ref in decision_ids]
    review.confirm(project, found)
    return {"confirmed": [review.name(project, row) for row in found]}


def dedup_reverse(project: Project, decision_id: Number) -> review.Reversed:
    """Bring back the text that a decision rejected wrongly, unless a memory says the same again."""
    return review.reverse(project, review.find(project, decision_id))


OFFERS: Final = (
    Offer("memory dedup log", dedup_log, "Dedup decisions", shapes.Decisions, READ),
    Offer("memory dedup confirm", dedup_confirm, "Confirm dedup decisions", shapes.Confirmed, ADD),
    Offer("memory dedup reverse", dedup_reverse, "Reverse a dedup decision", shapes.Reversed, COUNT),
)
