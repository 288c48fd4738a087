"""`memsync tags`: which there are, and adding, removing and renaming them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import Answer, LazyGroup, command
from memsync.cli.choosing import choose, choose_filters
from memsync.cli.memory import memory
from memsync.cli.options import filter_options, yes_option
from memsync.errors import MemsyncError, Remedy, closest, suggest
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.poison.guard import shown_label
from memsync.records import Scope


class _TagGroup(LazyGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read *args*; without a command they list."""
        is_bare = not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))
        return super().parse_args(ctx, ["list", *args] if is_bare else args)


@memory.group(cls=_TagGroup)
def tags() -> None:
    """List the tags, or add, remove and rename them."""


@command(tags)
@filter_options
def list_(project: Project, /, **chosen: Any) -> Answer:
    """List the tags, and how many memories have each.

    \b
    Examples:
      memsync tags
      memsync tags --type pattern
    """
    found = Counter(tag for entry in project.entries(choose_filters(project, **chosen)) for tag in entry.memory.tags)
    in_order = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    rows = [f"{number:6} {shown_label(tag)}" for tag, number in in_order]
    return Answer({"tags": dict(found.most_common())}, "\n".join(rows) or "no tags yet")


def _change(project: Project, found: Sequence[Entry], removed: str | None, added: str | None) -> Answer:
    """Take one tag from *found* and give them another."""
    done = []
    for entry in found:
        kept = [tag for tag in entry.memory.tags if removed is None or tag.lower() != removed.lower()]
        if (new := list(dict.fromkeys([*kept, *([added] if added else [])]))) != list(entry.memory.tags):
            done.append(project.update(entry.id, scope=entry.scope, tags=new))
    lines = [render.entry_line(one.entry, project.clock(), "changed ") for one in done]
    return Answer({"changed": done}, "\n".join(lines) or "nothing to change")


@command(tags)
@click.argument("tag", metavar="TAG")
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def add(project: Project, /, tag: str, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Give TAG to the memories with these ids, or to all that the filters fit.

    \b
    Examples:
      memsync tags add ci mm-a1b mm-c2d
      memsync tags add billing --any-tag payments --since 1week
    """
    return _change(project, choose(project, refs, scope, filters, "tag", yes=yes), None, tag)


@command(tags)
@click.argument("tag", metavar="TAG")
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@filter_options
@yes_option
def rm(project: Project, /, tag: str, refs: tuple[str, ...], scope: Scope | None, yes: bool, **filters: Any) -> Answer:
    """Take TAG from the memories with these ids, or from all that have it.

    \b
    Examples:
      memsync tags rm ci mm-a1b
      memsync tags rm spike
    """
    if not refs:
        filters["tags_all"] = (*filters["tags_all"], tag)
        filters["archived"] = True
    return _change(project, choose(project, refs, scope, filters, "untag", yes=yes), tag, None)


@command(tags)
@click.argument("old", metavar="TAG")
@click.argument("new", metavar="NEW")
def rename(project: Project, /, old: str, new: str) -> Answer:
    """Call TAG by another name, on every memory that has it; where NEW is known too, both become one.

    `memsync undo` takes it back, also where two became one.

    \b
    Example:
      memsync tags rename k8s kubernetes
    """
    found = project.memories(Filters(tags_all=(old,), archived=True))
    if not found:
        known = {tag for entry in project.entries() for tag in entry.memory.tags}
        advice = suggest(closest(old, known), Remedy("memory tags"), " lists them")
        raise MemsyncError(f"no memory has the tag {old!r}; ", *advice)
    return _change(project, found, old, new)
