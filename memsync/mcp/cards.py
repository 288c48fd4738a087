"""The card that clients with MCP Apps show beside an answer: why it was found, what the session was given, what waits.

Its page is ours alone, and nothing but our own script runs in it; what memories
say comes as data. The tools that it calls are for it and not for a model: they
are listed for a client that shows cards, which keeps them from its model.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from mcp.server.apps import Apps
from pydantic import Field

from memsync.agents.sessions import find_session, list_sessions
from memsync.errors import MemsyncError, Remedy, UsageError
from memsync.janitor import queue
from memsync.janitor.queue import Action, Card
from memsync.janitor.waiting import Waiting, find_card
from memsync.mcp.early import CARD
from memsync.mcp.tool import COUNT, READ, Offer
from memsync.memories.project import Project
from memsync.safety.guard import quoted_lines
from memsync.safety.secrets import redact
from memsync.setup import corrected

_PARTS: Final = Path(__file__).with_name("card")
_EVENTS: Final = 100
Choice = Literal[Action, "undo"]


def make_apps() -> Apps:
    """Return the extension, with the page of the card."""
    apps = Apps()
    apps.add_html_resource(
        CARD,
        _make_page(),
        name="card",
        title="Why this was recalled, and what waits for a decision",
        prefers_border=True,
    )
    return apps


@cache
def _make_page() -> str:
    """Return the page, which says itself that no other script or style counts, whatever the client would let run."""
    style, script = ((_PARTS / name).read_text(encoding="utf-8") for name in ("card.css", "card.js"))
    policy = (
        f"default-src 'none'; script-src {_spell_hash(script)}; style-src {_spell_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width"><title>memsync</title>'
        f"<style>{style}</style></head><body><main></main><script>{script}</script></body></html>"
    )


def _spell_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def make_offers() -> tuple[Offer, ...]:
    """Return the tools of the card; what waits is kept from one call to the next."""
    waiting = Waiting()

    def review_card(
        project: Project,
        at: Annotated[str, Field(description="The name of a card.")] = "",
        action: Annotated[Choice | None, Field(description="What the user chose.")] = None,
        was: Annotated[str, Field(description="The version of the card that was shown.")] = "",
        text: Annotated[str, Field(description="What the user typed.")] = "",
    ) -> Mapping[str, Any]:
        """Show a card of the queue to the user, or do what the user chose about the one that was shown."""
        return _answer(waiting, project, at, action, was, text)

    return (
        Offer("review", review_card, "Review", COUNT, for_card=True),
        Offer("sessions", session_card, "This session", READ, for_card=True),
    )


def _answer(
    waiting: Waiting, project: Project, at: str, action: Choice | None, was: str, text: str
) -> Mapping[str, Any]:
    said, failed, following = "", False, at
    try:
        if action == "undo":
            done = corrected.undo(project)
            waiting.put_back(project, done.name)
            said, following = done.said, done.name
        elif action:
            if (card := queue.read_card(project, at)) and queue.needs_person(card, action):
                raise UsageError("a client cannot show who approves this: ", Remedy("review"), " asks in a terminal")
            names = waiting.names(project)
            place = names.index(at) if at in names else -1
            said = corrected.decide(project, at, action, was=was, text=text).said
            waiting.drop(project, at)
            following = next(iter(names[place + 1 :]), "")
    except MemsyncError as error:
        said, failed = str(error), True
    return {"said": said, "failed": failed, **_find(waiting, project, following)}


def _find(waiting: Waiting, project: Project, at: str) -> Mapping[str, Any]:
    """Return the card *at*, else the first that still waits, and those beside it."""
    names = waiting.names(project)
    start = names.index(at) if at in names else 0
    number, card = find_card(project, names, start)
    return {
        "number": number + 1,
        "total": len(names),
        "is_reading": waiting.is_reading,
        "before": names[number - 1] if card and number else "",
        "after": names[number + 1] if card and number + 1 < len(names) else "",
        "card": _describe(project, card) if card else None,
    }


def _describe(project: Project, card: Card) -> Mapping[str, Any]:
    drafts = {"edit": card.text, "merge": f"{card.other}\n{card.text}"}
    is_plain = partial(_is_plain, project)
    return {
        "name": card.name,
        "was": card.version,
        "kind": card.kind,
        "why": card.why,
        "text": card.text,
        "other": card.other,
        "copies": [{"text": copy.entry.content, "lost": "; ".join(copy.lost)} for copy in card.copies],
        "actions": {
            action: {
                "key": queue.KEYS[action],
                "does": what,
                **({"draft": drafts[action]} if queue.needs_text(action) else {}),
            }
            for action, what in card.actions.items()
            if not queue.needs_person(card, action) and (not queue.needs_text(action) or is_plain(drafts[action]))
        },
    }


def _is_plain(project: Project, text: str) -> bool:
    """Tell whether *text* arrives as it is: a draft that was quoted on its way would be written so."""
    return quoted_lines(redact(text, project.vetting.allowed)) == text


def session_card(project: Project) -> Mapping[str, Any]:
    """Show the user what this session was given, recalled and stored, and why."""
    project.journal.write()  # what was recalled just now
    try:
        one = find_session(list_sessions(project), project.journal.session_id or "")
    except MemsyncError:
        return {"said": "nothing was given to this session, as far as is known", "events": []}
    events = [
        {"at": each.at, "what": each.what, "why": each.why, "text": each.content or each.id} for each in one.events
    ]
    said = f"{one.client or 'this session'}: about {one.tokens} tokens were added by hooks"
    return {"said": said, "events": events[-_EVENTS:][::-1]}
