"""Listing, showing and choosing memories, and saying what they are about, by the rows of the index: only the records that may be meant are read.

The rules are the same ones, asked of the same entries; where no rows fit the files, these are read whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from heapq import merge
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.errors import AmbiguousId, MemoryNotFound
from memsync.index.database import NEVER, count_moment
from memsync.memories.filters import DAYS_A_MONTH, Filters, fade
from memsync.memories.reach import folders_of
from memsync.memories.results import Entry
from memsync.records import SCOPES, Memory, Scope, find_id
from memsync.safety.guard import shown_label

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.index.database import Database
    from memsync.index.rank import Record
    from memsync.memories.project import Project
    from memsync.memories.results import Recall
    from memsync.store.state import Usage

_HASH: Final = 8  # digits of a UUID, that are shown of one
_ASKED: Final = 900  # ids of one statement, which every SQLite takes
# What `filters.fade` says, step by step.
_WORTH: Final = (
    f"CASE moment WHEN {NEVER} THEN importance ELSE"
    f" max(min(?, importance), importance - ? * max(0.0, (? - moment) / 1000000.0 / 86400 / {DAYS_A_MONTH})) END"
)
_MOST: Final = 200  # records read one by one; of more, reading the files whole is quicker


class _Place(NamedTuple):
    """Where a memory stands in a list: what it is worth now, its id and scope; and its slot."""

    worth: float
    id: str
    scope: Scope
    slot: int


def list_first(project: Project, filters: Filters, limit: int) -> list[Entry] | None:
    """Return the *limit* most important memories that pass *filters*; None where the stores must be read."""

    def read(rows: Database) -> list[Entry] | None:
        usage, now, found = _usage_of(project), project.clock(), list[Entry]()
        for number, place in enumerate(_order(project, rows, usage, now)):
            if len(found) == limit:
                break
            if number == _MOST or (record := project.finder.file.read_record(rows, place.slot)) is None:
                return None
            if filters.allow(entry := project.entry(*record, usage[record[0]], now)):
                found.append(entry)
        return found

    return project.finder.file.ask(read) if limit <= _MOST else None


def find_one(project: Project, ref: str) -> Entry | None:
    """Return the memory that *ref* names; None where the stores must be read: it may be that others have to be looked at, too."""

    def read(rows: Database) -> Entry | None:
        if not (slots := _find_slots(rows, [ref])):
            with suppress(MemoryNotFound, AmbiguousId):
                slots = _find_slots(rows, [find_id(ref, (id_ for (id_,) in rows.ask("SELECT id FROM record")))])
        record = project.finder.file.read_record(rows, slots[0]) if slots else None
        # Of what is archived it is asked what took its place.
        return project.mark(project.entry(*record)) if record and not record[1].archived_at else None

    return project.finder.file.ask(read)


def knows(project: Project, ref: str) -> bool:
    """Tell whether *ref* is the id of a memory, or the beginning of one alone that no word is: eight digits of a hash, or more."""
    found = project.finder.file.ask(lambda rows: _names_one(ref, (id_ for (id_,) in rows.ask("SELECT id FROM record"))))
    if found is not None:
        return found
    project.stores.refresh()
    return _names_one(ref, (id_ for store in project.stores.values() for id_ in store.ids()))


def _names_one(ref: str, ids: Iterable[str]) -> bool:
    is_hash = len(ref) >= _HASH and all(letter in "0123456789abcdef-" for letter in ref)
    found = {id_ for id_ in ids if id_ == ref or (is_hash and id_.startswith(ref))}
    return len(found) == 1 or ref in found


def _usage_of(project: Project) -> Mapping[Scope, Mapping[str, Usage]]:
    return {scope: project.state(scope).usage() for scope in project.stores}


def _order(
    project: Project,
    rows: Database,
    usage: Mapping[Scope, Mapping[str, Usage]],
    now: datetime,
    author: str | None = None,
    least: float = 0.0,
    turns: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[_Place]:
    """Yield where each memory, or each of *author*, stands *now*, in the order of `filters.sort_by_importance`.

    What is worth less than *least* is left out. By *turns*, of ids, each counts for so much less. SQLite sorts the rows by what
    they say; what was used since, or has a turn, takes its place among them.
    """
    moment_now, settings = count_moment(now), project.settings

    def read(found: Iterable[tuple[int, int, str, float, int]]) -> Iterator[_Place]:
        for slot, number, id_, importance, written in found:
            used = usage[SCOPES[number]].get(id_)
            last = max(written, count_moment(used.last_accessed_at)) if used and used.last_accessed_at else written
            worth = importance if last == NEVER else fade(importance, (moment_now - last) / 1_000_000, settings)
            if worth >= least:
                yield _Place(worth - turns.get(id_, 0.0), id_, SCOPES[number], slot)

    query = "SELECT slot, scope, id, importance, moment FROM record WHERE (? IS NULL OR author = ?)"
    moved = {*turns, *chain.from_iterable(usage.values())}
    if len(moved) > _ASKED:
        return iter(sorted(read(rows.ask(query, (author, author))), key=_stand))
    ids = f"({', '.join('?' * len(moved))})"
    some = sorted(read(rows.ask(f"{query} AND id IN {ids}", (author, author, *moved))), key=_stand)
    others = f"{query} AND id NOT IN {ids} ORDER BY {_WORTH} DESC, id, scope DESC"
    rate = settings.decay_rate if settings.decay_enabled else 0.0
    values = (author, author, *moved, settings.decay_floor, rate, moment_now)
    return merge(read(rows.ask(others, values)), some, key=_stand)


def _stand(place: _Place) -> tuple[float, str, Scope]:
    return -place.worth, place.id, place.scope


class Foremost(NamedTuple):
    """Some records, and where the next one would stand in a list: its worth negated, its id and scope; None where there is none."""

    records: list[Record]
    rest: tuple[float, str, Scope] | None


def read_foremost(
    project: Project,
    ids: Collection[str],
    many: int,
    least: float,
    now: datetime,
    turns: Mapping[str, float],
    author: str | None = None,
) -> Foremost | None:
    """Return the records of *ids*, those that replace others, and the *many* (of *author*) that are worth most *now*, and *least* at least.

    By *turns*, of ids, each of them counts for so much less.

    None where the stores must be read.
    """

    def read(rows: Database) -> Foremost | None:
        first = [*islice(_order(project, rows, _usage_of(project), now, author, least, turns), many + 1)]
        also = [slot for (slot,) in rows.ask("SELECT slot FROM record WHERE replaces ORDER BY slot")]
        also += _find_slots(rows, ids)
        slots = dict.fromkeys([*(place.slot for place in first[:many]), *also])
        if len(also) > _MOST or (records := _read_all(project, rows, slots)) is None:
            return None
        rest = [*map(_stand, first[many:])]
        return Foremost(records, rest[0] if rest else None)

    return None if project.above else project.finder.file.ask(read)


def read_named(project: Project, ids: Collection[str]) -> list[Record] | None:
    """Return the records of *ids*, the nearer store's first; None where the stores must be read."""
    if project.above:
        return None
    return project.finder.file.ask(lambda rows: _read_all(project, rows, _find_slots(rows, ids)))


