"""Which memories answer a query, and in what order. Filters come before the cut."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING, Final

from memsync.memories.results import Entry, Hit, Recall
from memsync.records import SCOPES, Memory, Scope, as_scope

if TYPE_CHECKING:
    from memsync.index.rank import Match
    from memsync.memories.project import Project
    from memsync.store.settings import Settings

DAYS_A_MONTH: Final = 30.44


def effective_importance(memory: Memory, last_used: datetime | None, now: datetime, settings: Settings) -> float:
    """Return what the importance of *memory* is worth *now*.

    max(floor, importance - rate x months since the last use), and never
    more than the importance as written. A write counts as a use.
    """
    used = max(filter(None, (last_used, memory.updated_at, memory.created_at)), default=None)
    return fade(memory.importance, (now - used).total_seconds(), settings) if used else memory.importance


def fade(importance: float, idle: float, settings: Settings) -> float:
    """Return what an *importance* is worth *idle* seconds after the last use."""
    if not settings.decay_enabled:
        return importance
    months = max(0.0, idle / 86_400 / DAYS_A_MONTH)
    return max(min(settings.decay_floor, importance), importance - settings.decay_rate * months)


SHOWN: Final = 5  # memories that an agent is shown unasked at most
PARTIAL: Final = 0.8  # of the confidence in what a part of a prompt finds
NEAR: Final = 0.6  # share of the surest memory's confidence that another one needs

Order = Callable[[Entry], float]  # what is less comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which memories count at all. `min_importance` is compared after decay; `exclude` holds ids; `keep` is asked last."""

    scopes: Collection[Scope] = SCOPES
    memory_type: str | None = None
    tags_all: Collection[str] = ()
    tags_any: Collection[str] = ()
    tags_none: Collection[str] = ()
    min_importance: float = 0.0
    archived: bool = False
    exclude: Collection[str] = field(default=frozenset())
    keep: Callable[[Entry], bool] | None = None

    def __post_init__(self) -> None:
        scopes = (self.scopes,) if isinstance(self.scopes, str) else self.scopes
        object.__setattr__(self, "scopes", tuple(map(as_scope, scopes)))
        for name in ("tags_all", "tags_any", "tags_none", "exclude"):
            if isinstance(one := getattr(self, name), str):  # of which each letter would count
                object.__setattr__(self, name, (one,))

    def allow(self, entry: Entry) -> bool:
        """Tell whether *entry* passes every filter."""
        is_let_in = self.let_in(entry.scope, entry.memory, entry.effective_importance)
        return is_let_in and (self.keep is None or self.keep(entry))

    def let_in(self, scope: Scope, memory: Memory, worth: float) -> bool:
        """Tell whether *memory*, which is *worth* so much after decay, passes every filter but `keep`."""
        return (
            scope in self.scopes
            and memory.id not in self.exclude
            and (self.archived or memory.archived_at is None)
            and (self.memory_type is None or memory.memory_type == self.memory_type)
            and self._has_tags(memory)
            and worth >= self.min_importance
        )

    def _has_tags(self, memory: Memory) -> bool:
        if not (self.tags_all or self.tags_any or self.tags_none):
            return True
        tags = {tag.lower() for tag in memory.tags}
        has_all, has_none = (
            tags.issuperset(map(str.lower, self.tags_all)),
            tags.isdisjoint(map(str.lower, self.tags_none)),
        )
        return has_all and has_none and (not self.tags_any or not tags.isdisjoint(map(str.lower, self.tags_any)))


def as_hit(entry: Entry) -> Hit:
    """Return *entry* as a hit without a query: its score is 0."""
    return Hit(**entry.fields(), score=0.0, parts={})


def hit_of(match: Match, count: int = 0, repo: str = "") -> Hit:
    """Return *match*, which was used *count* times, as a hit: what boosts it is what it is worth after decay."""
    score = match.parts.score
    return Hit(
        memory=match.memory,
        scope=match.scope,
        effective_importance=match.boost,
        access_count=count,
        repo=repo,
        score=score,
        parts=match.parts._asdict() | {"boost": match.order / (score or 1.0)},
        copy_of=match.copy_of,
        confidence=match.confidence,
        terms=match.terms,
    )


def search(project: Project, query: str, filters: Filters, *, limit: int) -> Recall:
    """Return the memories of *project* alone that answer *query*, best first, not marked yet.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    usage = {scope: project.state(scope).usage() for scope in project.stores}
    settings, now = project.settings, project.clock()  # one moment for all: what differs is how long they lay idle

    def allow(scope: Scope, memory: Memory) -> float | None:
        used = usage[scope].get(memory.id)
        worth = effective_importance(memory, used.last_accessed_at if used else None, now, settings)
        if not filters.let_in(scope, memory, worth):
            return None
        is_kept = filters.keep is None or filters.keep(project.entry(scope, memory, usage[scope]))
        return worth if is_kept else None

    def show(match: Match) -> Hit:
        used = usage[match.scope].get(match.memory.id)
        return hit_of(match, used.access_count if used else 0, project.repo)

    def is_mine(memory: Memory) -> bool:
        return memory.author is not None and memory.author == project.author  # as far as it says

    found = project.finder.search(query, limit=limit, allow=allow, is_mine=is_mine)
    return Recall(
        hits=tuple(map(show, found.matches)),
        query=query,
        gate=found.gate,
        floor=settings.recall_threshold,
        degraded=found.degraded,
        refused=found.refused,
        called=found.called,
        account=found.account,
    )


def together(found: Sequence[Recall]) -> Recall:
    """Return one recall for a text and its parts, the text first: a part is a little less sure than the whole.

    Behind the first hit of the whole comes the surest of each part, then the others.
    """
    whole, *parts = found
    if not parts:
        return whole
    hits = {(hit.scope, hit.id): hit for hit in whole}
    refused = dict(whole.refused)
    for part in parts:
        for hit in sorted(part, key=lambda hit: -hit.confidence):
            known, sure = hits.get((hit.scope, hit.id)), PARTIAL * hit.confidence
            if known is None or known.confidence < sure:
                hits[hit.scope, hit.id] = replace(known or hit, confidence=sure)
        for id_, sure in part.refused.items():
            refused[id_] = max(refused.get(id_, 0.0), PARTIAL * sure)
    surest = [max(part, key=lambda hit: hit.confidence) for part in parts if part]
    first = dict.fromkeys((hit.scope, hit.id) for hit in (*whole[:1], *surest))
    ordered = tuple(hits[key] for key in (first | hits))
    gate = max((hit.confidence for hit in ordered), default=0.0)
    return replace(whole, hits=ordered, gate=gate, refused=refused)


def least_confidence(surest: float, floor: float) -> float:
    """Return the confidence from which a hit is given to an agent unasked, beside one that is the *surest*.

    Nothing is given where that is below the *floor*. Another one must reach the floor itself, and come near the surest.
    """
    return inf if surest < floor else max(floor, NEAR * surest)


def sort_by_importance(entries: Iterable[Entry], order: Order | None = None) -> list[Entry]:
    """Order *entries* as a recall without a query does: by importance after decay, ties by id; with *order*, by that first."""
    found = sorted(entries, key=lambda entry: (-entry.effective_importance, entry.id, entry.scope))
    return sorted(found, key=order) if order else found
