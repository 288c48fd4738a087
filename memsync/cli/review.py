"""Going through what a person should decide, by single keys or by options: `memsync review` and `janitor review`; and `dedup …`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.janitor import janitor
from memsync.cli.memory import memory, read_text
from memsync.cli.options import require_person
from memsync.errors import MemsyncError, UsageError
from memsync.format.scopes import mark_text
from memsync.format.textdiff import compare
from memsync.janitor import queue
from memsync.janitor import review as reviewing
from memsync.janitor.batches import describe, list_records, spell
from memsync.janitor.queue import Action, Card
from memsync.janitor.review import Row
from memsync.learn.transcripts import quote_turn
from memsync.memories.project import Project
from memsync.records import short_id
from memsync.setup import corrected
from memsync.store.state import DECISIONS

_MORE: Final = {"j": "next", "k": "before", "u": "undo", "q": "quit"}
_OF_SESSIONS: Final = {"t": "the turn it is from"}
_OF_COPIES: Final = {"h": "another first", "s": "later"}
_OF_PERSONS: Final = ("flagged", "rule", "candidate", "skill")  # what waits for approval
_END: Final = ("q", "\x04", "\x03", "")


@command(cli, is_quiet=True)
@click.argument("name", required=False)
@click.option(
    "--kind",
    type=click.Choice([*queue.KINDS, queue.COPIES]),
    help="Only these. Copies are looked for only when you name them here.",
)
@click.option("--approve", "action", flag_value="approve", help="Approve the card NAME.")
@click.option("--edit", "action", flag_value="edit", help="Approve it with another text (--text).")
@click.option("--best", "action", flag_value="best", help="Of copies: keep the first, drop the others.")
@click.option("--merge", "action", flag_value="merge", help="Make one text of both (--text).")
@click.option("--supersede", "action", flag_value="supersede", help="Let it replace the other.")
@click.option("--private", "action", flag_value="private", help="Move it out of the work tree.")
@click.option("--reject", "action", flag_value="reject", help="Reject it.")
@click.option("--text", help='The text for --edit and --merge ("-": standard input).')
@click.option("-y", "--yes", is_flag=True, help="You have read the flagged memory or the rule that you approve.")
@click.option("--undo", "is_undo", is_flag=True, help="Take back the last decision.")
def review(
    project: Project,
    /,
    name: str | None,
    kind: str | None,
    action: Action | None,
    text: str | None,
    yes: bool,
    is_undo: bool,
) -> Answer | None:
    """Decide what waits for you: candidates, contradictions, what is out of date or brought by others.

    One card at a time, one key each: a approve, e edit, m merge, s supersede,
    p private, x reject; j and k go on and back, u takes back, q stops. With
    copies b keeps only the best, a keeps all, h makes another one the best, s
    leaves them for later.
    Without a terminal the cards are listed, and options decide one.

    \b
    Examples:
      memsync review
      memsync review --kind copies
      memsync review --json
      memsync review --reject candidate:mm-a1b2c3d4e5
      memsync review --undo
    """
    if is_undo:
        done = corrected.undo(project)
        return Answer(done, render.one_line(done.said))
    if action:
        return _decide(project, name, action, text, yes=yes)
    return _go_through(project, kind)


def _go_through(project: Project, kind: str | None) -> Answer | None:
    if wants_json() or not sys.stdin.isatty():
        cards = [card for one in _list_names(project, kind) if (card := queue.read_card(project, one))]
        lines = []
        for card in cards:
            about = f"{render.one_line(card.why)}: {render.one_line(mark_text(card.text, card.scope))}"
            lines.append(terminal.flow(render.one_line(card.name), about))
        value = {"count": len(cards), "cards": [_as_dict(card) for card in cards]}
        return Answer(value, "\n".join(lines) or "nothing waits for a decision")
    require_person(project, "decide what waits for review")
    Round(project, _list_names(project, kind)).go()
    return None


def _list_names(project: Project, kind: str | None) -> list[str]:
    """Return the names of the cards of *kind*, of all but copies without one."""
    if kind == queue.COPIES:
        return queue.list_copies(project, lambda items, label: terminal.track(items, label, least=2_000))
    return [name for name in queue.list_names(project) if kind in (None, name.partition(":")[0])]


def _decide(project: Project, name: str | None, action: Action, text: str | None, *, yes: bool) -> Answer:
    if name is None:
        raise UsageError("say which card; `memsync review --json` lists their names")
    if (card := queue.read_card(project, name)) is None:
        raise MemsyncError(f"no card {render.one_line(name)!r} waits; it may be decided already")
    if card.kind in _OF_PERSONS and action != "reject":
        require_person(project, f"{action} {card.name}")
    if queue.needs_person(card, action) and not yes:
        raise UsageError("this is approved by a person: run `memsync review`, or add --yes once you have read it")
    done = corrected.decide(project, name, action, was=card.version, text=read_text(text or ""))
    return Answer(done, render.one_line(done.said))


def _as_dict(card: Card) -> dict[str, object]:
    copies = [
        {"id": one.entry.id, "scope": one.entry.scope, "text": one.entry.content, "lost": list(one.lost)}
        for one in card.copies
    ]
    fields = {name: getattr(card, name) for name in ("name", "kind", "scope", "why", "text", "other")}
    return {**fields, **({"copies": copies} if copies else {}), "actions": card.actions}


class Round:
    """One sitting at a terminal: where in the queue it is."""

    def __init__(self, project: Project, names: list[str]) -> None:
        self._project = project
        self._names = names
        self._at = 0

    def go(self) -> None:
        """Show card after card until all are decided or somebody stops."""
        with terminal.keys() as key:
            while card := self._read_card():
                self._show(card)
                wanted = {*(queue.KEYS[action] for action in card.actions), *_list_more(card), *_END}
                if (pressed := terminal.press(key, wanted)) in _END:
                    return
                self._act(card, pressed)
        click.echo("nothing waits for a decision")

    def _read_card(self) -> Card | None:
        while self._names:
            self._at = min(max(self._at, 0), len(self._names) - 1)
            if card := queue.read_card(self._project, self._names[self._at]):
                return card
            del self._names[self._at]
        return None

    def _show(self, card: Card) -> None:
        head = f"{self._at + 1}/{len(self._names)} {card.kind}"
        click.echo(f"\n{click.style(head, bold=True)} {render.one_line(card.why)}")
        if card.kind == "skill":
            click.echo("\n".join(map(render.diff_row, card.text.splitlines())))
        elif card.merge:
            for line in spell(describe(list_records(self._project), card.merge)):
                click.echo(f"  {render.printable(line)}")
        elif card.other:
            for line in _mark_differences(("in question", card.text), ("stored", card.other)):
                click.echo(line)
        else:
            click.echo(render.printable(card.text))
        for action, what in card.actions.items():
            click.echo(f"  {click.style(queue.KEYS[action], fg='yellow')} {action}: {what}")
        click.echo(f"  {' '.join(f'{one} {what}' for one, what in _list_more(card).items())} ", nl=False)

    def _act(self, card: Card, pressed: str) -> None:
        if pressed in ("j", "k") or (card.copies and pressed in _OF_COPIES):
            self._at += {"k": -1, "h": 0}.get(pressed, 1)
            if pressed == "h":
                self._names[self._at] = queue.turn(self._project, card)
            return
        if pressed == "t" and card.proposal:
            rows = quote_turn(card.proposal.where) or ["the transcript is not there any more"]
            click.echo("\n".join(f"  {render.printable(row)}" for row in rows))
            return
        try:
            said = self._undo() if pressed == "u" else self._decide(card, pressed)
        except (MemsyncError, OSError) as error:
            said = str(error)
        click.echo(f"  {render.one_line(said)}")

    def _undo(self) -> str:
        done = corrected.undo(self._project)
        if done.name not in self._names:
            self._names.insert(self._at, done.name)
        return done.said

    def _decide(self, card: Card, pressed: str) -> str:
        action: Action = next(one for one, key in queue.KEYS.items() if key == pressed)
        text = ""
        if queue.needs_text(action):
            text = terminal.edit(card.text if action == "edit" else _draft_merge(card)) or ""
            if card.copies:
                text = "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()
            if not text:
                return "nothing was written, so nothing is changed"
        return corrected.decide(self._project, card.name, action, was=card.version, text=text).said


def _list_more(card: Card) -> dict[str, str]:
    is_learned = card.proposal is not None and bool(card.proposal.memory.source_session_id)
    return {**_MORE, **(_OF_COPIES if card.copies else {}), **(_OF_SESSIONS if is_learned else {})}


def _draft_merge(card: Card) -> str:
    if not card.copies:
        return f"{card.other}\n{card.text}"
    notes = "".join(f"# {render.one_line(copy.entry.content)}\n" for copy in card.copies)
    return f"{card.text}\n\n# These are dropped; lines that begin with # do not count:\n{notes}"


@command(janitor, "review")
def review_copies(project: Project, /) -> Answer | None:
    """Go through likely copies, memories that may say the same: one key a group.

    b keeps the first and drops the others, a keeps all and asks no more, m lets
    you edit the text that is kept, h puts another one first, s leaves the group
    for later, u takes the last key back, q stops. "lost" is what only a dropped
    text has. A private memory may be dropped for a copy in the project, never
    the other way round. It is the same as `memsync review --kind copies`.

    \b
    Examples:
      memsync janitor review
      memsync janitor review --json
    """
    return _go_through(project, queue.COPIES)


@memory.group()
def dedup() -> None:
    """See, confirm and reverse what dedup decided."""


@command(dedup)
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--decision", metavar="NAME", help=f"Only these: {', '.join(DECISIONS)}.")
@click.option(
    "--status", type=click.Choice(["unreviewed", "confirmed", "reversed"]), help="Only with this review status."
)
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
    yield f"    {words[1]} {short_id(said.existing_id)}: {render.one_line(mark_text(row.kept_text(), row.scope))}"


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
    made = f": {render.entry_line(result.entry, project.clock())}" if result.entry else ""
    return Answer(result, f"{result.reason}{made}")


def _mark_differences(one: tuple[str, str], two: tuple[str, str]) -> list[str]:
    """Return both texts, each with its name before it, on a line each, with what only one of them has marked."""
    pieces = compare(render.one_line(one[1]), render.one_line(two[1]))
    width = max(len(one[0]), len(two[0])) + 2
    lines = []
    for (name, _), mark, colour in ((one, "-", "red"), (two, "+", "green")):
        shown = (click.style(t, fg=colour, bold=True) if m == mark else t for m, t in pieces if m in (" ", mark))
        lines.append(f"  {f'{name}:':{width}}{''.join(shown)}")
    return lines