def _find_slots(rows: Database, ids: Collection[str]) -> list[int]:
    return [slot for scope in SCOPES for slot in rows.find_slots(scope, ids)]


def read_anchored(project: Project) -> list[Record] | None:
    """Return the records that have anchors and are not archived; None where the stores must be read."""

    def read(rows: Database) -> list[Record] | None:
        slots = [slot for (slot,) in rows.ask("SELECT slot FROM record WHERE anchored AND NOT archived ORDER BY slot")]
        return None if len(slots) > max(_MOST, rows.count() // 4) else _read_all(project, rows, slots)

    return project.finder.file.ask(read)


def read_names(project: Project) -> list[str] | None:
    """Return the names that each memory in force is about, once for each of them; None where the stores must be read."""

    def read(rows: Database) -> list[str]:
        found = rows.ask("SELECT names FROM record WHERE names != ''")
        return [name for (names,) in found for name in names.split()]

    return None if project.above else project.finder.file.ask(read)


def _read_all(project: Project, rows: Database, slots: Iterable[int]) -> list[Record] | None:
    records = [project.finder.file.read_record(rows, slot) for slot in slots]
    whole = [record for record in records if record]
    return whole if len(whole) == len(records) else None


def count_all(project: Project) -> int:
    """Return how many memories the stores have, archived ones too; where the rows know that, none is read."""
    if (found := project.finder.file.ask(lambda rows: rows.count())) is None:
        project.stores.refresh()
        found = sum(len(store.memories()) for store in project.stores.values())
    return found


def count_current(rows: Database) -> int:
    """Return how many memories are not archived."""
    found: int = rows.ask("SELECT count(*) FROM record WHERE NOT archived").fetchone()[0]
    return found


_LOOKED_AT: Final = 2_000  # memories, the latest, whose subjects are counted
_NEAR: Final = 8  # subjects and names that an answer suggests
_NAME: Final = r"`([^`\s]{3,40})`|\b([A-Za-z]\w*(?:[_./]\w+)+|[a-z]+[A-Z]\w+|[A-Z]\w*[a-z][A-Z]\w*)"


def count_subjects(project: Project) -> tuple[int, dict[str, int]]:
    """Return how many memories there are, and how many of the latest are about each subject, the most frequent first."""
    many, latest = project.finder.file.ask(_read_latest) or _read_stores(project)
    found = Counter(one for memory in latest if memory.archived_at is None for one in _subjects_of(memory))
    return many, dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def suggest_questions(project: Project, found: Recall) -> dict[str, list[str]]:
    """Return with which `subjects` and `names` to ask again where *found* has no sure answer: those of the nearest matches first."""
    near = [hit.memory for hit in found]
    subjects = [*(one for memory in near for one in sorted(_subjects_of(memory))), *count_subjects(project)[1]]
    names = [name for memory in near for name in (*memory.anchors, *map("".join, re.findall(_NAME, memory.content)))]
    said = {"subjects": _first(subjects), "names": _first(names)}
    return {key: some for key, some in said.items() if some}


def spell_suggestion(nearest: Mapping[str, Iterable[str]]) -> str:
    """Return *nearest*, of `suggest_questions`, as a line; "" for nothing."""
    said = [f"{key}: {', '.join(nearest[key])}" for key in ("subjects", "names") if nearest.get(key)]
    return f"no proof that nothing is known; ask once more, by {'; '.join(said)}" if said else ""


def _first(names: Iterable[str]) -> list[str]:
    return [shown_label(name) for name in list(dict.fromkeys(names))[:_NEAR]]


def _subjects_of(memory: Memory) -> set[str]:
    return {*(memory.tags or filter(None, folders_of(memory)))}


def _read_latest(rows: Database) -> tuple[int, list[Memory]]:
    from memsync.format.jsonl import read_lines

    latest = rows.ask("SELECT raw FROM line ORDER BY slot DESC LIMIT ?", (_LOOKED_AT,)).fetchall()
    lines = read_lines(b"\n".join(raw.strip() for (raw,) in latest))
    return rows.count(), [line.memory for line in lines if line.memory]


def _read_stores(project: Project) -> tuple[int, list[Memory]]:
    project.stores.refresh()
    memories = [memory for store in project.stores.values() for memory in store.memories().values()]
    return len(memories), memories[-_LOOKED_AT:]
