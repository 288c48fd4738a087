"""Options for whose memories are looked at: those above a nested store, and those of other repositories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from memsync.cli.options import stack
from memsync.errors import UsageError
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Recall

here_option = click.option("--here", is_flag=True, help="Without what a store further up in the repository holds.")
reach_options = stack(
    here_option,
    click.option("--repo", "repos", multiple=True, metavar="PATH", help="In that repository instead (repeat)."),
    click.option("--all-repos", is_flag=True, help="In every repository that this machine knows."),
)


class Where(NamedTuple):
    """What `reach_options` say."""

    here: bool
    repos: Sequence[str]
    all_repos: bool


def take_options(how: dict[str, Any]) -> Where:
    """Remove from *how* what `reach_options` say, and return it."""
    return Where(how.pop("here"), how.pop("repos"), how.pop("all_repos"))


def stay(project: Project, *, here: bool) -> Project:
    """Return *project*, which looks at no store further up if *here*."""
    if here:
        project.above = None
    return project


def ask_there(
    project: Project, where: Where, ask: Callable[..., Recall], query: str | None, filters: Filters, limit: int | None
) -> Recall:
    """Return what *ask* finds in *project*, or what the repositories of *where* hold.

    Raises:
        UsageError: they exclude each other, or one is no repository with memories.
    """
    stay(project, here=where.here)
    if where.repos and where.all_repos:
        raise UsageError("--repo and --all-repos exclude each other; give one of them")
    if not (where.repos or where.all_repos):
        return ask(query, filters, limit=limit)
    from memsync.memories import reach

    projects = reach.open_known(project) if where.all_repos else reach.open_named(project, where.repos)
    return reach.recall_in(projects, query, filters, limit=limit)
