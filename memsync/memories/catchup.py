"""What a cache lacks of files that others have written since: their lines beside those that it was made of, by their sums (ADR 103).

One rule says what is left to the making of an index: before and now, each line of a file is a record with an id of its own,
there is nothing to say of any, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from memsync.index.delta import MOST, Delta, copy, make_late, sum_lines
from memsync.records import SCOPES, Scope
from memsync.store import files
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from array import array

    from memsync.index.embed import Meaning
    from memsync.memories.asking import Held
    from memsync.records import Memory
    from memsync.store.places import Place

_NEW: Final = -1  # the slot of a line that is in none yet


class Maker(NamedTuple):
    """What makes the delta that follows what is *held*."""

    held: Held
    meaning: Meaning | None
    stop_words: bool

    def make(
        self,
        said: Mapping[str, Any],
        lines: Sequence[int],
        sums: Sequence[int],
        dead: Sequence[int],
        memories: Sequence[Memory],
    ) -> Delta:
        """Return the delta of which *said* tells, with the places and the sums of all slots; the last ones are those of *memories*."""
        held, before = self.held, self.held.about.get("heads", [])
        if not memories:
            return Delta({**said, "heads": before}, lines, dead, held.delta.late, sums)
        from memsync.index.heads import all_heads
        from memsync.index.tokens import Tokenizer

        tokenizer = Tokenizer(stop_words=self.stop_words)
        late = (make_late(memory, held.cached, tokenizer, self.meaning) for memory in memories)
        return Delta({**said, "heads": all_heads(before, memories)}, lines, dead, [*held.delta.late, *late], sums)


def catch_up(maker: Maker, stamps: Mapping[Scope, list[list[int]]], places: Mapping[Scope, Place]) -> Delta | None:
    """Return the delta with which what is held fits the files at *places*, which have these *stamps*; None if an index must be made.

    Raises:
        StoreUnreadable, OutsideTree
    """
    about = maker.held.about
    seen = about["stamps"]
    changed = [scope for scope in stamps if seen.get(scope) != stamps[scope]]
    if seen.keys() != stamps.keys() or not all(about["plain"].get(scope) is True for scope in changed):
        return None
    slots = _Slots(maker.held)
    for scope in changed:
        file, waiting = (files.Stamp(*one) for one in stamps[scope])
        if waiting != files.ABSENT or not slots.follow(scope, places[scope], file):
            return None
    said = {
        "stamps": stamps,
        "problems": {**about["problems"], **dict.fromkeys(changed)},
        "plain": about["plain"],
        "ordered": {**about["ordered"], **slots.ordered},
    }
    return maker.make(said, join_places(slots.columns), slots.sums, sorted(slots.dead), slots.memories)


class _Slots:
    """Where the line of each slot is, while one file after the other is looked at."""

    def __init__(self, held: Held) -> None:
        self._numbers, self._starts, self._ends = self.columns = split_places(held.delta.lines)
        self._ids, self._was_ordered = held.heads.ids, held.about["ordered"]
        self._late = len(held.delta.late)
        self.sums, self.dead = copy("Q", held.delta.sums), set(held.delta.dead)
        self.memories: list[Memory] = []
        self.ordered: dict[Scope, bool] = {}

    def follow(self, scope: Scope, place: Place, stamp: files.Stamp) -> bool:
        """Take in the file of *scope*; False if it has not that *stamp*, not all of its lines are plain, or too many came or went."""
        number = SCOPES.index(scope)
        with files.open_to_read(files.resolve_inside(place.memories, place.tree)) as (source, found):
            sums, sizes = sum_lines(source)
            starts = [*accumulate(sizes, initial=0)]
            if (slots := self._match(number, sums)) is None:
                return False
            others = self._find_others(slots)
            if found != stamp or starts[-1] != max(stamp.size, 0) or self._is_too_much(slots, others):
                return False
            raws = {at: _read(source, starts[at], sizes[at]) for at in others}
            if stamp != files.ABSENT and files.stamp_of(source) != stamp:
                return False  # somebody writes to it
        ids = [*map(self._ids.__getitem__, slots)]
        for at, raw in raws.items():
            if slots[at] == _NEW:
                if (memory := _read_record(raw)) is None:
                    return False
                ids[at], slots[at] = memory.id, self._add(memory, sums[at])
            self._numbers[slots[at]] = number
        any(map(self._starts.__setitem__, slots, starts))
        any(map(self._ends.__setitem__, slots, map((-1).__add__, starts[1:])))
        is_spelled = all(raw[:1] == b"{" and raw[-2:] == b"}\n" for raw in raws.values())
        self.ordered[scope] = self._was_ordered[scope] is True and is_spelled and ids == sorted(ids)
        return len({*ids}) == len(ids)

    def _match(self, number: int, sums: Sequence[int]) -> list[int] | None:
        """Return the slot of each line by its sum, _NEW of one that none has, and let the others die; None if sums do not tell lines apart."""
        numbers, dead = self._numbers, self.dead
        live: Sequence[int] = range(len(numbers))
        if dead or numbers.count(number) < len(numbers):
            live = [slot for slot, one in enumerate(numbers) if one == number and slot not in dead]
        known = dict(zip(map(self.sums.__getitem__, live), live, strict=True))
        if len(known) < len(live):
            return None
        for slot in dead:
            if numbers[slot] % len(SCOPES) == number:
                known.setdefault(self.sums[slot], slot)
        slots = [*map(known.pop, sums, repeat(_NEW))]
        self.dead = dead.union(known.values())
        return slots

    def _find_others(self, slots: Sequence[int]) -> list[int]:
        """Return where in *slots* the new and the dead are; those live again."""
        if (others := {_NEW, *self.dead}).isdisjoint(slots):
            return []
        found = [at for at, slot in enumerate(slots) if slot in others]
        self.dead.difference_update(slots[at] for at in found)
        return found

    def _is_too_much(self, slots: Sequence[int], others: Sequence[int]) -> bool:
        new = sum(slots[at] == _NEW for at in others)
        return len(self.dead) + self._late + len(self.memories) + new > MOST

    def _add(self, memory: Memory, sum_: int) -> int:
        """Return the slot of a *memory* that is new."""
        self.memories.append(memory)
        self.sums.append(sum_)
        for column in self.columns:
            column.append(0)
        return len(self.sums) - 1


def split_places(lines: Sequence[int]) -> list[array[int]]:
    """Return the columns of *lines*, the places of a delta: the number of each line's file, where it begins, and where it ends."""
    rows = copy("q", lines)
    return [rows[at::3] for at in range(3)]


def join_places(columns: Sequence[array[int]]) -> array[int]:
    """Return the places that `split_places` has split into *columns*."""
    rows = copy("q", [0]) * (3 * len(columns[0]))
    for at, column in enumerate(columns):
        rows[at::3] = column
    return rows


def _read(source: BinaryIO, start: int, size: int) -> bytes:
    source.seek(start)
    return source.read(size)


def _read_record(line: bytes) -> Memory | None:
    """Return the record that a *line* with its newline says, if there is nothing else to say of it."""
    from memsync.format.codec import decode

    found = decode(line[:-1])
    return found.memory if line.endswith(b"\n") and not found.problem else None
