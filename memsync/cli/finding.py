"""`memsync recall`, `search`, `list`, `show` and `stats`: which memories are looked for, and as what they are printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.choosing import choose_filters, find_ref
from memsync.cli.memory import memory
from memsync.cli.options import filter_options, scope_option, stack
from memsync.cli.words import TextCommand
from memsync.errors import UsageError
from memsync.format.scopes import mark_text
from memsync.memories.edits import find_successors
from memsync.memories.filters import Order
from memsync.memories.project import Project
from memsync.memories.results import Entry, Hit, Recall, list_entries
from memsync.records import FIELDS, Scope, short_id, shown_id
from memsync.safety.guard import shown_label, shown_type

if TYPE_CHECKING:
    from memsync.memories.counts import Stats

_GROUPS: Final = ("type", "tag", "scope", "author", "day")
_FIELD: Final = re.compile(r"\{(\w+)\}")
_PARTS: Final = ("lexical", "semantic", "identifier", "phrase", "place", "wording")
_at_option = click.option("--at", metavar="REV", help="The project's memories as they were at that commit.")
_here_option = click.option("--here", is_flag=True, help="Without what a store further up in the repository holds.")
_output_options = stack(
    click.option("--full", is_flag=True, help="Everything about each."),
    click.option("--ids", is_flag=True, help="The ids alone, a line each."),
    click.option(
        "--format", "template", metavar="FORM", help="A line each, with {id}, {content} and other keys of --json."
    ),
)
_finding_options = stack(
    click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: 15]"),
    _output_options,
    click.option("--skills", is_flag=True, help="The skills that answer QUERY too, after the memories."),
    click.option("--explain", is_flag=True, help="Show where each score comes from."),
    _here_option,
    click.option("--repo", "repos", multiple=True, metavar="PATH", help="In that repository instead (repeat)."),
    click.option("--all-repos", is_flag=True, help="In every repository that this machine knows."),
    filter_options,
)


class Form(NamedTuple):
    """What somebody wants to see of each memory."""

    full: bool = False
    ids: bool = False
    template: str | None = None

    def spell(self, found: Sequence[Entry], now: datetime, *, none: str, group: str | None = None) -> str:
        """Return *found* in this form, or *none*; in a *group* under a heading for each.

        Raises:
            UsageError: the template names a field that no memory has.
        """
        if group is None or self.ids or self.template is not None:
            return self._spell_some(found, now) or ("" if self.ids else none)
        heads: dict[str, list[Entry]] = {}
        for entry in found:
            for name in _name_groups(entry, group):
                heads.setdefault(name, []).append(entry)
        in_order = sorted(heads.items(), reverse=group == "day")
        return "\n\n".join(f"{click.style(h, bold=True)}\n{self._spell_some(e, now)}" for h, e in in_order) or none

    def _spell_some(self, found: Iterable[Entry], now: datetime) -> str:
        if self.ids:
            return "\n".join(shown_id(entry.id) for entry in found)  # they go on to xargs: no blank, no line, no option
        if self.template is not None:
            template = self.template.replace(r"\t", "\t").replace(r"\n", "\n")
            return "\n".join(_fill(template, _list_values(entry, marks="{scope}" not in template)) for entry in found)
        if self.full:
            return "\n\n".join(render.entry_whole(entry, now) for entry in found)
        return "\n".join(render.entry_line(entry, now) for entry in found)


def _take_form(options: dict[str, Any]) -> Form:
    full, ids, template = (options.pop(name) for name in ("full", "ids", "template"))
    if full + ids + (template is not None) > 1:
        raise UsageError("--full, --ids and --format exclude each other; give one of them")
    return Form(full, ids, template)


def _name_groups(entry: Entry, group: str) -> Sequence[str]:
    memory = entry.memory
    if group == "tag":
        return [shown_label(tag) for tag in memory.tags] or ["no tag"]
    if group == "day":
        return [f"{memory.written_at:%Y-%m-%d}" if memory.written_at else "no date"]
    if group == "author":
        return [shown_label(memory.author or "nobody named")]
    return [shown_type(memory.memory_type) if group == "type" else entry.scope]


def _list_values(entry: Entry, *, marks: bool) -> Mapping[str, Any]:
    """Return what a template may name; what is not the project's own says so in its text, if it *marks* that."""
    memory = entry.memory
    return {
        **{field.name: field.default or "" for field in FIELDS},
        **entry.as_dict(),
        "id": shown_id(entry.id),
        "content": mark_text(entry.content, entry.scope) if marks else entry.content,
        "type": memory.memory_type,
        "scope": entry.scope,
    }


