"""`memsync memory …`: parse, one call, render."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import click

from memsync.cli import render, render_skill
from memsync.cli.app import (
    Answer,
    allow_secret_option,
    cli,
    command,
    filter_options,
    scope_option,
    stack,
    target_options,
    wants_json,
)
from memsync.cli.reach import ask_there, here_option, reach_options, stay, take_options
from memsync.errors import MemoryNotFound, UsageError
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Recall, Remembered, list_entries
from memsync.records import SCOPES, Scope, shown_id
from memsync.system.texts import read_utf8


@cli.group(
    homes=(
        ("past", "history diff blame"),
        ("proposals", "init extract candidates approve reject"),
        ("enrich", "enrich"),
        ("anchor", "anchor"),
        ("privacy", "share unshare audit"),
        ("dedup", "dedup"),
        ("settings", "config"),
        ("sync", "sync"),
        ("transfer", "import export"),
    )
)
def memory() -> None:
    """Remember, recall, list, edit, import and export memories."""


at_option = click.option("--at", metavar="REV", help="The project's memories as they were at that commit.")


def _open_at(project: Project, rev: str | None) -> Project:
    """Return *project*, or its past."""
    if rev is None:
        return project
    from memsync.history import events

    return click.get_current_context().with_resource(events.at(project, rev))


def choose_filters(project: Project, scope: Scope | None, exclude: Iterable[str], **chosen: Any) -> Filters:
    """Return what the options say. An id to leave out that no memory has leaves nothing out."""
    excluded = set()
    for ref in exclude:
        with suppress(MemoryNotFound):
            excluded.add(project.get(ref, scope).id)
    return Filters(scopes=(scope,) if scope else SCOPES, exclude=excluded, **chosen)


def _warn_of_problems(project: Project) -> None:
    """Say on stderr, in one line a store, which lines were left out."""
    for path, (count, number, why) in project.finder.find_problems():
        more = f" (and {count - 1} more)" if count > 1 else ""
        click.echo(f"memsync: {render.one_line(f'{path}:{number}: {why}')}{more}; see `memsync doctor`", err=True)


def read_text(content: str) -> str:
    """Return *content*, or for "-" what comes on standard input."""
    if content != "-":
        return content
    return read_utf8(sys.stdin.buffer.read(), "standard input", UsageError, "send it as UTF-8")


supersedes_option = click.option(
    "--supersedes", multiple=True, metavar="ID", help="Archive that memory: this one stands for it now (repeat)."
)


cue_option = click.option(
    "--cue",
    "cues",
    multiple=True,
    metavar="TEXT",
    help="Find it by this too: a question it answers, a symptom (repeat).",
)


_LINKS: Final = "because:ID, needs:ID, see:ID or see:skill/NAME: given beside it (repeat)."
link_option = click.option("--link", "links", multiple=True, metavar="LINK", help=_LINKS)


@command(memory)
@click.argument("content")
@click.option(
    "--type",
    "memory_type",
    metavar="TYPE",
    default="fact",
    show_default=True,
    help="fact, preference, pattern, context or your own.",
)
@click.option("--importance", type=float, metavar="N", help="0 to 1.  [default: 0.7]")
@click.option("--tag", "--tags", "tags", multiple=True, metavar="TAG", help="A tag, or several with commas (repeat).")
@cue_option
@link_option
@supersedes_option
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="PATH[#SYMBOL]",
    help="Mark it when that file or symbol changes (repeat).",
)
@allow_secret_option
@target_options
def remember(project: Project, /, content: str, tags: tuple[str, ...], allow_secret: bool, **fields: Any) -> Answer:
    """Store CONTENT ("-": standard input), unless it is stored already.

    What says the same is not stored twice, and what contradicts a memory is
    stored and told; docs/dedup.md says how that is decided. On a terminal you
    are asked whether it replaces that one.

    \b
    Examples:
      memsync memory remember "Always use uv" --type preference --tag python
      memsync memory remember "The API listens on 8081" --supersedes mm-a1b
      memsync memory remember "Retries are capped at 5" --anchor src/client.py#MAX_RETRIES
      memsync memory remember "Cookies are SameSite=Lax" --cue "logged out after paying"
      memsync memory remember "We pin uvicorn 0.23" --link because:mm-a1b
      memsync memory add "My editor is Helix" --global
      memsync memory add "The staging token is …" --private
    """
    project.vetting.allows_secrets = allow_secret
    result = project.remember(read_text(content), tags=split_tags(tags), **fields)
    if content != "-" and not wants_json() and sys.stdin.isatty() and sys.stdout.isatty():
        result = _ask_what_it_replaces(project, result)
    return Answer(result, render.remembered(result, project.clock()))


def _ask_what_it_replaces(project: Project, result: Remembered) -> Remembered:
    """Ask whether a new memory replaces each one that it contradicts, and return what became of it."""
    wrong = [one for one in result.similar if one.relation == "contradicts"]
    if result.status not in ("created", "updated") or not wrong:
        return result
    click.echo(f"stored {render.entry_line(result.entry, project.clock())}", err=True)
    replaced = []
    for other in wrong:
        click.echo(
            f"  contradicts ({render.one_line(other.reason)}): {render.entry_line(other, project.clock())}", err=True
        )
        if click.confirm(f"  does this replace {shown_id(other.id)}?", err=True):
            replaced.append(other.id)
    if not replaced:
        return result
    done = project.update(result.entry.id, scope=result.entry.scope, supersedes=replaced)
    left = tuple(one for one in result.similar if one.id not in replaced)
    return replace(done, similar=left, reason=f"instead of {', '.join(map(shown_id, replaced))}")


memory.add_command(remember, "add")


def split_tags(tags: tuple[str, ...]) -> list[str]:
    """Return what --tag a,b --tag c says: a, b and c."""
    return [part for tag in tags for part in tag.split(",")]


finding_options = stack(
    click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: 15]"),
    click.option("--skills", is_flag=True, help="The skills that answer QUERY too, after the memories."),
    click.option("--explain", is_flag=True, help="Show where each score comes from."),
    reach_options,
    filter_options,
)


@command(memory)
@click.argument("query", required=False)
@finding_options
@at_option
@click.option("--hub", is_flag=True, help="What other repositories know, too; see hub.")
def recall(project: Project, /, query: str | None, at: str | None, hub: bool, **how: Any) -> Answer:
    """Find the memories that answer QUERY; without one, the most important.

    Finds words, parts of identifiers, paths, versions and hashes, and forgives
    typos. What it returns counts as used.

    \b
    Examples:
      memsync memory recall "how do we run the tests"
      memsync memory recall session-lifecycle.yaml --limit 3 --explain
      memsync memory recall "which database" --at v1.0
      memsync memory recall "how do we retry payments" --all-repos
      memsync memory recall "how do we retry payments" --hub
    """
    project = _open_at(project, at)
    answer = _find(project, project.recall, query, at=at, **how)
    if not hub:
        return answer
    from memsync.cli.render_hub import add_hub

    return add_hub(answer, query, how)


@command(memory)
@click.argument("query")
@finding_options
def search(project: Project, /, query: str, **how: Any) -> Answer:
    """Do what recall does, without counting it as a use.

    \b
    Example:
      memsync memory search "docker" --limit 5
    """
    return _find(project, project.search, query, **how)


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
    where = take_options(chosen)
    known = project.skills.search_beside(query, scope=chosen["scope"], at=at) if skills else None
    found = ask_there(project, where, ask, query, choose_filters(project, **chosen), limit)
    _warn_of_problems(project)
    value, text = found.as_dict(), render.recall(found, project.clock(), explain=explain)
    if known is not None:
        value["skills"] = [entry.as_dict(whole=False) for entry in known]
        text += "\n" + render_skill.entries(known, none="no skill fits")
    return Answer(value, text)


@command(memory)
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="How many at most.  [default: all]")
@here_option
@filter_options
@at_option
def list_(project: Project, /, limit: int | None, at: str | None, here: bool, **chosen: Any) -> Answer:
    """List memories, the most important first.

    \b
    Examples:
      memsync memory list --type preference --min-importance 0.5
    """
    project = _open_at(project, at)
    found = stay(project, here=here).list_all(choose_filters(project, **chosen), limit=limit)
    _warn_of_problems(project)
    return Answer(list_entries(found), render.entries(found, project.clock(), none="no memories yet"))


@command(memory)
@click.argument("ref", metavar="ID")
@scope_option
@at_option
def show(project: Project, /, ref: str, scope: Scope | None, at: str | None) -> Answer:
    """Show everything about one memory; ID may be the beginning of an id.

    \b
    Example:
      memsync memory show mm-a1b
    """
    project = _open_at(project, at)
    entry = project.get(ref, scope)
    return Answer(entry, render.entry_whole(entry, project.clock()))


@command(memory)
@click.argument("ref", metavar="ID")
@click.option("-c", "--content", help='The new text ("-": standard input).')
@click.option("--type", "memory_type", metavar="TYPE", help="The new type.")
@click.option("--importance", type=float, metavar="N", help="The new importance, 0 to 1.")
@click.option(
    "--tag", "--tags", "tags", multiple=True, metavar="TAG", help='The new tags (repeat, or commas; "": none).'
)
@click.option("--cue", "cues", multiple=True, metavar="TEXT", help='The new cues (repeat; "": none).')
@click.option("--anchor", "anchors", multiple=True, metavar="ANCHOR", help="What it is about now (repeat).")
@click.option("--no-anchor", is_flag=True, help="Anchor it to nothing.")
@click.option("--link", "links", multiple=True, metavar="LINK", help='The new links (repeat; "": none).')
@supersedes_option
@allow_secret_option
@scope_option
def update(
    project: Project, /, ref: str, tags: tuple[str, ...], no_anchor: bool, allow_secret: bool, **fields: Any
) -> Answer:
    """Change one memory. `memsync memory restore ID` takes the change back.

    \b
    Examples:
      memsync memory update mm-a1b --importance 0.9 --tag ci,docker
      memsync memory update mm-a1b --anchor src/retry.py#MAX_RETRIES --anchor '$ git push'
    """
    project.vetting.allows_secrets = allow_secret
    if fields["anchors"] and no_anchor:
        raise UsageError("--anchor and --no-anchor exclude each other; give one of them")
    given = {name: fields[name] or None for name in ("cues", "links", "anchors")}
    given["content"] = None if fields["content"] is None else read_text(fields["content"])
    fields |= {**given, "tags": split_tags(tags) if tags else None, **({"anchors": ()} if no_anchor else {})}
    result = project.update(ref, **fields)
    return Answer(result, render.remembered(result, project.clock()))


@command(memory)
@click.argument("refs", metavar="ID...", nargs=-1, required=True)
@click.option("--purge", is_flag=True, help="Keep nothing of them in the local history either.")
@scope_option
def forget(project: Project, /, refs: tuple[str, ...], purge: bool, scope: Scope | None) -> Answer:
    """Remove memories. `memsync memory restore ID` brings one back.

    With --purge it cannot, and memories that are gone already may be named
    too. Commits keep what they have.

    \b
    Examples:
      memsync memory forget mm-a1b2c3
      memsync memory forget --purge mm-a1b2c3
    """
    if purge:
        ids = [project.purge(ref, scope) for ref in refs]
        return Answer({"purged": ids}, "\n".join(f"purged {shown_id(id_)}" for id_ in ids))
    chosen = [project.get(ref, scope) for ref in refs]
    gone = [project.forget(entry.id, entry.scope) for entry in chosen]
    lines = [f"forgot {render.entry_line(entry, project.clock())}" for entry in gone]
    return Answer({"forgotten": gone}, "\n".join(lines))


memory.add_command(forget, "delete")


@command(memory)
@click.argument("ref", metavar="[ID]", required=False)
@scope_option
@click.option("--at", "at", metavar="REV", help="As it was at that commit.")
def restore(project: Project, /, ref: str | None, scope: Scope | None, at: str | None) -> Answer:
    """Undo the last forget or update of a memory; twice is redo.

    A memory that is archived, for instance because another supersedes it, is
    shown again.

    What this machine does not remember is taken from git: as it was before it
    was last changed or removed, or with --at as it was at REV.

    Without ID: bring back every memory that was written here and is neither in
    the file nor in any commit, as after `git checkout .`.

    \b
    Examples:
      memsync memory restore mm-a1b2c3
      memsync memory restore mm-a1b2c3 --at main~3
      memsync memory restore
    """
    from memsync.history import events, lost

    if ref is None:
        if at is not None:
            raise UsageError("--at needs the ID of a memory")
        gone = [one for one in lost.find_lost(project) if scope in (None, one.scope)]
        found = lost.bring_back(project, gone)
        return Answer(found.as_dict(), render.brought_back(found, project.clock()), 1 if found.refused else 0)
    result = events.undo(project, ref, scope, at)
    return Answer(result, render.remembered(result, project.clock()))


@command(memory)
@filter_options
def stats(project: Project, /, **chosen: Any) -> Answer:
    """Count memories by type, scope, source and tag.

    \b
    Example:
      memsync memory stats --scope project
    """
    chosen["archived"] = True
    result = project.stats(choose_filters(project, **chosen))
    return Answer(result, render.stats(result, project.clock()))
