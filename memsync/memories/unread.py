"""Listing, showing and choosing memories by the heads in the cache: only the records that may be meant are read.

The rules are the same ones, asked of the same entries; where the cache does not fit the files, they are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memsync.errors import AmbiguousId, MemoryNotFound
from memsync.index.heads import NEVER, count_moment
from memsync.memories.decay import fade
from memsync.memories.filters import Filters
from memsync.memories.results import Entry
from memsync.records import SCOPES, Scope, find_id
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.index.rank import Record
    from memsync.memories.asking import Held
    from memsync.memories.project import Project
    from memsync.store.state import Usage

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
    usage, now = _usage_of(project), project.clock()
    found: list[Entry] = []
    left = _MOST
    for _, slot in _order(project, held, usage, now):
        if len(found) == limit:
            return found
        if not left or (record := read(slot)) is None:
            return None
        left -= 1
        if filters.allow(entry := project.entry(*record, usage[record[0]], now)):
            found.append(entry)
    return found


def _usage_of(project: Project) -> Mapping[Scope, Mapping[str, Usage]]:
    return {scope: project.state(scope).usage() for scope in project.stores}


def _order(
    project: Project, held: Held, usage: Mapping[Scope, Mapping[str, Usage]], now: datetime
) -> Iterator[tuple[float, int]]:
    """Yield what each slot is worth *now*, and the slot, in the order of `filters.sort_by_importance`."""
    heads, numbers = held.heads, held.delta.lines
    moments, moment_now, settings = list(heads.moments), count_moment(now), project.settings
    if any(usage.values()):
        for slot in heads:
            if (used := usage[_scope(numbers, slot)].get(heads.ids[slot])) and used.last_accessed_at:
                moments[slot] = max(moments[slot], count_moment(used.last_accessed_at))
    worth = [
        one if moment == NEVER else fade(one, (moment_now - moment) / 1_000_000, settings)
        for one, moment in zip(heads.importance, moments, strict=True)
    ]
    ordered = sorted(heads, key=worth.__getitem__, reverse=True)
    for value, equal in groupby(ordered, key=worth.__getitem__):
        slots = list(equal)
        if len(slots) > 1:
            slots.sort(key=lambda slot: (heads.ids[slot], _scope(numbers, slot)))
        yield from ((value, slot) for slot in slots)


class Foremost(NamedTuple):
    """Some records, and where the next one would stand in a list: its worth negated, its id and scope; None where there is none."""

    records: list[Record]
    rest: tuple[float, str, Scope] | None


def read_foremost(project: Project, ids: Collection[str], many: int, least: float, now: datetime) -> Foremost | None:
    """Return the records of *ids*, those that replace others, and the *many* that are worth most *now*, and *least* at least.

    None where the stores must be read.
    """
    if _is_read(project) or project.above:
        return None
    return project.finder.with_cache(partial(_read_foremost, project, ids, many, least, now))


def _read_foremost(
    project: Project, ids: Collection[str], many: int, least: float, now: datetime, held: Held, read: Read
) -> Foremost | None:
    heads = held.heads
    order = _order(project, held, _usage_of(project), now)
    first = list(islice(takewhile(lambda one: one[0] >= least, order), many + 1))
    also = [slot for slot, replaces in enumerate(heads.replaces) if replaces and slot not in heads.dead]
    also += _find_slots(held, ids)
    if len(also) > _MOST:
        return None
    if (records := _read_all(read, dict.fromkeys([*(slot for _, slot in first[:many]), *also]))) is None:
        return None
    rest = [(-worth, heads.ids[slot], _scope(held.delta.lines, slot)) for worth, slot in first[many:]]
    return Foremost(records, rest[0] if rest else None)


def read_named(project: Project, ids: Collection[str]) -> list[Record] | None:
    """Return the records of *ids*, the nearer store's first; None where the stores must be read."""
    if _is_read(project) or project.above:
        return None
    return project.finder.with_cache(lambda held, read: _read_all(read, _find_slots(held, ids)))


def _find_slots(held: Held, ids: Collection[str]) -> list[int]:
    """Return the slots of *ids* that live, the nearer store's first."""
    if not ids:
        return []
    dead = held.heads.dead
    found = [slot for slot, id_ in enumerate(held.heads.ids) if id_ in ids and slot not in dead]
    return sorted(found, key=lambda slot: held.delta.lines[3 * slot] % len(SCOPES))


def read_anchored(project: Project) -> list[Record] | None:
    """Return the records that have anchors and are not archived; None where the stores must be read."""
    return None if _is_read(project) else project.finder.with_cache(_read_anchored)


def _read_anchored(held: Held, read: Read) -> list[Record] | None:
    heads = held.heads
    flags = zip(heads.anchored, heads.archived, strict=True)
    slots = [slot for slot, (anchored, archived) in enumerate(flags) if anchored and not archived]
    if len(slots) > max(_MOST, len(heads.anchored) // 4):
        return None
    return _read_all(read, (slot for slot in slots if slot not in heads.dead))


def _read_all(read: Read, slots: Iterable[int]) -> list[Record] | None:
    """Return the record of each of *slots*; None if one cannot be read."""
    records = []
    for slot in slots:
        if (record := read(slot)) is None:
            return None
        records.append(record)
    return records


def count_all(project: Project) -> int:
    """Return how many memories the stores have, archived ones too; where the cache knows that, none is read.

    Raises:
        StoreUnreadable, OutsideTree
    """
    found = None if _is_read(project) else project.finder.with_cache(lambda held, _: held.delta.live)
    if found is None:
        project.stores.refresh()
        found = sum(len(store.memories()) for store in project.stores.values())
    return found


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