def _fill(template: str, values: Mapping[str, Any]) -> str:
    def spell(field: re.Match[str]) -> str:
        if (name := field[1]) not in values:
            raise UsageError(f"--format: no field {name!r}; there are {', '.join(sorted(values))}")
        value = values[name]
        return render.one_line(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))

    return _FIELD.sub(spell, template)


def _open_at(project: Project, rev: str | None) -> Project:
    if rev is None:
        return project
    from memsync.memories import events

    return click.get_current_context().with_resource(events.at(project, rev))


def _warn_of_problems(project: Project) -> None:
    """Say on stderr, in one line a store, which lines were left out."""
    for path, (count, number, why) in project.finder.find_problems():
        more = f" (and {count - 1} more)" if count > 1 else ""
        click.echo(f"memsync: {render.one_line(f'{path}:{number}: {why}')}{more}; see `memsync doctor`", err=True)


@command(memory, cls=TextCommand)
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@_finding_options
@_at_option
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
    from memsync.cli.hub import add_hub

    return add_hub(answer, text, how)


@command(memory, cls=TextCommand)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@_finding_options
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
    at: str | None = None,
    **chosen: Any,
) -> Answer:
    form = _take_form(chosen)
    here, repos, all_repos = (chosen.pop(name) for name in ("here", "repos", "all_repos"))
    if repos and all_repos:
        raise UsageError("--repo and --all-repos exclude each other; give one of them")
    project.be_brief()
    known = project.skills.search_beside(query, scope=chosen["scope"], at=at) if skills else None
    filters = choose_filters(project, **chosen)
    if here:
        project.above = None
    if repos or all_repos:
        from memsync.memories import reach

        projects = reach.open_known(project) if all_repos else reach.open_named(project, repos)
        found = reach.recall_in(projects, query, filters, limit=limit)
    else:
        found = ask(query, filters, limit=limit)
    _warn_of_problems(project)
    value = found.as_dict()
    again = ""
    if at is None and found.query is not None and all(map(found.is_weak, found)):
        from memsync.memories.listing import spell_suggestion, suggest_questions

        nearest = suggest_questions(project, found)
        again = "" if found else spell_suggestion(nearest)  # weak matches show what they are about
        value |= {"nearest": nearest} if nearest else {}
    if form == Form():
        text = "\n".join(filter(None, [_format_recall(found, project.clock(), explain=explain), again]))
        if at is None and (session := project.journal.session_id):  # no hook gives its agent the same again
            from memsync.agents.session import RecallSession

            RecallSession(project, session).note_shown([entry.id for entry in found])
    else:
        text = form.spell(found, project.clock(), none="no memory fits")
    if known is not None:
        from memsync.cli.skill import format_skills

        value["skills"] = [entry.as_dict(whole=False) for entry in known]
        text += "\n" + format_skills(known, none="no skill fits")
    return Answer(value, text)


def _order_time(moment: datetime | None) -> float:
    return -moment.timestamp() if moment else 0.0


_SORTS: Final[Mapping[str, Order]] = {
    "updated": lambda entry: _order_time(entry.memory.written_at),
    "created": lambda entry: _order_time(entry.memory.created_at),
    "used": lambda entry: -entry.access_count,
}


