"""Every memory in reach, at hand until a file changes: a list of 10,000 is looked at for each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import sort_types
from memsync.store.store import Store

_EVERYTHING: Final = Filters(archived=True)
_FRESH: Final = timedelta(minutes=10)  # importance fades by the month
_MOST: Final = 200  # choices of one filter


class Choices(NamedTuple):
    """What there is to filter by, the most frequent first; types in their order."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    authors: Sequence[str] = ()


class _Look(NamedTuple):
    """What a look found: it holds until `until`, or until what was `seen` is different."""

    seen: list[tuple[object, object]]
    until: datetime
    entries: list[Entry]
    choices: Choices
    problems: Sequence[str]


class Shelf:
    """Keeps what the last look found, for as long as the project is there. The caller lets in one thread at a time."""

    def __init__(self) -> None:
        self._looks: WeakKeyDictionary[Project, _Look] = WeakKeyDictionary()

    def entries(self, project: Project) -> list[Entry]:
        """Return every memory of *project*, archived ones too; not marked yet."""
        return self._look(project).entries

    def choices(self, project: Project) -> Choices:
        """Return what the memories of *project* can be filtered by."""
        return self._look(project).choices

    def problems(self, project: Project) -> Sequence[str]:
        """Return, in one line a store, which lines of its file could not be read."""
        return self._look(project).problems

    def _look(self, project: Project) -> _Look:
        project.stores.refresh()
        now = project.clock()
        seen: list[tuple[object, object]] = [
            (store.stamp, project.state(scope).usage()) for scope, store in project.stores.items()
        ]
        last = self._looks.pop(project, None)
        if (
            last
            and now <= last.until
            and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(last.seen, seen, strict=True))
        ):
            self._looks[project] = last
            return last
        del last  # before there are as many again
        entries = list(project.entries(_EVERYTHING))
        found = self._looks[project] = _Look(
            seen,
            now + _FRESH,
            entries,
            _find_choices(entries),
            list(filter(None, map(tell_problem, project.stores.values()))),
        )
        return found


def tell_problem(store: Store | None) -> str:
    """Return which lines of the file of *store* cannot be read, and so look as if they were gone; "" if it is whole."""
    if store is None or not (found := store.first_problem()):
        return ""
    count, number, why = found
    return f"{store.place.memories}:{number}: {why}" + (f" (and {count - 1} more)" if count > 1 else "")


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
