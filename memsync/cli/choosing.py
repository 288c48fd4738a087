"""Which memories a command is for: those that are named, or all that filters fit, after a look and one yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from memsync.cli import render
from memsync.cli.memory import choose_filters
from memsync.cli.naming import find_refs
from memsync.cli.options import stack
from memsync.cli.words import is_dialogue
from memsync.errors import MemsyncError, UsageError
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Scope

# For commands whose --type and --tag are what is set.
WHERE: Final = ("memory_type", "tags_all", "tags_any", "tags_none", "since", "archived")
where_options = stack(
    click.option("--where-type", "where_memory_type", metavar="TYPE", help="All of that type."),
    click.option(
        "--where-tag", "where_tags_all", multiple=True, metavar="TAG", help="All with this tag (repeat: with all)."
    ),
    click.option("--where-any-tag", "where_tags_any", multiple=True, metavar="TAG", help="All with one of these tags."),
    click.option("--where-no-tag", "where_tags_none", multiple=True, metavar="TAG", help="All without this tag."),
    click.option(
        "--where-since", "where_since", metavar="WHEN", help='All written since: 7d, "2 weeks", a date or a revision.'
    ),
    click.option("--where-archived", "where_archived", is_flag=True, help="Archived ones too."),
)


def choose(
    project: Project, refs: Sequence[str], scope: Scope | None, filters: Mapping[str, Any], verb: str, *, yes: bool
) -> list[Entry]:
    """Return the memories that *refs* name, or else those that *filters* fit, if somebody agrees that they are what to *verb*.

    Raises:
        UsageError: nothing says which; or nobody is there to agree.
        MemsyncError: none fits.
        MemoryNotFound, AmbiguousId: as `find_refs` raises them.
    """
    narrowing = {name: value for name, value in filters.items() if value and name != "archived"}
    if refs and narrowing:
        raise UsageError("give ids or filters, not both")
    if refs:
        named = find_refs(project, refs, scope)
        look = project.show if len(named) == 1 else project.get
        return [look(ref, scope) for ref in named]
    if not narrowing and (scope is None or verb == "share"):
        raise UsageError(f"say which to {verb}: give ids, or filters such as a tag (--help shows them)")
    found = project.memories(choose_filters(project, scope, **{"exclude": (), **filters}))
    if not found:
        raise MemsyncError("no memory fits these filters, so nothing was changed")
    if not yes:
        _ask(project, found, verb)
    return found


def _ask(project: Project, found: Sequence[Entry], verb: str) -> None:
    for line in render.first(render.entry_line(entry, project.clock(), "  ") for entry in found):
        click.echo(line, err=True)
    what = f"{verb} {render.memories(len(found))}"
    if not is_dialogue():
        raise UsageError(f"this would {what}, and nobody is here to be asked; --yes does it")
    click.confirm(f"{what}?", abort=True, err=True)