@command(memory)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: all]")
@click.option("--sort", type=click.Choice(["importance", *_SORTS]), help="What comes first.  [default: importance]")
@click.option("--group", type=click.Choice(_GROUPS), help="Under a heading for each.")
@_output_options
@_here_option
@filter_options
@_at_option
def list_(
    project: Project,
    /,
    limit: int | None,
    sort: str | None,
    group: str | None,
    here: bool,
    at: str | None,
    **chosen: Any,
) -> Answer:
    """List memories, the most important first.

    \b
    Examples:
      memsync list --since 1week --sort updated
      memsync list --type preference --min-importance 0.5 --group tag
      memsync list --format '{id} {tags} {content}'
    """
    form = _take_form(chosen)
    project.be_brief()
    project = _open_at(project, at)
    if here:
        project.above = None
    found = project.list_all(choose_filters(project, **chosen), limit=limit, order=_SORTS.get(sort or ""))
    _warn_of_problems(project)
    return Answer(list_entries(found), form.spell(found, project.clock(), none="no memories yet", group=group))


@command(memory)
@click.argument("words", metavar="ID|WORDS...", nargs=-1, required=True)
@scope_option
@_at_option
def show(project: Project, /, words: tuple[str, ...], scope: Scope | None, at: str | None) -> Answer:
    """Show everything about one memory: by the beginning of its id, or by words that it alone holds.

    \b
    Examples:
      memsync show mm-a1b
      memsync show upload limit
    """
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
    return Answer(result, _format_stats(result, project.clock()))


def _format_recall(found: Recall, now: datetime, *, explain: bool) -> str:
    """Return a line for each hit, weak ones last; with *explain* the parts of its score, and what an agent would be shown."""
    lines: list[str] = []
    weak = [hit for hit in found if found.is_weak(hit)]
    for hit in (*(hit for hit in found if not found.is_weak(hit)), *weak):
        if weak and hit is weak[0]:
            lines.append(click.style("weak matches:", dim=True))
        copy = f" (nearly the same as {short_id(hit.copy_of)})" if hit.copy_of else ""
        lines.append(render.entry_line(hit, now, mark=copy + "".join(f" ({said})" for said in hit.tell_against())))
        if explain and hit.parts:
            lines += [click.style(f"    {line}", dim=True) for line in _explain_hit(found, hit)]
    lines = lines or ["no memory fits"]
    if explain and found.query:
        verdict = "would be" if found.gate >= found.floor else "nothing would be"
        lines.append(f"gate {found.gate:.2f}, floor {found.floor:.2f}: {verdict} shown unasked")
    if found.degraded:
        lines.append(f"{click.style('degraded', fg='yellow')}: searched by words only, because {found.degraded}")
    return "\n".join(lines)


def _explain_hit(found: Recall, hit: Hit) -> Iterator[str]:
    from memsync.index.synonyms import find_word

    parts = " + ".join(f"{name} {hit.parts[name]:.3f}" for name in _PARTS if hit.parts[name])
    boost = f", moved by importance x {hit.parts['boost']:.2f}"
    yield f"confidence {hit.confidence:.2f}, score {hit.score:.3f} = {parts}{boost}"
    called = [
        f"{find_word(term, found.query or '')} as {' '.join(find_word(word, hit.content) for word in words)}"
        for term, words in found.find_called(hit).items()
    ]
    if called:
        yield f"found by another name: {', '.join(called)}"


def _format_stats(result: Stats, now: datetime) -> str:
    lines = [
        f"{render.memories(result.total)}, average importance {result.average_importance:.2f}, {result.archived} archived"
    ]
    for name, counts in (("type", result.by_type), ("scope", result.by_scope), ("source", result.by_source)):
        lines += _list_counts(name, counts, limit=50)
    lines += _list_counts("tag", result.by_tag, limit=10)
    if result.most_used:
        lines += ["most recalled", *(render.entry_line(e, now, f"  {e.access_count:5} ") for e in result.most_used)]
    return "\n".join(lines)


def _list_counts(name: str, counts: Mapping[str, int], *, limit: int) -> list[str]:
    rows = [f"  {count:5} {shown_label(key)}" for key, count in list(counts.items())[:limit]]
    more = [f"  … and {len(counts) - limit} more"] if len(counts) > limit else []
    return [f"by {name}", *rows, *more] if rows else []
