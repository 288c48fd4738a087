"""`memsync dedup …`: the log of decisions, and their review."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Final

import click

from memsync.cli import render
from memsync.cli.app import Answer, command, wants_json
from memsync.cli.keys import keys, mark_differences
from memsync.cli.memory import memory
from memsync.format.scopes import mark_text
from memsync.janitor import review as reviewing
from memsync.janitor.review import Row
from memsync.memories.project import Project
from memsync.store.state import DECISIONS

_STATUSES: Final = ("unreviewed", "confirmed", "reversed")
_PRESSED: Final = ("y", "n", "s", "q", "\x04", "")  # and the two ends of input
_KEYS: Final = "y: rightly rejected, n: bring it back, s: later, q: stop"


@memory.group()
def dedup() -> None:
    """See, review and reverse what dedup decided."""


@command(dedup)
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--decision", metavar="NAME", help=f"Only these: {', '.join(DECISIONS)}.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only with this review status.")
def log(project: Project, /, limit: int, decision: str | None, status: str | None) -> Answer:
    """Show the decisions, the latest first.

    \b
    Examples:
      memsync dedup log
      memsync dedup log --status unreviewed --json
    """
    found = reviewing.chosen(project, decision, status)[:limit]
    text = "\n".join(line for row in found for line in _describe_row(project, row)) or "no decisions"
    return Answer(reviewing.listed(project, found), text)


def _describe_row(project: Project, row: Row) -> Iterator[str]:
    said = row.decision
    like = "" if said.similarity is None else f", similarity {said.similarity:.2f}"
    why = f": {mark_text(said.reasoning, row.scope)}" if said.reasoning else ""
    head = f"{reviewing.name(project, row)} {said.decision}, {said.review_status}{like}"
    yield f"{click.style(head, bold=True)}{render.one_line(why)}"
    words = ("rejected", "kept") if said.rejected is not None else ("new", "old")
    yield f"    {words[0]}: {render.one_line(mark_text(row.rejected_text(), row.scope))}"
    yield f"    {words[1]} {render.short_id(said.existing_id)}: {render.one_line(mark_text(row.kept_text(), row.scope))}"


@command(dedup)
def review(project: Project, /) -> Answer | None:
    """Go through what dedup rejected: y was right, n brings it back, s later, q stops.

    Rejections of the very same text are confirmed at once. Without a terminal
    the rest is only listed; `memsync janitor run --task review` lets a model
    review it, where llm.provider names one.

    \b
    Example:
      memsync dedup review
    """
    copies = reviewing.confirm_copies(project)
    waiting = [row for row in reviewing.rows(project) if row.is_waiting]
    if wants_json() or not sys.stdin.isatty():
        return _list_waiting(project, copies, waiting)
    confirmed = f"{render.count(copies, 'copy')} confirmed"
    click.echo(f"{confirmed}, {len(waiting)} to review" if waiting else confirmed)
    with keys() as key:
        for number, row in enumerate(waiting, 1):
            if not _ask(project, row, f"{number}/{len(waiting)}", key):
                break
    return None


def _list_waiting(project: Project, copies: int, waiting: list[Row]) -> Answer:
    lines = [f"{render.count(copies, 'copy')} confirmed, {len(waiting)} waiting"]
    lines += [line for row in waiting for line in _describe_row(project, row)]
    if waiting:
        lines.append("`memsync dedup confirm ID…` where that was right, `memsync dedup reverse ID` where not")
    value = {"confirmed": copies, "waiting": [reviewing.as_dict(project, row) for row in waiting]}
    return Answer(value, "\n".join(lines))


def _ask(project: Project, row: Row, place: str, key: Callable[[], str]) -> bool:
    """Show one pair, take one key, and return whether to go on."""
    said = row.decision
    why = f": {said.reasoning}" if said.reasoning else ""
    click.echo(f"\n{click.style(f'{place} {said.decision}', bold=True)}{render.one_line(why)}")
    for line in mark_differences(("rejected", row.rejected_text()), ("kept", row.kept_text())):
        click.echo(line)
    click.echo(f"{_KEYS} ", nl=False)
    while (pressed := key().lower()) not in _PRESSED:
        pass
    click.echo(pressed if pressed.isalpha() else "q")
    if pressed == "y":
        reviewing.confirm(project, [row])
    elif pressed == "n":
        click.echo(_describe_reversal(project, reviewing.reverse(project, row)))
    return pressed in ("y", "n", "s")


def _describe_reversal(project: Project, result: reviewing.Reversed) -> str:
    return f"{result.reason}: {render.entry_line(result.entry, project.clock())}" if result.entry else result.reason


@command(dedup)
@click.argument("refs", metavar="ID...", nargs=-1, required=True)
def confirm(project: Project, /, refs: tuple[str, ...]) -> Answer:
    """Mark decisions as correct, by the number that `log` shows.

    \b
    Example:
      memsync dedup confirm 12 13
    """
    found = [reviewing.find(project, ref) for ref in refs]
    reviewing.confirm(project, found)
    names = [reviewing.name(project, row) for row in found]
    return Answer({"confirmed": names}, f"confirmed {', '.join(names)}")


@command(dedup)
@click.argument("ref", metavar="ID")
def reverse(project: Project, /, ref: str) -> Answer:
    """Bring back the text that decision ID rejected, unless a memory says the same again.

    \b
    Example:
      memsync dedup reverse 12
    """
    result = reviewing.reverse(project, reviewing.find(project, ref))
    return Answer(result, _describe_reversal(project, result))
