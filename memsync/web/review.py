"""The page *Review*: one card of the queue at a time, with what each key would do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final
from urllib.parse import urlencode

from memsync.errors import MemsyncError
from memsync.janitor import deciding, queue
from memsync.janitor.queue import Action, Card
from memsync.memories.project import Project
from memsync.store.files import stamp
from memsync.web import spell
from memsync.web.desk import Done, Given, Page, Undo, status_of
from memsync.web.memories import link_to

_FRESH: Final = 30.0  # seconds after which the files that memories speak of are looked at again
_WORDS: Final = {
    "secret": "Secrets",
    "flagged": "Read like orders",
    "conflict": "Conflicts",
    "candidate": "Learned",
    "skill": "Skills learned",
    "rejection": "Left out as copies",
    "stale": "Out of date",
    "new": "Brought by others",
}


class Waiting:
    """The names of the cards that wait, collected again when a file that they come from has changed."""

    def __init__(self) -> None:
        self._seen: Hashable = None
        self._until = 0.0
        self._names: list[str] = []

    def names(self, project: Project) -> list[str]:
        """Return the names; some may be decided by now."""
        if self._seen != (seen := _look(project)) or time.monotonic() > self._until:
            self._names = queue.list_names(project)
            self._seen, self._until = seen, time.monotonic() + _FRESH
        return self._names

    def drop(self, project: Project, name: str) -> None:
        """Take out a card that was decided here, without collecting the others again."""
        self._names = [one for one in self._names if one != name]
        self._seen = _look(project)


def _look(project: Project) -> Hashable:
    project.journal.write()
    found = []
    for store in project.stores.values():
        local = store.place.local
        names = ("candidates/memories.jsonl", "candidates/skills", "state.db", "state.db-wal")
        found.append((store.look(), *(stamp(local / name) for name in names)))
    return tuple(found)


def show(waiting: Waiting, project: Project, given: Given) -> Page:
    """Return the card that is asked for, else the first of its kind or of all."""
    return _page(waiting, project, given.get("at"), given.get("kind"))


def _page(
    waiting: Waiting, project: Project, at: str, kind: str, error: str = "", said: str = "", status: int = 200
) -> Page:
    everything = waiting.names(project)
    names = [name for name in everything if kind in ("", name.partition(":")[0])]
    card, number = _find_card(project, names, at)
    counts = Counter(name.partition(":")[0] for name in everything)
    view = {
        "card": card,
        "number": number + 1,
        "total": len(names),
        "kinds": [(one, _WORDS[one], count) for one, count in counts.items()],
        "kind": kind,
        "before": _link(names[number - 1], kind) if number > 0 else "",
        "after": _link(names[number + 1], kind) if number + 1 < len(names) else "",
        "actions": [(one, queue.KEYS[one], what, queue.needs_text(one)) for one, what in card.actions.items()]
        if card
        else [],
        "draft": {"edit": said or card.text, "merge": said or f"{card.other}\n{card.text}"} if card else {},
        "subject": link_to(card.subject) if card and card.subject else "",
        "neighbour": link_to(card.neighbour) if card and card.neighbour else "",
        "error": error,
    }
    return Page("review.html", view, status)


def _link(name: str, kind: str) -> str:
    return f"/review?{urlencode({'at': name, **({'kind': kind} if kind else {})})}"


def _find_card(project: Project, names: Sequence[str], at: str) -> tuple[Card | None, int]:
    """Return the card *at*, else the first that still waits, and its place among *names*."""
    start = names.index(at) if at in names else 0
    for number in (*range(start, len(names)), *range(start)):
        if card := queue.read_card(project, names[number]):
            return card, number
    return None, 0


def decide(waiting: Waiting, project: Project, given: Given) -> Done | Page:
    """Do what somebody chose about the card that was on the screen, and go on to the next."""
    name, kind = given.raw("name"), given.get("kind")
    action: Action | None = next((one for one in queue.KEYS if one == given.get("action")), None)
    names = [one for one in waiting.names(project) if kind in ("", one.partition(":")[0])]
    at = names.index(name) if name in names else 0
    text = given.raw("text")
    try:
        done = deciding.decide(project, name, action or "approve", was=given.get("was"), text=text)
    except MemsyncError as error:
        return _page(waiting, project, name, kind, str(error), text, status_of(error))
    waiting.drop(project, name)
    following = [*names[at + 1 :], *names[:at]]
    url = _link(following[0], kind) if following else "/review"
    return Done(done.said, url, [_spell(name, done.action)], Undo("/review/undo", {"kind": kind}))


def _spell(name: str, action: Action) -> str:
    words = ["--text", "-"] if queue.needs_text(action) else []
    words += ["--yes"] if name.startswith("flagged:") and action == "approve" else []
    return spell.command("review", f"--{action}", *words, "--", name)


def undo(project: Project, given: Given) -> Done:
    """Take back the last decision, and show its card again."""
    done = deciding.undo(project)
    return Done(done.said, _link(done.name, given.get("kind")), [spell.command("review", "--undo")])
