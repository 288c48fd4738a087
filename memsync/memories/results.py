"""What the calls of `Project` return: plain, frozen values that turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from memsync.format.codec import fields_of
from memsync.records import Memory, Scope

if TYPE_CHECKING:
    from memsync.dedup import Relation, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory where it lives, with what its importance (0-1) is worth today.

    `stale` says what has changed in the files that it names. `flagged` says why it reads like an
    order to an agent, which nobody on this machine has approved.
    """

    memory: Memory
    scope: Scope
    effective_importance: float
    access_count: int = 0
    stale: tuple[str, ...] = ()
    flagged: str = ""

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.memory.content

    def fields(self) -> dict[str, Any]:
        """Return what an entry of another kind is made from, by name."""
        return {one.name: getattr(self, one.name) for one in fields(Entry)}

    def as_dict(self) -> dict[str, Any]:
        """Return the record with every named field, plus scope and today's importance."""
        memory = self.memory
        marks = {"stale": list(self.stale), "flagged": self.flagged}
        return {
            **fields_of(memory),
            "memory_type": memory.memory_type,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "source_type": memory.source_type,
            "scope": self.scope,
            "effective_importance": round(self.effective_importance, 4),
            "access_count": self.access_count,
            **{name: mark for name, mark in marks.items() if mark},
        }


def list_entries(found: Sequence[Entry]) -> dict[str, Any]:
    """Return *found* as a list answers."""
    return {"count": len(found), "memories": [entry.as_dict() for entry in found]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Entry):
    """An entry that a query found; `score` compares only within one recall. `parts` explains it.

    `confidence` (0-1) compares between recalls: how sure it is that the memory answers. `terms` are its words.
    """

    score: float
    parts: Mapping[str, float]
    copy_of: str | None = None
    confidence: float = 0.0
    terms: frozenset[str] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with its score, the parts of it, and how sure it is."""
        parts = {name: round(value, 4) for name, value in self.parts.items()}
        copy = {"copy_of": self.copy_of} if self.copy_of else {}
        sure = {"score": round(self.score, 4), "confidence": round(self.confidence, 4)}
        return {**Entry.as_dict(self), **sure, "parts": parts, **copy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits of one query, best first; a sequence of them.

    The `gate` is the confidence in the surest hit; below the `floor` a hit is weak, and no agent is shown it unasked.
    `degraded` says what was missing, such as vectors; "" if nothing was. `refused` are
    the ids that the filters left out, with the confidence in each.
    """

    hits: tuple[Hit, ...]
    query: str | None = None
    gate: float = 0.0
    floor: float = 0.0
    degraded: str = ""
    refused: Mapping[str, float] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def is_weak(self, hit: Hit) -> bool:
        """Tell whether *hit* only shares words with the query, as far as can be told; without one nothing is weak."""
        return self.query is not None and hit.confidence < self.floor

    def as_dict(self) -> dict[str, Any]:
        """Return the query, the hits and how far to trust them."""
        return {
            "query": self.query,
            "count": len(self.hits),
            "memories": [hit.as_dict() for hit in self.hits],
            "gate": round(self.gate, 4),
            "floor": self.floor,
            "degraded": self.degraded,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar(Entry):
    """A stored memory beside a new text: how alike they are (0-1), what the new text is to it, and why."""

    score: float
    relation: Relation
    reason: str

    @classmethod
    def of(cls, entry: Entry, verdict: Verdict) -> Similar:
        """Return *entry* with what was found out about it."""
        return cls(**entry.fields(), score=verdict.similarity, relation=verdict.relation, reason=verdict.reason)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with score, relation and reason."""
        score = round(self.score, 4)
        return {**Entry.as_dict(self), "score": score, "relation": self.relation, "reason": self.reason}


Status = Literal["created", "updated", "exists", "superseded", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a text: `status` says whether something new was stored, `entry` is what holds it now.

    `similar` are other memories that the caller may want to look at, the most alike first;
    `degraded` says what kept us from looking well, such as missing vectors.
    """

    status: Status
    entry: Entry = field(metadata={"json": "memory"})
    reason: str = ""
    similar: tuple[Similar, ...] = ()
    degraded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one item of an import."""

    status: Literal["created", "updated", "duplicate", "skipped"]
    where: str
    id: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or with `dry_run` would do, item by item."""

    outcomes: tuple[Outcome, ...]
    dry_run: bool

    def count(self, status: str) -> int:
        """Return how many items ended as *status*."""
        return sum(outcome.status == status for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts, and every item that was not simply created."""
        counts = {name: self.count(name) for name in ("created", "updated", "duplicate", "skipped")}
        items = [outcome for outcome in self.outcomes if outcome.status != "created"]
        return {**counts, "dry_run": self.dry_run, "items": items}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """One store at a glance. `pending`: an export would change the file; `waiting` memories wait for a commit.

    `new` were neither written nor shown on this machine; `flagged` read like orders to an agent, and wait for approval.
    """

    scope: Scope
    path: Path
    memories: int
    problems: int
    pending: bool
    waiting: int
    new: int
    flagged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts over the memories in reach."""

    total: int
    by_type: Mapping[str, int]
    by_scope: Mapping[str, int]
    by_source: Mapping[str, int]
    by_tag: Mapping[str, int]
    average_importance: float
    archived: int = 0
    most_used: tuple[Entry, ...] = field(default=())
