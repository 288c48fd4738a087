"""What is given to a session, and the rules by which it may be. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from memsync.memories.results import Entry
from memsync.records import content_hash, parse_time

E = TypeVar("E", bound=Entry)
CAP = 9_000  # characters and UTF-8 bytes of a context; clients cut or refuse from 10,000


class Injection(NamedTuple):
    """What to add to an agent's context, or why nothing; `filtered` were given before.

    `left_out` did not fit into the budget. From a `gate` below the `floor` nothing is given.
    `folded` are the memories that only say again what one of the `entries` does; `known` are the ids
    of those that fit and were given before. `degraded` says what was missing for a good search.
    `is_unasked` says that neither a prompt nor a call asked for them, so that none counts as used.
    Where there are no `entries`, the text may be `headlines`: matches below the floor in a dozen words each.
    """

    text: str = ""
    entries: tuple[Entry, ...] = ()
    filtered: int = 0
    reason: str = ""
    left_out: tuple[Entry, ...] = ()
    gate: float = 0.0
    floor: float = 0.0
    folded: tuple[Entry, ...] = ()
    known: tuple[str, ...] = ()
    degraded: str = ""
    headlines: tuple[Entry, ...] = ()
    is_unasked: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return what the action `memory.recall` of a lifecycle returns; headlines are text, but nothing that was given."""
        if not self.entries:
            nothing = {"injected": False, "count": 0, "filtered": self.filtered}
            named = {"headlines": [entry.id for entry in self.headlines]} if self.headlines else {}
            return nothing | ({"inject_context": self.text} if self.text else {}) | named
        return {"inject_context": self.text, "injected": True, "count": len(self.entries), "filtered": self.filtered}


class Reply(NamedTuple):
    """What a hook prints ("" for nothing), and what is to be done when it was printed, or nobody took it.

    `given`: the ids of the memories in it, `why` each was at a tool.
    """

    out: str
    used: Callable[[], None]
    lost: Callable[[], None] = lambda: None
    given: tuple[str, ...] = ()
    why: Mapping[str, str] = {}


class Rules(NamedTuple):
    """Which memories a session may be given now. Pure.

    Where a question was *asked*, relevance decides, and the *threshold* is for the importance as written;
    without one it is for what decay has left of it.
    """

    ledger: Mapping[str, str]
    session_id: str = ""
    compacted_at: str = ""
    threshold: float = 0.0
    asked: bool = False

    def refusal(self, entry: Entry) -> str:
        """Return the rule that keeps *entry* back; "" if none does."""
        memory = entry.memory
        if memory.archived_at is not None:
            return "archived"
        if memory.conflict_of is not None:
            return "conflict"
        if (memory.importance if self.asked else entry.effective_importance) < self.threshold:
            return "importance_threshold"
        if self._is_own(entry):
            return "session"
        return "ledger" if memory.id in self.ledger and self.ledger[memory.id] == key_of(entry) else ""

    def _is_own(self, entry: Entry) -> bool:
        """Tell whether the memory was made in this session, whose context still has it."""
        memory = entry.memory
        if not self.session_id or memory.source_session_id != self.session_id:
            return False
        gate = parse_time(self.compacted_at)
        return gate is None or memory.created_at is None or memory.created_at > gate


def drop_copies(entries: Iterable[E], ledger: Mapping[str, str]) -> list[E]:
    """Return *entries* without those whose text the session has, or an entry before them, under another id.

    A memory may be in the project, in its private store and in the user's home at once.
    """
    seen = set(ledger.values())
    new: list[E] = []
    for entry in entries:
        if (key := key_of(entry)) not in seen:
            seen.add(key)
            new.append(entry)
    return new


def key_of(entry: Entry) -> str:
    """Return what the ledger has for *entry*: another one once its text is another."""
    return content_hash(entry.memory.content)[:16]
