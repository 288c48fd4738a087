"""What most calls of `Project` return: plain, frozen values that turn into JSON. Rarer ones are where they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, overload

from memsync.format.codec import fields_of
from memsync.records import Memory, Scope, short_id

if TYPE_CHECKING:
    from memsync.index.gate import Account
    from memsync.memories.similar import Similar

# results as JSON values: one way for `--json`, MCP and the logs


def as_json(value: Any) -> Any:
    """Return *value* as JSON values: each result in it by its `as_dict`, else by its fields."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, PurePath):
        return str(value)
    named = _named(value)
    if named is not None:
        return {name: as_json(part) for name, part in named.items()}
    return [as_json(part) for part in value]


def _named(value: Any) -> Mapping[str, Any] | None:
    if hasattr(value, "as_dict"):
        found: Mapping[str, Any] = value.as_dict()
        return found
    if is_dataclass(value):
        return {one.metadata.get("json", one.name): getattr(value, one.name) for one in fields(value)}
    return value._asdict() if hasattr(value, "_asdict") else value if isinstance(value, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory where it lives, with what its importance (0-1) is worth today.

    `stale` says what has changed in the files that it names. `flagged` says why it reads like an
    order to an agent, which nobody on this machine has approved. `repo` is the root of the repository
    that it is in, where that is another one, or a store above.
    """

    memory: Memory
    scope: Scope
    effective_importance: float
    access_count: int = 0
    stale: tuple[str, ...] = ()
    flagged: str = ""
    repo: str = ""

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.memory.content

    @property
    def out_of_date(self) -> str:
        """What of `stale` a line has room for, and how much there is besides; "" where nothing has changed."""
        more = len(self.stale) - _SHOWN
        return ", ".join([*self.stale[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])

    def fields(self) -> dict[str, Any]:
        """Return what an entry of another kind is made from, by name."""
        return {name: getattr(self, name) for name in _ENTRY}

    def as_dict(self) -> dict[str, Any]:
        """Return the record with every named field, plus scope and today's importance."""
        memory = self.memory
        marks = {"stale": list(self.stale), "flagged": self.flagged, "repo": self.repo}
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


_SHOWN: Final = 3  # of what has changed in the files that a memory names
_ENTRY: Final = tuple(one.name for one in fields(Entry))


def list_entries(found: Sequence[Entry]) -> dict[str, Any]:
    """Return *found* as a list answers."""
    return {"count": len(found), "memories": [entry.as_dict() for entry in found]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Entry):
    """An entry that a query found; `score` compares only within one recall. `parts` explains it.

    `confidence` (0-1) compares between recalls: how sure it is that the memory answers. `terms` are the numbers of its words (`term_key`).
    `against` are the memories that say otherwise: an older one that it may replace, or a newer one that may replace it.
    """

    score: float
    parts: Mapping[str, float]
    copy_of: str | None = None
    confidence: float = 0.0
    terms: frozenset[int] = frozenset()
    against: tuple[Memory, ...] = ()

    def tell_against(self) -> list[str]:
        """Say of each memory that says otherwise which of the two is the newer, and how old both are."""
        return [
            f"of {_spell_day(self.memory)}, {'replaces?' if is_newer(self.memory, other) else 'replaced? by'}"
            f" [{short_id(other.id)}] of {_spell_day(other)}"
            for other in self.against
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with its score, the parts of it, and how sure it is."""
        parts = {name: round(value, 4) for name, value in self.parts.items()}
        copy: dict[str, Any] = {"copy_of": self.copy_of} if self.copy_of else {}
        if self.against:
            copy["against"] = [
                {"id": other.id, "says": said} for other, said in zip(self.against, self.tell_against(), strict=True)
            ]
        sure = {"score": round(self.score, 4), "confidence": round(self.confidence, 4)}
        return {**Entry.as_dict(self), **sure, "parts": parts, **copy}


def is_newer(one: Memory, other: Memory) -> bool:
    """Tell whether *one* was written after *other*, as far as they say."""
    ours, theirs = one.written_at, other.written_at
    return ours is not None and (theirs is None or ours > theirs)


def _spell_day(memory: Memory) -> str:
    return f"{memory.written_at:%Y-%m-%d}" if memory.written_at else "?"


# What a new text is to a stored one, where that is worth a word: "related" is most of what is near, and means nothing.
RELATIONS: Final = {
    "contradicts": "contradicts",
    "differs": "not the same as",
    "duplicate": "perhaps the same as",
    "contains": "perhaps more of",
    "contained": "perhaps part of",
}


class Shown(Protocol):
    """A hit as an answer lists it."""

    def as_dict(self) -> dict[str, Any]:
        """Return what of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a query found, here or in the hub, best first.

    The `gate` is the confidence in the surest hit; below the `floor` a hit is weak, and no agent is shown it unasked.
    `degraded` says what was missing, such as vectors; "" if nothing was.
    """

    hits: tuple[Shown, ...]
    query: str | None = None
    gate: float = 0.0
    floor: float = 0.0
    degraded: str = ""

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
class Recall(Answered, Sequence[Hit]):
    """The hits of one recall; a sequence of them. `refused` are the ids that the filters left out, with the confidence in each.

    `called` is what else rare words of the query are called, as terms, and what each counts of the rarity.
    `account` says which words of the query count for a memory.
    """

    hits: tuple[Hit, ...]
    refused: Mapping[str, float] = field(default_factory=dict)
    called: Mapping[str, Sequence[tuple[tuple[str, ...], float]]] = field(default_factory=dict)
    account: Account | None = field(default=None, compare=False, repr=False)

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

    def find_called(self, hit: Hit) -> dict[str, tuple[str, ...]]:
        """Return by each rare term of the query that *hit* lacks the terms that it has in its place, of several the longest name."""
        from memsync.index.terms import term_key

        held = {
            term: [words for words, _ in others if hit.terms.issuperset(map(term_key, words))]
            for term, others in self.called.items()
            if term_key(term) not in hit.terms
        }
        return {term: max(names, key=len) for term, names in held.items() if names}


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
