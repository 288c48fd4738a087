"""What the stores hold, counted, and which of their lines were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.memories.results import Entry, Stats, StoreStatus
from memsync.store.store import Store

if TYPE_CHECKING:
    from memsync.memories.project import Project


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
        new=sum(project.screening.is_new(project.entry(scope, memory)) for memory in memories),
        flagged=sum(entry.scope == scope for entry in flagged),
    )


def find_problems(project: Project) -> Iterator[tuple[Path, tuple[int, int, str]]]:
    """Yield each file with lines that were left out: how many, and the number and the problem of the first."""
    for scope, store in project.stores.items():
        # A store that was not read is known by what the cache says of it.
        first = store.first_problem() if store.stamp is not None else project.finder.problems.get(scope)
        if first:
            yield store.place.memories, first
