"""Which sessions there were, and what each was given, and why: from the log of the hooks, and the notes on use."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memsync.agents import hooklog
from memsync.agents.explain import MEANINGS
from memsync.agents.notes import scope_of
from memsync.errors import MemsyncError, Remedy
from memsync.format.scopes import mark_text
from memsync.memories.project import Project
from memsync.skills.store import list_anchored
from memsync.store.state import OUTCOMES
from memsync.system.limits import list_only

_DONE: Final = {
    "accessed": ("recalled", "the agent asked"),
    "created": ("stored", "the agent stored it"),
    "updated": ("changed", "the agent changed it"),
    "injected": ("given", "no longer in the log of the hooks"),
    **{verdict: (verdict, "no longer in the log of the hooks") for verdict in OUTCOMES},
    "shown": ("named", "no longer in the log of the hooks"),
}
_MOST: Final = 1 << 24  # characters that a hook may have added, as far as that is believed
_STARTS: Final = {
    "compact": "it was needed after a compaction, or is among the most important",
    "resume": "the client had lost what it was given",
    "clear": "it is among the most important, and the context was cleared",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened: a memory was given, also as the reason for which a call was refused, recalled, stored or changed, or nothing was given; and why."""

    at: str
    what: str
    why: str
    id: str = ""
    content: str | None = None  # marked with its scope, unless it is the project's
    turn: int = 0  # after the how manieth prompt; 0 before the first one


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of an agent, a subagent's behind its parent's id; `events` in the order of time.

    `chars` is what hooks added to its context, as far as their log goes back.
    """

    id: str
    client: str
    events: tuple[Event, ...]
    chars: int = 0

    def count(self, what: str) -> int:
        """Return how many memories were given, recalled, stored or changed."""
        return len({event.id for event in self.events if event.what == what})

    @property
    def silent(self) -> int:
        """How many starts and prompts were given nothing."""
        return sum(event.what == "nothing" for event in self.events)

    @property
    def tokens(self) -> int:
        """About how many tokens that is, at four characters each."""
        return -(-self.chars // 4)

    def summary(self) -> dict[str, Any]:
        """Return the session without its events."""
        counts = {what: self.count(what) for what, _ in _DONE.values()}
        return {
            "id": self.id,
            "client": self.client,
            "began_at": self.events[0].at,
            "last_at": self.events[-1].at,
            "tokens": self.tokens,
        } | counts


def list_sessions(project: Project) -> list[Session]:
    """Return the sessions that something is known of, the latest first. Local: this machine's, and not forever."""
    project.stores.refresh()
    contents = {
        one.id: mark_text(one.content, scope)
        for scope, store in project.stores.items()
        for one in (*store.memories().values(), *(each.memory for each in list_anchored(store.place)))
    }
    found: dict[str, list[Event]] = {}
    clients: dict[str, str] = {}
    chars: Counter[str] = Counter()
    prompts: dict[str, list[str]] = {}  # when each was asked
    for note in hooklog.read(project.layout, scope_of(project.layout, project.settings)):
        if id_ := str(note.get("session") or ""):
            clients[id_] = str(note.get("client") or "")
            chars[id_] += size if isinstance(size := note.get("chars"), int) and 0 <= size < _MOST else 0
            found.setdefault(id_, []).extend(_list_given(note, contents))
            prompts.setdefault(id_, []).extend([str(note.get("at"))] if note.get("event") == "prompt" else [])
    for scope in sorted(project.stores, key="global".__eq__):
        for id_, memory, action, at in project.state(scope).session_uses():
            if scope == "global" and id_ not in found:
                continue  # a session of another repository, which was given a memory of all projects
            known = found.setdefault(id_, [])
            what, why = _DONE[action]
            is_logged = any(event.id == memory and (action not in OUTCOMES or event.what == what) for event in known)
            if not (is_logged and action in ("injected", "shown", *OUTCOMES)):
                known.append(Event(at=at, what=what, why=why, id=memory, content=contents.get(memory)))
    sessions = [
        Session(
            id=id_, client=clients.get(id_, ""), events=_order(events, sorted(prompts.get(id_, ()))), chars=chars[id_]
        )
        for id_, events in found.items()
        if events
    ]
    return sorted(sessions, key=lambda session: session.events[-1].at, reverse=True)


def _order(events: Iterable[Event], prompts: Sequence[str]) -> tuple[Event, ...]:
    """Return *events* in the order of time, each with its turn: *prompts* are the times at which one was asked."""
    return tuple(
        replace(event, turn=bisect_right(prompts, event.at)) for event in sorted(events, key=lambda event: event.at)
    )


def find_session(sessions: Iterable[Session], ref: str) -> Session:
    """Return the session whose id is *ref* or alone begins with it; of "" the latest.

    Raises:
        MemsyncError: there is none, or more than one.
    """
    near = [one for one in sessions if one.id.startswith(ref)]
    exact = [one for one in near if one.id == ref] or (near[:1] if not ref else near)
    if len(exact) != 1:
        what = (
            f"{len(near)} sessions begin with {ref!r}"
            if near
            else f"no session begins with {ref!r}"
            if ref
            else "no session yet"
        )
        raise MemsyncError(f"{what}; ", Remedy("sessions"), " lists them")
    return exact[0]


def _list_given(note: Mapping[str, Any], contents: Mapping[str, str]) -> Iterator[Event]:
    at, given, left = str(note.get("at") or ""), list_only(note.get("given"), str), note.get("left")
    named = list_only(note.get("headlines"), str)
    for id_ in given:
        yield Event(
            at=at,
            what="refused" if note.get("refused") else "given",
            why=_explain(note, id_),
            id=id_,
            content=contents.get(id_),
        )
    for id_ in named:
        yield Event(at=at, what="named", why=MEANINGS["headline"], id=id_, content=contents.get(id_))
    for id_, rule in left.items() if isinstance(left, dict) else ():
        why = MEANINGS.get(str(rule), str(rule))
        yield Event(at=at, what="left out", why=why, id=id_, content=contents.get(id_))
    if isinstance(asked := note.get("asked"), str):
        yield Event(at=at, what="asked", why=f"before {note.get('tool') or 'a tool'}, by {asked}")
    outcomes = note.get("outcomes")
    for id_, said in outcomes.items() if isinstance(outcomes, dict) else ():
        if len(texts := list_only(said, str)) > 1:
            yield Event(at=at, what=texts[0], why=texts[1], id=id_, content=contents.get(id_))
    failed = "; ".join(list_only(note.get("errors"), str))
    if not (given or named) and note.get("event") in ("session-start", "prompt", "subagent-start"):
        yield Event(at=at, what="nothing", why=failed or str(note.get("reason") or "nothing to give"))


def _explain(note: Mapping[str, Any], id_: str) -> str:
    if note.get("event") in ("pre-tool", "post-tool"):
        why = note.get("why")
        when = "before" if note.get("event") == "pre-tool" else "after"
        said = why.get(id_) if isinstance(why, dict) else None
        return f"{when} {note.get('tool') or 'a tool'}, {said or 'it was about it'}"
    if note.get("event") == "prompt":
        told = note.get("sure")
        sure = told.get(id_) if isinstance(told, dict) else None
        return "the prompt was about it" + (f" (confidence {sure:.2f})" if isinstance(sure, int | float) else "")
    if note.get("event") == "subagent-start":
        return "a subagent began, for a prompt that was about it or with the most important"
    return _STARTS.get(str(note.get("source")), "it is among the most important, and the session began")
