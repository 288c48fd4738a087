"""Listing and showing memories by the heads in the cache: only the records that are shown are read.

The rules are the same ones, asked of the same entries; where the cache does not fit the files, they are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memsync.errors import AmbiguousId, MemoryNotFound
from memsync.index.heads import NEVER, count_moment
from memsync.memories.decay import fade
from memsync.memories.filters import Filters
from memsync.memories.results import Entry
from memsync.records import SCOPES, find_id

if TYPE_CHECKING:
    from memsync.index.rank import Record
    from memsync.memories.asking import Held
    from memsync.memories.project import Project

_HASH: Final = 8  # digits of a UUID, that are shown of one
_MOST: Final = 200  # records read one by one; of more, reading the files whole is quicker

Read = Callable[[int], "Record | None"]
T = TypeVar("T")


def list_first(project: Project, filters: Filters, limit: int) -> list[Entry] | None:
    """Return the *limit* most important memories that pass *filters*; None where the stores must be read."""
    if limit > _MOST or _is_read(project):
        return None
    return _ask(project, partial(_list_first, project, filters, limit))


def find_one(project: Project, ref: str) -> Entry | None:
    """Return the memory that *ref* names; None where the stores must be read: it may be that others have to be looked at, too."""
    if _is_read(project):
        return None
    return _ask(project, partial(_find_one, project, ref))


def knows(project: Project, ref: str) -> bool:
    """Tell whether *ref* is the id of a memory, or the beginning of one alone that no word is: eight digits of a hash, or more."""
    if not _is_read(project) and (found := _ask(project, partial(_knows, ref))) is not None:
        return found
    project.stores.refresh()
    return _names_one(ref, (id_ for store in project.stores.values() for id_ in store.ids()))


def _knows(ref: str, held: Held, _: Read) -> bool:
    return _names_one(ref, (held.heads.ids[slot] for slot in held.heads))


def _names_one(ref: str, ids: Iterable[str]) -> bool:
    is_hash = len(ref) >= _HASH and all(letter in "0123456789abcdef-" for letter in ref)
    found = {id_ for id_ in ids if id_ == ref or (is_hash and id_.startswith(ref))}
    return len(found) == 1 or ref in found


def _ask(project: Project, ask: Callable[[Held, Read], T | None]) -> T | None:
    """Return what *ask* makes of the cache; where none fits, another process makes one for who asks next."""
    found = project.finder.with_cache(ask)
    if found is None:
        from memsync.memories.missed import have_cache_made

        have_cache_made(project)
    return found


def _is_read(project: Project) -> bool:
    return any(store.stamp is not None for store in project.stores.values())


def _list_first(project: Project, filters: Filters, limit: int, held: Held, read: Read) -> list[Entry] | None:
    usage = {scope: project.state(scope).usage() for scope in project.stores}
    found: list[Entry] = []
    left = _MOST
    for slot in _order(project, held, usage):
        if len(found) == limit:
            return found
        if not left or (record := read(slot)) is None:
            return None
        left -= 1
        if filters.allow(entry := project.entry(*record, usage[record[0]])):
            found.append(entry)
    return found


def _order(project: Project, held: Held, usage: Mapping[Any, Mapping[str, Any]]) -> Iterator[int]:
    """Yield the slots in the order of `filters.sort_by_importance`."""
    heads, numbers = held.heads, held.delta.lines
    moments, now, settings = list(heads.moments), count_moment(project.clock()), project.settings
    if any(usage.values()):
        for slot in heads:
            if (used := usage[_scope(numbers, slot)].get(heads.ids[slot])) and used.last_accessed_at:
                moments[slot] = max(moments[slot], count_moment(used.last_accessed_at))
    worth = [
        one if moment == NEVER else fade(one, (now - moment) / 1_000_000, settings)
        for one, moment in zip(heads.importance, moments, strict=True)
    ]
    ordered = sorted(heads, key=worth.__getitem__, reverse=True)
    for _, equal in groupby(ordered, key=worth.__getitem__):
        slots = list(equal)
        yield from (
            slots if len(slots) == 1 else sorted(slots, key=lambda slot: (heads.ids[slot], _scope(numbers, slot)))
        )


def _find_one(project: Project, ref: str, held: Held, read: Read) -> Entry | None:
    heads, numbers = held.heads, held.delta.lines
    slots: dict[str, int] = {}
    for slot in sorted(heads, key=lambda slot: SCOPES.index(_scope(numbers, slot))):
        slots.setdefault(heads.ids[slot], slot)
    with suppress(MemoryNotFound, AmbiguousId):
        record = read(slots[ref if ref in slots else find_id(ref, slots)])
        if record and not record[1].archived_at:  # else it is asked what took its place
            return project.mark(project.entry(*record))
    return None


def _scope(numbers: Any, slot: int) -> Any:
    return SCOPES[numbers[3 * slot] % len(SCOPES)]
