"""`memsync update`, `forget` and `restore`: parse, one call, render."""

from __future__ import annotations

from typing import Any

import click

from memsync.cli import render
from memsync.cli.app import Answer, command
from memsync.cli.choosing import WHERE, choose, find_ref, find_refs, where_options
from memsync.cli.memory import field_options, find_replaced, memory, read_text, split_tags, warn_of_type
from memsync.cli.options import allow_secret_option, filter_options, let_secrets_pass, scope_option, yes_option
from memsync.errors import UsageError
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import FIELDS, Scope, shown_id


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@click.option("-c", "--content", help='The new text ("-": standard input).')
@field_options
@click.option(
    "--add-tag", "tags_added", multiple=True, metavar="TAG", help="A tag beside those it has (repeat, or commas)."
)
@click.option(
    "--remove-tag", "tags_removed", multiple=True, metavar="TAG", help="A tag that it loses (repeat, or commas)."
)
@click.option("--no-anchor", is_flag=True, help="Anchor it to nothing.")
@allow_secret_option
@where_options
@scope_option
@yes_option
def update(project: Project, /, refs: tuple[str, ...], allow_secret: bool, **options: Any) -> Answer:
    """Change memories: by ID, or all that the --where options fit. `memsync undo` takes the change back.

    \b
    Examples:
      memsync update mm-a1b --importance 0.9 --tag ci,docker
      memsync update prices cents --importance 0.9
      memsync update mm-a1b --anchor src/retry.py#MAX_RETRIES --anchor '$ git push'
      memsync update --where-tag billing --add-tag payments --type pattern
    """
    let_secrets_pass(project, wanted=allow_secret)
    options["supersedes"] = find_replaced(project, options["supersedes"])
    fields, tagging = _take_fields(options)
    warn_of_type(project, fields.get("memory_type"))
    scope = options["scope"]
    named = find_refs(project, refs, scope)
    if len(named) == 1:
        entry = project.show(named[0], scope)
        result = project.update(entry.id, scope=scope, **_retag(entry, fields, tagging))
        return Answer(result, render.remembered(result, project.clock()))
    if fields.get("content") is not None:
        raise UsageError("--content is for one memory; `memsync edit ID ID` changes the texts of several")
    where = {name: options[f"where_{name}"] for name in WHERE}
    chosen = choose(project, named, scope, where, "change", yes=options["yes"])
    done = [project.update(one.id, scope=one.scope, **_retag(one, fields, tagging)) for one in chosen]
    lines = [render.remembered(result, project.clock()) for result in done]
    return Answer({"changed": done}, "\n".join(lines))


def _take_fields(options: dict[str, Any]) -> tuple[dict[str, Any], tuple[tuple[str, ...], list[str], list[str]]]:
    """Return the fields that *options* give, and the new tags, those beside the old ones, and those that go."""
    if options["anchors"] and options["no_anchor"]:
        raise UsageError("--anchor and --no-anchor exclude each other; give one of them")
    if signed := next((tag for tag in options["tags"] if tag.startswith(("+", "-"))), None):
        option = "--add-tag" if signed[0] == "+" else "--remove-tag"
        raise UsageError(f"--tag takes all the tags that it shall have; {option} {signed[1:]} is for one of them")
    fields = {field.name: options[field.name] or None for field in FIELDS if field.kind == "list"}
    fields |= {name: options[name] for name in ("memory_type", "importance", "supersedes")}
    fields["content"] = None if options["content"] is None else read_text(options["content"])
    fields |= {"anchors": ()} if options["no_anchor"] else {}
    return fields, (options["tags"], split_tags(options["tags_added"]), split_tags(options["tags_removed"]))


def _retag(
    entry: Entry, fields: dict[str, Any], tagging: tuple[tuple[str, ...], list[str], list[str]]
) -> dict[str, Any]:
    """Return *fields* with the tags that *entry* gets."""
    new, added, removed = tagging
    if not any(tagging):
        return fields
    kept = split_tags(new) if new else list(entry.memory.tags)
    gone = {tag.strip().lower() for tag in removed}
    return {**fields, "tags": [tag for tag in (*kept, *added) if tag.lower() not in gone]}


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@click.option("--purge", is_flag=True, help="Keep nothing of them in the local history either.")
@filter_options
@yes_option
def forget(
    project: Project, /, refs: tuple[str, ...], purge: bool, yes: bool, scope: Scope | None, **filters: Any
) -> Answer:
    """Remove memories: by ID, or all that the filters fit. `memsync undo` brings them back.

    With --purge it cannot, and memories that are gone already may be named
    too. Commits keep what they have.

    \b
    Examples:
      memsync rm mm-a1b2c3
      memsync rm load tests thursdays
      memsync rm --tag spike --no-tag keep
      memsync rm --purge mm-a1b2c3
    """
    if purge and refs:
        ids = [project.purge(ref, scope) for ref in refs]
    else:
        chosen = choose(project, refs, scope, filters, "forget", yes=yes)
        ids = [project.purge(entry.id, entry.scope) for entry in chosen] if purge else []
    if purge:
        return Answer({"purged": ids}, "\n".join(f"purged {shown_id(id_)}" for id_ in ids))
    gone = [project.forget(entry.id, entry.scope) for entry in chosen]
    lines = [render.entry_line(entry, project.clock(), "forgot ") for entry in gone]
    return Answer({"forgotten": gone}, "\n".join(lines))


@command(memory)
@click.argument("words", metavar="[ID|WORDS]...", nargs=-1)
@scope_option
@click.option("--at", "at", metavar="REV", help="As it was at that commit.")
def restore(project: Project, /, words: tuple[str, ...], scope: Scope | None, at: str | None) -> Answer:
    """Undo the last forget or update of a memory; twice is redo.

    A memory that is archived, for instance because another supersedes it, is
    shown again.

    What this machine does not remember is taken from git: as it was before it
    was last changed or removed, or with --at as it was at REV.

    Without ID: bring back every memory that was written here and is neither in
    the file nor in any commit, as after `git checkout .`.

    \b
    Examples:
      memsync restore mm-a1b2c3
      memsync restore mm-a1b2c3 --at main~3
      memsync restore
    """
    from memsync.history import events, lost

    if not words:
        if at is not None:
            raise UsageError("--at needs the ID of a memory")
        gone = [one for one in lost.find_lost(project) if scope in (None, one.scope)]
        found = lost.bring_back(project, gone)
        return Answer(found.as_dict(), render.brought_back(found, project.clock()), 1 if found.refused else 0)
    result = events.undo(project, find_ref(project, words, scope), scope, at)
    return Answer(result, render.remembered(result, project.clock()))
