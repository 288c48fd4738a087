"""The page *Review*: one card of the queue at a time, with what each key would do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final
from urllib.parse import urlencode

from memsync.errors import MemsyncError
from memsync.janitor import queue
from memsync.janitor.queue import Action, Card
from memsync.memories.project import Project
from memsync.setup import corrected
from memsync.store.files import stamp
from memsync.web import spell
from memsync.web.desk import Done, Given, Page, Undo, status_of
from memsync.web.memories import link_to

_SLICE: Final = 0.25  # seconds of collecting for one page
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
    "copies": "Copies",
}


class Waiting:
    """The names of the cards that wait, collected again when a file that they come from has changed.

    That goes on for as long as a page may take, and with the next page from there: what no process has screened yet
    takes a while. Copies are looked for when they are asked for.
    """

    def __init__(self) -> None:
        self._seen: Hashable = None
        self._until = 0.0
        self._walk: Iterator[list[str]] | None = None
        self._found: list[str] = []  # by the present walk
        self._names: list[str] = []  # by the one before it
        self._took = 0.0
        self._copies: tuple[Hashable, list[str]] = (None, [])

    @property
    def is_reading(self) -> bool:
        """Whether more may come."""
        return self._walk is not None

    def names(self, project: Project, kind: str = "") -> list[str]:
        """Return the names, as far as they are known; some may be decided by now."""
        seen = _look(project)
        if kind == queue.COPIES:
            if self._copies[0] != seen:
                self._copies = seen, queue.list_copies(project)
            return self._copies[1]
        if self._walk is None and (self._seen != seen or time.monotonic() > self._until):
            self._walk, self._found, self._took, self._seen = queue.walk(project), [], 0.0, seen
        if self._walk is not None:
            self._go_on(project, self._walk)
        return queue.sort_names([*self._found, *self._names])

    def _go_on(self, project: Project, walk: Iterator[list[str]]) -> None:
        began = time.monotonic()
        try:
            names = next(walk, None)
            while names is not None and time.monotonic() - began <= _SLICE:
                self._found += names
                names = next(walk, None)
            self._found += names or []
        except BaseException:  # a store that cannot be read: begin anew once it can
            self._walk = self._seen = None
            raise
        if names is None:
            self._walk, self._names, self._found = None, self._found, []
            project.screening.save()  # what has changed since this walk began is found by the next one
        self._took += time.monotonic() - began
        self._until = time.monotonic() + max(_FRESH, 20 * self._took)

    def drop(self, project: Project, name: str) -> None:
        """Take out a card that was decided here, without collecting the others again."""
        self._names = [one for one in self._names if one != name]
        self._found = [one for one in self._found if one != name]
        now = _look(project)
        self._seen = now if self._walk is None else self._seen
        self._copies = now, [one for one in self._copies[1] if not queue.is_same(one, name)]

    def put_back(self, project: Project, name: str) -> None:
        """Have a card again whose decision was taken back: no search proposes copies whose merge was undone."""
        if name.startswith(queue.COPIES):
            self._copies = _look(project), [name, *self._copies[1]]


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
    names = waiting.names(project, kind) if kind == queue.COPIES else _choose(everything, kind)
    card, number = _find_card(project, names, at)
    counts = {**Counter(name.partition(":")[0] for name in everything), queue.COPIES: ""}
    counts |= {queue.COPIES: len(names)} if kind == queue.COPIES else {}
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
        "draft": {"edit": said or card.text, "merge": said or _draft_merge(card)} if card else {},
        "head": _link(queue.turn(project, card), kind) if card and card.copies else "",
        "is_reading": waiting.is_reading,
        "subject": link_to(card.subject) if card and card.subject else "",
        "neighbour": link_to(card.neighbour) if card and card.neighbour else "",
        "error": error,
    }
    return Page("review.html", view, status)


def _choose(names: Sequence[str], kind: str) -> list[str]:
    return [name for name in names if kind in ("", name.partition(":")[0])]


def _draft_merge(card: Card) -> str:
    return "\n".join(
        [card.text, *(copy.entry.content for copy in card.copies)] if card.copies else [card.other, card.text]
    )


def _link(name: str, kind: str) -> str:
    return f"/review?{urlencode({'at': name, **({'kind': kind} if kind else {})})}"


def _find_card(project: Project, names: Sequence[str], at: str) -> tuple[Card | None, int]:
    """Return the card *at*, else the first that still waits, and its place among *names*."""
    start = next((number for number, name in enumerate(names) if queue.is_same(name, at)), -1)
    asked = {start: at} if start >= 0 else {}  # of copies, with the one first that was asked for
    start = max(start, 0)
    for number in (*range(start, len(names)), *range(start)):
        if card := queue.read_card(project, asked.get(number, names[number])):
            return card, number
    return None, 0


def decide(waiting: Waiting, project: Project, given: Given) -> Done | Page:
    """Do what somebody chose about the card that was on the screen, and go on to the next."""
    name, kind = given.raw("name"), given.get("kind")
    action: Action | None = next((one for one in queue.KEYS if one == given.get("action")), None)
    names = _choose(waiting.names(project, kind), kind)
    at = next((number for number, one in enumerate(names) if queue.is_same(one, name)), 0)
    text = given.raw("text")
    try:
        done = corrected.decide(project, name, action or "approve", was=given.get("was"), text=text)
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


def undo(waiting: Waiting, project: Project, given: Given) -> Done:
    """Take back the last decision, and show its card again."""
    done = corrected.undo(project)
    waiting.put_back(project, done.name)
    return Done(done.said, _link(done.name, given.get("kind")), [spell.command("review", "--undo")])
