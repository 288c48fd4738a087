"""The cache of the index beside the stores: reading their lines by it, and what it lacks after a write. Needs no index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import sub
from typing import TYPE_CHECKING, Any, BinaryIO

from memsync.format import codec
from memsync.index import heads
from memsync.index.cache import Cached
from memsync.index.delta import Delta, copy, sum_line
from memsync.memories.asking import Held, as_lists
from memsync.records import SCOPES, Memory, Scope
from memsync.store import files
from memsync.store.changes import Span
from memsync.store.reading import NOWHERE, Stamps
from memsync.store.table import Table
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from memsync.format.codec import Line
    from memsync.index.core import Arrays
    from memsync.index.embed import Meaning
    from memsync.index.rank import Record
    from memsync.memories.catchup import Maker
    from memsync.store.store import Store


class Known(NamedTuple):
    """A cache that fits the files, and the lines of each store that may change, as it has them."""

    held: Held
    before: dict[Scope, dict[str, Line] | Table]


class Snapshot(NamedTuple):
    """What a cache is made of: its header as JSON, its arrays, the stamps of the files, and the records that it has of them."""

    header: str
    arrays: dict[str, Any]
    stamps: Mapping[Scope, Stamps]
    records: Sequence[Record]

    def has_more(self, stores: Mapping[Scope, Store]) -> bool:
        """Tell whether it has a record that *stores* have no more, to whose files others may have written since."""
        if {scope: store.look() for scope, store in stores.items()} == self.stamps:
            return False
        for store in stores.values():
            store.refresh()
        return any(stores[scope].get(memory.id) is None for scope, memory in self.records)


def take_down(known: Known, store: Store) -> None:
    """Note the lines of *store*, if they are still what the cache has."""
    scope = store.place.scope
    if scope not in known.before and as_lists(store.stamp or NOWHERE) == known.held.about["stamps"][scope]:
        known.before[scope] = store.known_lines()


def describe_lines(stores: Mapping[Scope, Store], scopes: Iterable[Scope]) -> dict[str, dict[Scope, Any]]:
    """Return what a cache says of the lines of each of *scopes*: its first problem, whether all are plain records, and these in the order of an export."""
    plain = {scope: stores[scope].is_plain() for scope in scopes}
    return {
        "problems": {scope: stores[scope].first_problem() for scope in scopes},
        "plain": plain,
        "ordered": {scope: plain[scope] and stores[scope].is_canonical() for scope in scopes},
    }


def recognise(held: Held, store: Store, stamp: files.Stamp, file: BinaryIO) -> list[Line] | Table | None:
    """Return the lines of *file*, that of *store* with this *stamp*, each with the id that *held* has of it, to be read late.

    All of them, or where they stand in the order of an export what finds them one by one. None: *held* fits another
    file, not all are plain records, or they are not where it has them.
    """
    scope = store.place.scope
    seen, plain, ordered = (held.about.get(name, {}).get(scope) for name in ("stamps", "plain", "ordered"))
    if seen != as_lists((stamp, files.ABSENT)) or plain is not True:
        return None
    numbers, starts, ends = (list(held.delta.lines[at::3]) for at in range(3))
    number, found = SCOPES.index(scope), held.heads
    slots: Iterable[int] = range(len(numbers))
    if found.dead or numbers.count(number) < len(numbers):
        slots = [slot for slot in found if numbers[slot] == number]
    slots = sorted(slots, key=starts.__getitem__)
    if ordered is True and slots:
        return Table(store.path, stamp, found, held.delta.lines, slots)
    firsts, behind = [*map(starts.__getitem__, slots)], [0, *(ends[slot] + 1 for slot in slots)]
    raws = [line[:-1] for line in file]
    if [*firsts, stamp.size] != behind or [*map(len, raws)] != [*map(sub, behind[1:], map((1).__add__, firsts))]:
        return None
    said = (map(told.__getitem__, slots) for told in (found.forms, found.replaces))
    return [*codec.make_late(raws, map(found.ids.__getitem__, slots), *said)]


def find_delta(
    known: Known, stores: Mapping[Scope, Store], meaning: Meaning | None, *, stop_words: bool
) -> Delta | None:
    """Return what the cache lacks of *stores* now; None if it lacks nothing, or if nobody can tell without an index."""
    held, about = known.held, known.held.about
    before = {scope: was for scope, was in known.before.items() if isinstance(was, Table)}
    tables = {scope: was for scope, was in before.items() if stores[scope].known_lines() is was}
    if any(was.before is None for scope, was in before.items() if scope not in tables):
        return None  # others have written since, and it was dropped unread
    are_tables = tables.keys() == known.before.keys()
    spans, stamps = {}, dict(about["stamps"])
    for scope in known.before:
        if are_tables:
            stamps[scope] = as_lists(stores[scope].stamp or NOWHERE)
            continue
        seen, spans[scope] = stores[scope].spans()
        if len(spans[scope]) != stores[scope].count_live():
            return None  # some were merged, and have no line
        stamps[scope] = as_lists(seen)
    others = stores.keys() - known.before.keys()
    is_known = all(as_lists(stores[scope].look()) == stamps[scope] for scope in others)
    if not is_known or stamps == about["stamps"] or any(seen is None for seen in stamps.values()):
        return None
    said = {name: {**about[name], **about_lines} for name, about_lines in describe_lines(stores, known.before).items()}
    said["stamps"] = stamps
    from memsync.memories.catchup import Maker

    maker = Maker(held, meaning, stop_words)
    return _follow(known, tables, said, maker) if are_tables else _compare(known, spans, said, maker)


def _compare(known: Known, spans: Mapping[Scope, Mapping[str, Span]], said: dict[str, Any], maker: Maker) -> Delta:
    """Return the lines of all slots as they are now, the slots of what changed or went, and what came."""
    from memsync.memories.catchup import join_places, split_places

    numbers, starts, ends = columns = split_places(known.held.delta.lines)
    dead, sums, memories = set(known.held.delta.dead), list(known.held.delta.sums), list[Memory]()
    slots = _find_slots(known)
    for scope, table_or_lines in known.before.items():
        before = table_or_lines.before or {} if isinstance(table_or_lines, Table) else table_or_lines
        gone, first = slots[scope], SCOPES.index(scope)
        for id_, (file, start, end, line) in spans[scope].items():
            was = before.get(id_)
            if was is line or (was is not None and was.memory == line.memory):
                at = gone.pop(id_)
                numbers[at], starts[at], ends[at] = first + len(SCOPES) * file, start, end
                sums[at] = sums[at] if was is line else sum_line(line.raw)
            elif line.memory:
                for column, one in zip(columns, (first + len(SCOPES) * file, start, end), strict=True):
                    column.append(one)
                sums.append(sum_line(line.raw))
                memories.append(line.memory)
        dead.update(gone.values())
    return maker.make(said, join_places(columns), sums, sorted(dead), memories)


def _follow(known: Known, tables: Mapping[Scope, Table], said: dict[str, Any], maker: Maker) -> Delta:
    """Return what `_compare` does where lines were added and nothing else was done."""
    memories, lines, sums = list[Memory](), known.held.delta.lines, copy("Q", known.held.delta.sums)
    for scope, table in tables.items():
        came = [(place, line) for place, line in table.list_new() if line.memory]
        lines = table.list_places(lines)
        memories += [line.memory for _, line in came if line.memory]
        lines.extend(chain.from_iterable((SCOPES.index(scope), *place) for place, _ in came))
        sums.extend(sum_line(line.raw) for _, line in came)
    return maker.make(said, lines, sums, known.held.delta.dead, memories)


def _find_slots(known: Known) -> dict[Scope, dict[str, int]]:
    """Return the slot of each live record of the stores that may have changed, by id."""
    numbers, ids = known.held.delta.lines[::3], known.held.heads.ids
    slots: dict[int, dict[str, int]] = {SCOPES.index(scope): {} for scope in known.before}
    for slot in known.held.heads:
        if (found := slots.get(numbers[slot] % len(SCOPES))) is not None:
            found[ids[slot]] = slot
    return {SCOPES[at]: found for at, found in slots.items()}


def name_arrays(records: Sequence[Record], lines: list[int], sums: list[int], arrays: Arrays) -> dict[str, Any]:
    """Return all arrays by name, with the head of each record and the scope, the place and the sum of its line."""
    import numpy as np

    parts: dict[str, Any] = {"lines": np.array(lines, np.int64), "sums": np.array(sums, np.uint64)}
    parts |= {"keys": arrays.keys, "texts": arrays.texts}
    parts |= heads.name_arrays(memory for _, memory in records)
    for group in ("base", "forward", "grams", "vectors"):
        if (value := getattr(arrays, group)) is not None:
            parts |= {f"{group}.{name}": getattr(value, name) for name in value.__dataclass_fields__}
    return parts


def read_arrays(cached: Cached, *, has_vectors: bool) -> Arrays:
    """Return the arrays that `name_arrays` has named, as *cached* maps them; without vectors unless it *has* those of our embedder."""
    from memsync.index.core import Arrays
    from memsync.index.forward import Forward
    from memsync.index.lexical import Base
    from memsync.index.spelling import Grams
    from memsync.index.vectors import Rows

    def group(name: str) -> dict[str, Any]:
        return {key.partition(".")[2]: cached.array(key) for key in cached.views if key.startswith(f"{name}.")}

    return Arrays(
        keys=cached.array("keys"),
        texts=cached.array("texts"),
        base=Base(**group("base")),
        forward=Forward(**group("forward")),
        grams=Grams(**group("grams")),
        vectors=Rows(**group("vectors")) if has_vectors else None,
    )
