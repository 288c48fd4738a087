"""The page *Review*: one card of the queue at a time, with what each key would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from memsync.errors import MemsyncError
from memsync.janitor import queue
from memsync.janitor.queue import Action
from memsync.janitor.waiting import Waiting, find_card
from memsync.memories.project import Project
from memsync.setup import corrected
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo

routes = Routes()
_WORDS: Final = {
    "secret": "Secrets",
    "flagged": "Read like orders",
    "rule": "Rules that may ask",
    "conflict": "Conflicts",
    "contradiction": "Contradictions",
    "candidate": "Learned",
    "skill": "Skills learned",
    "rejection": "Left out as copies",
    "stale": "Out of date",
    "ignored": "Not heeded",
    "new": "Brought by others",
    "copies": "Copies",
}


def name_kind(kind: str) -> str:
    """Return what people call the cards of *kind*."""
    return _WORDS[kind]


@routes.reads("/review", Waiting)
def show(waiting: Waiting, project: Project, given: Given) -> Page:
    """Return the card that is asked for, else the first of its kind or of all."""
    return _page(waiting, project, given.get("at"), given.get("kind"))


def _page(waiting: Waiting, project: Project, at: str, kind: str, said: str = "", error: Exception | str = "") -> Page:
    everything = waiting.names(project)
    names = waiting.names(project, kind) if kind == queue.COPIES else _choose(everything, kind)
    start = next((number for number, name in enumerate(names) if queue.is_same(name, at)), -1)
    if at and start < 0 and queue.read_card(project, at):  # not met yet, while the others are still read
        names, start = [at, *names], 0
    number, card = find_card(project, names, max(start, 0), at if start >= 0 else "")
    counts = {**Counter(name.partition(":")[0] for name in everything), queue.COPIES: ""}
    counts |= {queue.COPIES: len(names)} if kind == queue.COPIES else {}
    view: dict[str, Any] = {
        "card": card,
        "number": number + 1,
        "total": len(names),
        "kinds": [(one, _WORDS[one], count) for one, count in counts.items()],
        "kind": kind,
        "before": link_to_card(names[number - 1], kind) if number > 0 else "",
        "after": link_to_card(names[number + 1], kind) if number + 1 < len(names) else "",
        "head": link_to_card(queue.turn(project, card), kind) if card and card.copies else "",
        "is_reading": waiting.is_reading,
        "seconds": waiting.seconds if kind == queue.COPIES else None,
        "failure": waiting.failure if kind == queue.COPIES else None,
    }
    if card:
        both = [card.text, *(copy.entry.content for copy in card.copies)] if card.copies else [card.other, card.text]
        view["draft"] = {"edit": said or card.text, "merge": said or "\n".join(both)}
        view["actions"] = [
            (one, queue.name_action(card.kind, one), queue.KEYS[one], what, queue.needs_text(one))
            for one, what in sorted(card.actions.items(), key=lambda each: each[0] != queue.USUAL.get(card.kind))
        ]
        view["usual"] = queue.USUAL.get(card.kind)
    return Page("review.html", view, error)


def _choose(names: Sequence[str], kind: str) -> list[str]:
    return [name for name in names if kind in ("", name.partition(":")[0])]


def link_to_card(name: str, kind: str) -> str:
    """Return the address of the card *name* among those of *kind*, of all without one."""
    return pages.address("/review", {"at": name, **({"kind": kind} if kind else {})})


@routes.writes("/review/decide", Waiting)
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
        return _page(waiting, project, name, kind, text, error)
    waiting.drop(project, name)
    following = [*names[at + 1 :], *names[:at]]
    url = link_to_card(following[0], kind) if following else "/review"
    words = ["--text", "-"] if queue.needs_text(done.action) else []
    words += ["--yes"] if name.startswith(("flagged:", "rule:")) and done.action == "approve" else []
    command = pages.command("review", f"--{done.action}", *words, "--", name)
    return Done(done.said, url, [command], Undo("/review/undo", {"kind": kind, "card": name}))


@routes.writes("/review/undo", Waiting)
def undo(waiting: Waiting, project: Project, given: Given) -> Done:
    """Take back the last decision, if it is the one that the form was made for, and show its card again."""
    done = corrected.undo(project, given.raw("card"))
    waiting.put_back(project, done.name)
    return Done(done.said, link_to_card(done.name, given.get("kind")), [pages.command("review", "--undo")])
