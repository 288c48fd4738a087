"""`memsync log` and `undo`: what changed, and taking the last of it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from memsync.cli import past, render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.memory import memory
from memsync.cli.options import scope_option
from memsync.cli.words import is_dialogue
from memsync.format.codec import decode
from memsync.format.scopes import mark_text
from memsync.history.log import Row, find_moment, read_log
from memsync.janitor import deciding
from memsync.memories import undoing
from memsync.memories.project import Project
from memsync.poison.guard import shown_label
from memsync.records import Scope, age, parse_time, shown_id

_SHOWN: Final = 5  # memories of one command
_WORDS: Final = {(False, True): "new", (True, True): "changed", (True, False): "removed", (False, False): "passing"}


@command(memory)
@click.option("--since", metavar="WHEN", help='7d, "2 weeks", yesterday, a date or a revision.')
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@scope_option
def log(project: Project, /, since: str | None, limit: int, scope: Scope | None) -> Answer:
    """Show what changed, when and by whom, the newest first; what is not committed too.

    Of what is private or global the last change of each memory is shown.

    \b
    Examples:
      memsync log --since 1week
      memsync log --since main --scope project
    """
    moment = None if since is None else find_moment(project, since)
    found, is_more = read_log(project, moment, scope=scope, limit=limit)
    lines = [_describe_row(row, project.clock()) for row in found]
    lines += [f"… and more (-n {10 * limit} shows more)"] if is_more else []
    value = {"count": len(found), "more": is_more, "changes": found}
    return Answer(value, "\n".join(lines) or "nothing changed")


def _describe_row(row: Row, now: datetime) -> str:
    day = f"{row.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if row.when else "no date"
    kind = click.style(f"{row.kind:7}", fg=past.COLOURS[row.kind])
    head = f"{day} {kind} {click.style(render.short_id(row.memory.id), fg='yellow')}"
    text = render.one_line(row.memory.content)
    if row.event and row.kind == "changed":
        text = "; ".join(past.list_changes(row.event))
    who = shown_label(row.who)
    commit = row.event.commit if row.event else None
    where = (
        f"{commit.short}: {commit.subject}" if commit else "not committed yet" if row.event else render.scope(row.scope)
    )
    told = render.one_line(", ".join(filter(None, (who, age(row.when, now), where))))
    return terminal.flow(head, text, f"({told})")


@command(memory)
@click.argument("ref", metavar="[ID]", required=False)
@click.option("--redo", "again", is_flag=True, help="Do again what was taken back last.")
@click.option("--list", "is_list", is_flag=True, help="Only show what can be taken back, the last first.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def undo(project: Project, /, ref: str | None, again: bool, is_list: bool, yes: bool) -> Answer:
    """Take back the last command that changed something on this machine, or the one with that ID; again, the one before.

    That is every command that you or an agent typed, what an agent wrote over MCP
    and you at the desk, and what the janitor did. A memory that somebody changed
    since stays as it is. What only another command takes back, as of skills and
    settings, is named, and nothing older is taken back in its place.

    \b
    Examples:
      memsync undo
      memsync undo --list
      memsync undo 3fa9c1
      memsync undo --redo
    """
    found = undoing.list_commands(project, again=again)
    if is_list:
        texts = undoing.find_texts(project, found)
        lines = [line for one in found for line in _describe_command(one, texts)]
        return Answer(
            {"commands": [_list_command(one, texts) for one in found]}, "\n".join(lines) or "nothing to take back"
        )
    if not yes and is_dialogue():
        _confirm(project, [one for one in found if one.id.startswith((ref or "").lower())][:1], again=again)
    done = deciding.undo_command(project, ref or "", again=again)
    verb = "did again" if again else "took back"
    lines = [f"{verb} {undoing.spell_command(done.command)} of {_spell_time(done.at)}"]
    lines += [render.entry_line(entry, project.clock(), "  is now ") for entry in done.brought]
    lines += [render.entry_line(entry, project.clock(), "  is gone ") for entry in done.removed]
    waits = "waits no longer" if again else "waits for approval again"
    candidates = (memory for raw in done.proposals if (memory := decode(raw.encode()).memory))
    lines += [f"  {waits}: {render.one_line(memory.content)}" for memory in candidates]
    lines += [f"  {render.one_line(why)}" for why in done.left]
    return Answer(done, "\n".join(lines))


def _confirm(project: Project, chosen: Sequence[undoing.Command], *, again: bool) -> None:
    """Show what is about to be taken back, and ask."""
    texts = undoing.find_texts(project, chosen)
    for one in chosen:
        if one.can_go:
            for line in _describe_command(one, texts):
                click.echo(line, err=True)
            click.confirm("Do this again?" if again else "Take this back?", default=True, abort=True, err=True)


def _spell_time(at: str) -> str:
    moment = parse_time(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if moment else at


def _describe_command(one: undoing.Command, texts: Mapping[undoing.Step, str]) -> Iterator[str]:
    """Yield a line for the command *one*, and one for each thing that it did, the first few."""
    yield f"{click.style(one.id, fg='yellow')} {_spell_time(one.at)} {one.name}"
    did = [
        terminal.flow(
            f"  {_WORDS[bool(step.before), bool(step.after)]} {shown_id(step.id)}",
            render.one_line(mark_text(texts[step], step.scope)),
        )
        for step in one.steps
        if step in texts
    ]
    did += [f"  {render.one_line(change.what)}" for change in one.changes]
    yield from did[:_SHOWN]
    if len(did) > _SHOWN:
        yield f"  and {len(did) - _SHOWN} more"


def _list_command(one: undoing.Command, texts: Mapping[undoing.Step, str]) -> dict[str, Any]:
    steps = [{**step._asdict(), "content": texts.get(step, "")} for step in one.steps]
    changes = [{"what": change.what, "way": change.way} for change in one.changes]
    return {"id": one.id, "words": one.words, "at": one.at, "steps": steps, "changes": changes}
