"""Counts over the memories in reach, and each store at a glance: what `stats` and `status` say, which few processes ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.memories.results import Entry
from memsync.records import Scope

if TYPE_CHECKING:
    from memsync.memories.project import Project
    from memsync.store.store import Store


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


def count_memories(entries: Sequence[Entry]) -> Stats:
    """Count *entries* by what they say of themselves."""
    count = len(entries)
    used = sorted((e for e in entries if e.access_count), key=lambda e: (-e.access_count, e.id))
    return Stats(
        total=count,
        by_type=_count(e.memory.memory_type for e in entries),
        by_scope=_count(e.scope for e in entries),
        by_source=_count(e.memory.source_type for e in entries),
        by_tag=_count(tag for e in entries for tag in e.memory.tags),
        average_importance=round(sum(e.memory.importance for e in entries) / count, 4) if count else 0.0,
        archived=sum(e.memory.archived_at is not None for e in entries),
        most_used=tuple(used[:5]),
    )


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def survey_store(project: Project, store: Store, flagged: Iterable[Entry]) -> StoreStatus:
    """Return *store* at a glance; *flagged* are those of all stores."""
    scope = store.place.scope
    memories = store.memories().values()
    return StoreStatus(
        scope=scope,
        path=store.place.memories,
        memories=len(memories),
        problems=len(store.problems()),
        pending=not store.is_canonical(),
        waiting=store.waiting,
        new=project.screening.count_new(scope, memories),
        flagged=sum(entry.scope == scope for entry in flagged),
    )


def glance_at(store: Store) -> StoreStatus:
    """Return how many memories *store* has, and what else is known of it without looking at any."""
    return StoreStatus(
        scope=store.place.scope,
        path=store.place.memories,
        memories=store.count_live(),
        problems=0,
        pending=store.in_log_form,
        waiting=store.waiting,
        new=0,
        flagged=0,
    )
