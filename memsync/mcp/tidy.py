"""The tools by which an agent judges likely copies: no rule merges them safely, and it can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from memsync.janitor import batches
from memsync.mcp import shapes
from memsync.mcp.tool import ADD, COUNT, Offer
from memsync.memories.project import Project

Group = Annotated[list[str], Field(min_length=2)]


class Merging(BaseModel):
    """One merge."""

    keep: str
    drop: Annotated[list[str], Field(min_length=1)]
    content: Annotated[str | None, Field(description="The new text of keep, with what would be lost.")] = None


def likely_copies(
    project: Project, *, again: Annotated[bool, Field(description="Begin again with what is undecided.")] = False
) -> Mapping[str, Any]:
    """Show memories that may say the same, in clusters: the one to keep, and what would be lost of the others.

    Judge each by what it says: merge_memories what is the same, keep_both what
    is not. Both answer with the next clusters, until none are left.
    """
    return batches.take_batch(project, again=again)


def merge_memories(
    project: Project,
    merges: Annotated[list[Merging], Field(min_length=1)],
    different: Annotated[
        list[Group] | None, Field(description="Groups that say different things, as keep_both.")
    ] = None,
) -> Mapping[str, Any]:
    """Drop memories that say what another one says. The user can undo it: `memsync janitor undo`.

    Where a fact, number or reason would be lost, give the whole text as content:
    the others are archived, as its sources.
    Never merge what contradicts: name the outdated one in supersedes.
    """
    done = batches.merge(project, [batches.Merging(**dict(each)) for each in merges])
    kept = batches.keep(project, different or ())
    return {**done, **kept, **batches.take_batch(project)}


def keep_both(project: Project, groups: Annotated[list[Group], Field(min_length=1)]) -> Mapping[str, Any]:
    """Note that the memories of each group of ids say different things, so that they are not shown together again."""
    return {**batches.keep(project, groups), **batches.take_batch(project)}


OFFERS: Final = (
    Offer("janitor review", likely_copies, "Show likely copies", shapes.Batch, COUNT),
    Offer("janitor run", merge_memories, "Merge copies", shapes.Batch, ADD),
    Offer("janitor review", keep_both, "Keep what only looks alike", shapes.Batch, ADD),
)
