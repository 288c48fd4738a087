"""`memsync log` and `undo`: what changed, and taking the last of it back."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from memsync.cli import past, render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.memory import memory
from memsync.cli.options import scope_option
from memsync.history.log import Row, read_log
from memsync.history.since import find_moment
from memsync.janitor import deciding
from memsync.memories import undoing
from memsync.memories.project import Project
from memsync.poison.guard import shown_label
from memsync.records import Scope, age


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
@click.option("--redo", "again", is_flag=True, help="Do again what was taken back last.")
@click.option("--list", "is_list", is_flag=True, help="Only show what can be taken back, the last first.")
def undo(project: Project, /, again: bool, is_list: bool) -> Answer:
    """Take back the last command that changed memories on this machine; again, the one before.

    That is every command that you or an agent typed, what an agent wrote over MCP
    and you at the desk, and what the janitor did. Nothing is taken back where
    somebody changed one of its memories since.

    \b
    Examples:
      memsync undo
      memsync undo --list
      memsync undo --redo
    """
    if is_list:
        found = undoing.list_commands(project)
        lines = [f"{one.at} {one.name}: {render.memories(len({s.id for s in one.steps}))}" for one in found]
        return Answer({"commands": found}, "\n".join(lines) or "nothing to take back")
    last = [] if again else undoing.list_commands(project)[:1]
    done = undoing.undo(project, again=again)
    deciding.put_back(project, {(step.scope, step.id) for one in last for step in one.steps})
    verb = "did again" if again else "took back"
    lines = [f"{verb} {undoing.spell_command(done.command)} of {done.at}"]
    lines += [render.entry_line(entry, project.clock(), "  is now ") for entry in done.brought]
    lines += [render.entry_line(entry, project.clock(), "  is gone ") for entry in done.removed]
    return Answer(done, "\n".join(lines))
