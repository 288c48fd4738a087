"""The page *Review*: the queue, one card of it, and what each key would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from memsync.errors import MemsyncError, NoHistory
from memsync.git import history
from memsync.janitor import deciding, queue
from memsync.janitor.queue import Action, Card
from memsync.janitor.waiting import Waiting, find_card
from memsync.memories import anchors
from memsync.memories.events import files_of, lines_known, read_live
from memsync.memories.project import Project
from memsync.setup import corrected
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo

routes = Routes()
_ROWS: Final = 9  # of the queue beside a card
_GROUPED: Final = 2_000  # cards that are looked at for groups
_GROUPS: Final = 8  # of one kind
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
    """Return the card that is asked for, else the first of those that are."""
    return _page(waiting, project, given.get("at"), _read_asked(given))


def _read_asked(given: Given) -> dict[str, str]:
    """Return which cards are asked for: of a kind, an author, a file, or what a commit brought."""
    said = {name: given.get(name) for name in ("author", "file", "commit")}
    return {"kind": given.get("kind"), **{name: value for name, value in said.items() if value}}


def _page(
    waiting: Waiting, project: Project, at: str, asked: Mapping[str, str], said: str = "", error: Exception | str = ""
) -> Page:
    everything, kind = waiting.names(project), asked["kind"]
    names = waiting.names(project, kind) if kind == queue.COPIES else _choose(project, everything, asked)
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
        "asked_for": asked,
        "narrow": ", ".join(value for name, value in asked.items() if name != "kind"),
        "before": link_to_card(names[number - 1], asked) if number > 0 else "",
        "after": link_to_card(names[number + 1], asked) if number + 1 < len(names) else "",
        "head": link_to_card(queue.turn(project, card), asked) if card and card.copies else "",
        "is_reading": waiting.is_reading,
        "can_undo": deciding.can_undo(project),
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
        view |= {"usual": queue.USUAL.get(card.kind), "what": _WORDS[card.kind]}
        first = max(0, min(number - 2, len(names) - _ROWS))
        view["queue"] = [*_list_rows(project, names[first : first + _ROWS], card, asked)]
        view["left"] = max(0, len(names) - first - _ROWS)
        view["groups"] = [*_list_groups(project, names, asked)]
        is_known = kind == "new" or card.kind == "new" == everything[0].partition(":")[0]
        view["alike"] = len(names) if is_known and len(names) > 1 else 0
    return Page("review.html", view, error)


def _choose(project: Project, names: Sequence[str], asked: Mapping[str, str]) -> list[str]:
    """Return those of *names* that are *asked* for; what is about no stored memory has no author, file or commit."""
    chosen = [name for name in names if asked["kind"] in ("", name.partition(":")[0])]
    if len(asked) == 1:
        return chosen
    author, file, commit = (asked.get(name, "") for name in ("author", "file", "commit"))
    brought = _list_brought(project, commit) if commit else ()
    found = ((name, queue.find_memory(project, name)) for name in chosen)
    return [
        name
        for name, memory in found
        if memory
        and author in ("", memory.author)
        and (not file or any(anchors.parse(one).path.startswith(file) for one in memory.anchors))
        and (not commit or memory.id in brought)
    ]


def _list_brought(project: Project, commit: str) -> set[str]:
    """Return the ids of what *commit* added or changed, against its first parent.

    Raises:
        NoHistory: there is no such commit.
    """
    files, known, before = files_of(project), lines_known(project), {}
    after = read_live(files.root, files.path, history.resolve(files.root, commit).id, known)
    with suppress(NoHistory):  # the first commit has no parent
        before = read_live(files.root, files.path, history.resolve(files.root, f"{commit}~").id, known)
    return {id_ for id_, line in after.items() if id_ not in before or before[id_].raw != line.raw}


def _list_rows(
    project: Project, names: Sequence[str], shown: Card, asked: Mapping[str, str]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield of each card of the queue its address, what it is, its text, and whether it is the one that is shown."""
    for name in names:
        is_shown = queue.is_same(name, shown.name)
        if card := shown if is_shown else queue.read_card(project, name):
            text = card.why if card.kind == "skill" else card.text  # which is a patch
            yield link_to_card(name, asked), _WORDS[card.kind], text, is_shown


def _list_groups(
    project: Project, names: Sequence[str], asked: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str, int]]]]:
    """Yield by what the cards can be narrowed, and to which: the value, its address, and how many there are."""
    memories = [memory for name in names[:_GROUPED] if (memory := queue.find_memory(project, name))]
    files = (anchors.parse(one).path for memory in memories for one in memory.anchors[:1])
    for by, values in (("author", (memory.author for memory in memories)), ("file", files)):
        if by not in asked and (counts := Counter(filter(None, values))):
            choices = counts.most_common(_GROUPS)
            yield by, [(one, pages.address("/review", {**asked, by: one}), count) for one, count in choices]


def link_to_card(name: str, asked: Mapping[str, str]) -> str:
    """Return the address of the card *name* among those that are *asked* for."""
    return pages.address("/review", {"at": name, **{one: value for one, value in asked.items() if value}})


@routes.writes("/review/decide", Waiting)
def decide(waiting: Waiting, project: Project, given: Given) -> Done | Page:
    """Do what somebody chose about the card that was on the screen, and go on to the next."""
    name, asked = given.raw("name"), _read_asked(given)
    action: Action | None = next((one for one in queue.KEYS if one == given.get("action")), None)
    names = _choose(project, waiting.names(project, asked["kind"]), asked)
    at = next((number for number, one in enumerate(names) if queue.is_same(one, name)), 0)
    text = given.raw("text")
    try:
        done = corrected.decide(project, name, action or "approve", was=given.get("was"), text=text)
    except MemsyncError as error:
        return _page(waiting, project, name, asked, text, error)
    waiting.drop(project, name)
    following = [*names[at + 1 :], *names[:at]]
    url = link_to_card(following[0], asked) if following else "/review"
    words = ["--text", "-"] if queue.needs_text(done.action) else []
    words += ["--yes"] if name.startswith(("flagged:", "rule:")) and done.action == "approve" else []
    command = pages.command("review", f"--{done.action}", *words, "--", name)
    return Done(done.said, url, [command], Undo("/review/undo", {**asked, "card": name}))


@routes.writes("/review/known", Waiting)
def take_as_known(waiting: Waiting, project: Project, given: Given) -> Done:
    """Take as known all that is new among the cards that are asked for."""
    asked = {**_read_asked(given), "kind": "new"}
    names = _choose(project, waiting.names(project), asked)
    done = deciding.take_as_known(project, names)
    for name in names:
        waiting.drop(project, name)
    commands = [pages.command("review", "--approve", "--", name) for name in names]
    return Done(done.said, "/review", commands, Undo("/review/undo", {**asked, "card": done.name}))


@routes.writes("/review/undo", Waiting)
def undo(waiting: Waiting, project: Project, given: Given) -> Done:
    """Take back the last decision, if it is the one that the form was made for, and show its card again."""
    done = corrected.undo(project, given.raw("card"))
    waiting.put_back(project, done.name)
    return Done(done.said, link_to_card(done.name, _read_asked(given)), [pages.command("review", "--undo")])
