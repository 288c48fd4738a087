"""Every memory in reach, in its order until a file changes: a list of 10,000 is looked at for each page.

What is kept of each is where it stands and what it is worth, a few bytes: 100,000 entries would take 30 MB.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from memsync.memories.filters import Filters, effective_importance
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Memory, Scope, sort_types
from memsync.store.state import Usage
from memsync.store.store import Store
from memsync.system.beside import Beside

_NEVER: Final = Usage(0, None)
_FRESH: Final = timedelta(minutes=10)  # importance fades by the month
_MOST: Final = 200  # choices of one filter


class Choices(NamedTuple):
    """What there is to filter by, the most frequent first; types in their order."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    authors: Sequence[str] = ()


class Look(NamedTuple):
    """What a look found: it holds until `until`, or until what was `seen` is different.

    `memories` stand in the order of `scopes`, each with where its last one ends; `worth` is what they are worth now, and `order` their
    places, the most important first; `live` are not archived; `problems` has a line for each store in which some could not be read.
    """

    seen: list[tuple[object, object]]
    until: datetime
    scopes: Sequence[tuple[Scope, int, Mapping[str, Usage]]]
    memories: Sequence[Memory]
    worth: array[float]
    order: array[int]
    live: int
    choices: Choices
    problems: Sequence[str]
    repo: str

    def entries(self, filters: Filters, words: Sequence[str] = ()) -> Iterator[Entry]:
        """Yield every memory that passes *filters* and has all of *words* somewhere, the most important first; not marked yet."""
        ends = [(end, scope) for scope, end, _ in self.scopes]
        for place in self.order:
            memory = self.memories[place]
            scope = ends[0][1] if place < ends[0][0] else next(scope for end, scope in ends if place < end)
            if not filters.let_in(scope, memory, self.worth[place]):
                continue
            if not words or all(map(memory.content.casefold().__contains__, words)):
                entry = self.entry(place)
                if filters.keep is None or filters.keep(entry):
                    yield entry

    def pairs(self) -> Iterator[tuple[Memory, Callable[[], Entry]]]:
        """Yield what `entries` does as bare memories, in any order, each with what makes its entry."""
        return ((memory, partial(self.entry, place)) for place, memory in enumerate(self.memories))

    def entry(self, place: int) -> Entry:
        """Return the memory at *place* as an entry, not marked yet."""
        memory = self.memories[place]
        scope, _, usage = next(one for one in self.scopes if place < one[1])
        return Entry(
            memory=memory,
            scope=scope,
            effective_importance=self.worth[place],
            access_count=usage.get(memory.id, _NEVER).access_count,
            repo=self.repo,
        )


class Shelf:
    """Keeps what the last look found, for as long as the project is there. The caller lets in one thread at a time.

    `index`: the process that makes the index of a large store.
    """

    def __init__(self, index: Beside) -> None:
        self.index = index
        self._looks: WeakKeyDictionary[Project, Look] = WeakKeyDictionary()

    def look(self, project: Project) -> Look:
        """Return what the memories of *project* are, what they can be filtered by, and which lines could not be read."""
        project.stores.refresh()
        now = project.clock()
        seen: list[tuple[object, object]] = [
            (store.stamp, project.state(scope).usage()) for scope, store in project.stores.items()
        ]
        last = self._looks.pop(project, None)
        if last and now <= last.until and last.seen == seen:
            self._looks[project] = last = last._replace(seen=seen)  # the next look compares with what is still there
            return last
        del last  # before there are as many again
        found = self._looks[project] = _survey(project, seen, now)
        return found


def _survey(project: Project, seen: list[tuple[object, object]], now: datetime) -> Look:
    memories: list[Memory] = []
    worth = array("d")
    scopes = []
    for scope, store in project.stores.items():
        usage = project.state(scope).usage()
        for memory in store.memories().values():
            last = usage.get(memory.id, _NEVER).last_accessed_at
            worth.append(effective_importance(memory, last, now, project.settings))
            memories.append(memory)
        scopes.append((scope, len(memories), usage))
    order = sorted(range(len(memories)), key=lambda place: memories[place].id)
    order.sort(key=lambda place: -worth[place])  # one after the other: a pair for each memory takes more
    return Look(
        seen,
        now + _FRESH,
        scopes,
        memories,
        worth,
        array("L", order),
        sum(memory.archived_at is None for memory in memories),
        _find_choices(memories),
        list(filter(None, map(tell_problem, project.stores.values()))),
        project.repo,
    )


def tell_problem(store: Store | None) -> str:
    """Return which lines of the file of *store* cannot be read, and so look as if they were gone; "" if it is whole."""
    if store is None or not (found := store.first_problem()):
        return ""
    count, number, why = found
    return f"{store.place.memories}:{number}: {why}" + (f" (and {count - 1} more)" if count > 1 else "")


def _find_choices(memories: Sequence[Memory]) -> Choices:
    tags = Counter(tag for memory in memories for tag in memory.tags)
    authors = Counter(memory.author for memory in memories if memory.author)
    common = ([name for name, _ in counts.most_common(_MOST)] for counts in (tags, authors))
    return Choices(sort_types({memory.memory_type for memory in memories}), *common)
