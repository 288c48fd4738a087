"""`memsync review`: the queue of what a person should decide, by single keys, or one decision by options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, cli, command, wants_json
from memsync.cli.consent import require_person
from memsync.cli.keys import keys, mark_differences
from memsync.cli.memory import read_text
from memsync.errors import MemsyncError, UsageError
from memsync.format.scopes import mark_text
from memsync.janitor import queue
from memsync.janitor.batches import describe, list_records, spell
from memsync.janitor.queue import Action, Card, Copy
from memsync.memories.project import Project
from memsync.setup import corrected

_MORE: Final = {"j": "next", "k": "before", "u": "undo", "q": "quit"}
_OF_COPIES: Final = {"h": "another first", "s": "later"}
_OF_PERSONS: Final = ("flagged", "rule", "candidate", "skill")  # what waits for approval
_END: Final = ("q", "\x04", "\x03", "")


@command(cli, is_quiet=True)
@click.argument("name", required=False)
@click.option(
    "--kind", type=click.Choice([*queue.KINDS, queue.COPIES]), help="Only these; copies are looked for only so."
)
@click.option("--approve", "action", flag_value="approve", help="Approve the card NAME.")
@click.option("--edit", "action", flag_value="edit", help="Approve it in other words (--text).")
@click.option("--best", "action", flag_value="best", help="Of copies: keep the first, drop the others.")
@click.option("--merge", "action", flag_value="merge", help="Make one text of both (--text).")
@click.option("--supersede", "action", flag_value="supersede", help="Let it stand for the other.")
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
    """Decide what waits for you: learned, doubted, out of date, brought by others.

    One card at a time, one key each: a approve, e edit, m merge, s supersede,
    p private, x reject; j and k go on and back, u takes back, q stops. Of copies
    b keeps the best, a all, h puts another one first, s leaves them for later.
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
    if wants_json() or not sys.stdin.isatty():
        cards = [card for one in list_names(project, kind) if (card := queue.read_card(project, one))]
        return Answer({"count": len(cards), "cards": [_as_dict(card) for card in cards]}, _list_cards(cards))
    require_person(project, "decide what waits for review")
    Round(project, list_names(project, kind)).go()
    return None


def list_names(project: Project, kind: str | None) -> list[str]:
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
    return {
        "name": card.name,
        "kind": card.kind,
        "scope": card.scope,
        "why": card.why,
        "text": card.text,
        "other": card.other,
        **({"copies": [_describe_copy(copy) for copy in card.copies]} if card.copies else {}),
        "actions": card.actions,
    }


def _describe_copy(copy: Copy) -> dict[str, object]:
    entry = copy.entry
    return {"id": entry.id, "scope": entry.scope, "text": entry.content, "lost": list(copy.lost)}


def _list_cards(cards: list[Card]) -> str:
    rows = [
        terminal.flow(
            render.one_line(card.name),
            f"{render.one_line(card.why)}: {render.one_line(mark_text(card.text, card.scope))}",
        )
        for card in cards
    ]
    return "\n".join(rows) or "nothing waits for a decision"


class Round:
    """One sitting at a terminal: where in the queue it is."""

    def __init__(self, project: Project, names: list[str]) -> None:
        self._project = project
        self._names = names
        self._at = 0

    def go(self) -> None:
        """Show card after card until all are decided or somebody stops."""
        with keys() as key:
            while card := self._read_card():
                self._show(card)
                if (pressed := self._press(card, key)) in _END:
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
            for line in mark_differences(("in question", card.text), ("stored", card.other)):
                click.echo(line)
        else:
            click.echo(render.printable(card.text))
        for action, what in card.actions.items():
            click.echo(f"  {click.style(queue.KEYS[action], fg='yellow')} {action}: {what}")
        click.echo(f"  {' '.join(f'{one} {what}' for one, what in _list_more(card).items())} ", nl=False)

    def _press(self, card: Card, key: Callable[[], str]) -> str:
        wanted = {*(queue.KEYS[action] for action in card.actions), *_list_more(card), *_END}
        while (pressed := key().lower()) not in wanted:
            pass
        click.echo(pressed if pressed.isalpha() else "q")
        return pressed

    def _act(self, card: Card, pressed: str) -> None:
        if pressed in ("j", "k") or (card.copies and pressed in _OF_COPIES):
            self._at += {"k": -1, "h": 0}.get(pressed, 1)
            if pressed == "h":
                self._names[self._at] = queue.turn(self._project, card)
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
            draft = card.text if action == "edit" else _draft_merge(card)
            if (text := _strip_notes(terminal.edit(draft) or "", card)) == "":
                return "nothing was written, so nothing is changed"
        return corrected.decide(self._project, card.name, action, was=card.version, text=text).said


def _list_more(card: Card) -> dict[str, str]:
    return {**_MORE, **_OF_COPIES} if card.copies else dict(_MORE)


_DROPPED: Final = "# These are dropped; lines that begin with # do not count:"


def _draft_merge(card: Card) -> str:
    if not card.copies:
        return f"{card.other}\n{card.text}"
    notes = "".join(f"# {render.one_line(copy.entry.content)}\n" for copy in card.copies)
    return f"{card.text}\n\n{_DROPPED}\n{notes}"


def _strip_notes(text: str, card: Card) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip() if card.copies else text
