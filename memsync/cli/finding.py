"""`memsync recall`, `search`, `list`, `show` and `stats`: parse, one call, render."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import click

from memsync.cli import render, rows
from memsync.cli.app import Answer, command
from memsync.cli.memory import choose_filters, memory
from memsync.cli.options import filter_options, scope_option, stack
from memsync.cli.reach import ask_there, here_option, reach_options, stay, take_options
from memsync.cli.rows import output_options
from memsync.cli.words import TextCommand
from memsync.memories.edits import find_successors
from memsync.memories.filters import Order
from memsync.memories.project import Project
from memsync.memories.results import Entry, Recall, list_entries
from memsync.records import Scope

at_option = click.option("--at", metavar="REV", help="The project's memories as they were at that commit.")


def _open_at(project: Project, rev: str | None) -> Project:
    """Return *project*, or its past."""
    if rev is None:
        return project
    from memsync.history import events

    return click.get_current_context().with_resource(events.at(project, rev))


def _warn_of_problems(project: Project) -> None:
    """Say on stderr, in one line a store, which lines were left out."""
    for path, (count, number, why) in project.finder.find_problems():
        more = f" (and {count - 1} more)" if count > 1 else ""
        click.echo(f"memsync: {render.one_line(f'{path}:{number}: {why}')}{more}; see `memsync doctor`", err=True)


finding_options = stack(
    click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: 15]"),
    output_options,
    click.option("--skills", is_flag=True, help="The skills that answer QUERY too, after the memories."),
    click.option("--explain", is_flag=True, help="Show where each score comes from."),
    reach_options,
    filter_options,
)


@command(memory, cls=TextCommand)
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@finding_options
@at_option
@click.option("--hub", is_flag=True, help="What other repositories know, too; see hub.")
def recall(project: Project, /, query: tuple[str, ...], at: str | None, hub: bool, **how: Any) -> Answer:
    """Find the memories that answer QUERY; without one, the most important.

    Finds words, parts of identifiers, paths, versions and hashes, and forgives
    typos. What it returns counts as used.

    \b
    Examples:
      memsync recall how do we run the tests
      memsync recall session-lifecycle.yaml --limit 3 --explain
      memsync recall "which database" --at v1.0
      memsync recall "the build is red" --skills
      memsync recall "how do we retry payments" --all-repos
      memsync recall "how do we retry payments" --hub
      memsync recall deploy --ids | xargs memsync tags add deploy
    """
    project, text = _open_at(project, at), " ".join(query) or None
    answer = _find(project, project.recall, text, at=at, **how)
    if not hub:
        return answer
    from memsync.cli.render_hub import add_hub

    return add_hub(answer, text, how)


@command(memory, cls=TextCommand)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@finding_options
def search(project: Project, /, query: tuple[str, ...], **how: Any) -> Answer:
    """Do what recall does, without counting it as a use.

    \b
    Example:
      memsync search docker --limit 5
    """
    return _find(project, project.search, " ".join(query), **how)


def _find(
    project: Project,
    ask: Callable[..., Recall],
    query: str | None,
    *,
    limit: int | None,
    skills: bool,
    explain: bool,
    form: rows.Form,
    at: str | None = None,
    **chosen: Any,
) -> Answer:
    where = take_options(chosen)
    project.be_brief()
    known = project.skills.search_beside(query, scope=chosen["scope"], at=at) if skills else None
    found = ask_there(project, where, ask, query, choose_filters(project, **chosen), limit)
    _warn_of_problems(project)
    value = found.as_dict()
    if form.is_plain:
        text = render.recall(found, project.clock(), explain=explain)
        _note_shown(project, found if at is None else ())
    else:
        text = form.spell(found, project.clock(), none="no memory fits")
    if known is not None:
        from memsync.cli import render_skill

        value["skills"] = [entry.as_dict(whole=False) for entry in known]
        text += "\n" + render_skill.entries(known, none="no skill fits")
    return Answer(value, text)


def _note_shown(project: Project, found: Iterable[Entry]) -> None:
    """Note that the agent session in whose shell this runs has read *found*, so that no hook gives it again."""
    if session := project.journal.session_id:
        from memsync.agents.session import RecallSession

        RecallSession(project, session).note_shown([entry.id for entry in found])


_SORTS: Final[Mapping[str, Order]] = {
    "updated": lambda entry: _order_time(entry.memory.written_at),
    "created": lambda entry: _order_time(entry.memory.created_at),
    "used": lambda entry: -entry.access_count,
}


def _order_time(moment: datetime | None) -> float:
    return -moment.timestamp() if moment else 0.0


@command(memory)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: all]")
@click.option("--sort", type=click.Choice(["importance", *_SORTS]), help="What comes first.  [default: importance]")
@click.option("--group", type=click.Choice(rows.GROUPS), help="Under a heading for each.")
@output_options
@here_option
@filter_options
@at_option
def list_(
    project: Project, /, limit: int | None, sort: str | None, group: str | None, form: rows.Form, **chosen: Any
) -> Answer:
    """List memories, the most important first.

    \b
    Examples:
      memsync list --since 1week --sort updated
      memsync list --type preference --min-importance 0.5 --group tag
      memsync list --format '{id} {tags} {content}'
    """
    project.be_brief()
    project = _open_at(project, chosen.pop("at"))
    near = stay(project, here=chosen.pop("here"))
    found = near.list_all(choose_filters(project, **chosen), limit=limit, order=_SORTS.get(sort or ""))
    _warn_of_problems(project)
    return Answer(list_entries(found), form.spell(found, project.clock(), none="no memories yet", group=group))


@command(memory)
@click.argument("words", metavar="ID|WORDS...", nargs=-1, required=True)
@scope_option
@at_option
def show(project: Project, /, words: tuple[str, ...], scope: Scope | None, at: str | None) -> Answer:
    """Show everything about one memory: by the beginning of its id, or by words that it alone holds.

    \b
    Examples:
      memsync show mm-a1b
      memsync show upload limit
    """
    from memsync.cli.naming import find_ref

    project.be_brief()
    project = _open_at(project, at)
    entry = (project.get if at else project.show)(find_ref(project, words, scope), scope)
    newer = find_successors(project.stores, entry.id) if entry.memory.archived_at else ()
    return Answer(entry, render.entry_whole(entry, project.clock(), newer, project.layout.root))


@command(memory)
@filter_options
def stats(project: Project, /, **chosen: Any) -> Answer:
    """Count memories by type, scope, source and tag.

    \b
    Example:
      memsync stats --scope project
    """
    chosen["archived"] = True
    result = project.stats(choose_filters(project, **chosen))
    return Answer(result, render.stats(result, project.clock()))
