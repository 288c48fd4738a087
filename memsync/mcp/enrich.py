"""The tool that has a model give old memories the words that somebody would ask with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from memsync.janitor import enrich
from memsync.janitor.plan import Plan
from memsync.janitor.run import apply
from memsync.mcp import shapes
from memsync.mcp.parameters import Limit
from memsync.mcp.tool import ADD, Offer
from memsync.memories.project import Project


def enrich_memories(
    project: Project,
    memories: Annotated[
        list[dict[str, Any]] | None, Field(description='What this tool listed, filled in: [{"id": …, "cues": […]}].')
    ] = None,
    limit: Limit = 20,
    *,
    dry_run: Annotated[bool, Field(description="Only say what would be done.")] = False,
) -> Mapping[str, Any]:
    """Have older memories found by an asker's words too. Call it without memories: it lists some that have no cues.

    Fill in two or three cues each, in other words than the text: questions that
    it answers, symptoms, error texts. Then call it with them.
    """
    if memories is None:
        return enrich.list_bare(project, limit)
    plan = Plan(steps=[*enrich.read_steps(project, {"memories": memories})])
    return plan.as_dict() if dry_run else apply(project, plan.steps).as_dict()


OFFERS: Final = (
    Offer(
        "memory enrich", enrich_memories, "Give memories cues", shapes.Enriched, ADD, {"--list": "memories left out"}
    ),
)
