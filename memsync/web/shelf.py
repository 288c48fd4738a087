"""Every memory in reach, at hand until a file changes: a list of 10,000 is looked at for each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import sort_types

_EVERYTHING: Final = Filters(archived=True)
_FRESH: Final = timedelta(minutes=10)  # importance fades by the month
_MOST: Final = 200  # choices of one filter


class Choices(NamedTuple):
    """What there is to filter by, the most frequent first; types in their order."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    authors: Sequence[str] = ()


class Shelf:
    """Keeps what the last look found. The caller lets in one thread at a time."""

    def __init__(self) -> None:
        self._project: Project | None = None
        self._seen: list[tuple[object, object]] = []
        self._until: datetime | None = None
        self._entries: list[Entry] = []
        self._choices = Choices()

    def entries(self, project: Project) -> list[Entry]:
        """Return every memory of *project*, archived ones too; not marked yet."""
        self._look(project)
        return self._entries

    def choices(self, project: Project) -> Choices:
        """Return what the memories of *project* can be filtered by."""
        self._look(project)
        return self._choices

    def _look(self, project: Project) -> None:
        project.stores.refresh()
        now = project.clock()
        seen: list[tuple[object, object]] = [
            (store.stamp, project.state(scope).usage()) for scope, store in project.stores.items()
        ]
        is_same = project is self._project and all(
            old[0] == new[0] and old[1] is new[1] for old, new in zip(self._seen, seen, strict=True)
        )
        if not is_same or self._until is None or now > self._until:
            self._project, self._entries, self._seen = None, [], []  # before there are as many again
            self._entries = list(project.entries(_EVERYTHING))
            self._choices = _find_choices(self._entries)
            self._project, self._seen, self._until = project, seen, now + _FRESH


def _find_choices(entries: Iterable[Entry]) -> Choices:
    types: set[str] = set()
    tags: Counter[str] = Counter()
    authors: Counter[str] = Counter()
    for entry in entries:
        types.add(entry.memory.memory_type)
        tags.update(entry.memory.tags)
        authors.update([entry.memory.author] if entry.memory.author else ())
    return Choices(sort_types(types), _list_common(tags), _list_common(authors))


def _list_common(counts: Counter[str]) -> list[str]:
    return [name for name, _ in counts.most_common(_MOST)]
