"""Writing a memory file clean that git left in conflict: the merge of git's three versions, and what a hand did to the file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Final

from memsync.format import jsonl, merge
from memsync.format.codec import Line, bare
from memsync.store import checkout
from memsync.store.changes import Exported
from memsync.store.filters import smudge
from memsync.store.store import Store

_LOOKED_AT: Final = 8000  # bytes in which git looks for a NUL, and then takes a file for binary


def resolve(store: Store) -> Exported:
    """Write the file of *store* without conflict markers, as our driver merges the versions that git's index holds.

    What was changed in the file since git left it is kept. Nothing is staged.
    A file without markers is exported as always.

    Raises:
        StoreError: nothing was changed.
    """
    found = checkout.read_stages(store.path)
    if not {2, 3} <= found.keys():
        return store.export(settle=merge.settle)
    stored = [found.get(stage, b"") for stage in (1, 2, 3)]
    git, name = checkout.find_checkout(store.path)
    is_binary = any(b"\0" in data[:_LOOKED_AT] for data in stored) or _takes_for_binary(git, name)
    smudged = [smudge(git, name, data) for data in stored]
    return store.export(settle=partial(_merge_stages, stored, smudged, is_binary=is_binary))


def _takes_for_binary(git: checkout.Checkout, name: str) -> bool:
    """Tell whether a line of a `.gitattributes` (`-merge`, `binary`, `merge=binary`) has git leave ours in a conflict, without markers."""
    return git.run("check-attr", "-z", "merge", "--", name).paths[2:] in (["unset"], ["binary"])


def _merge_stages(
    stored: Sequence[bytes], versions: Sequence[bytes], lines: Sequence[Line], *, is_binary: bool
) -> list[Line]:
    """Merge the three *versions*, in which the edits are done that a hand did to *lines*, the file that git left.

    However git compares texts, it leaves each line that a side added, and each that both sides kept. So a line that is
    in no version was written by a hand, and one of these that is not there was taken out by a hand. Of a line that one
    side alone took out, git may leave a copy between markers or not, so that it says nothing.

    Of what it cannot merge as text git leaves ours, with what nobody had committed of it, for it begins over that. Of
    what it has *stored* in another form it may leave markers around that: then no line counts as taken out.
    """
    read = [jsonl.read_lines(data) for data in versions]
    raws = [{bare(line.raw) for line in one} for one in read]
    base, *sides = map(merge.settle, read)
    if is_binary and not jsonl.in_conflict(lines):
        return merge.merge_lines(base, merge.settle(lines), sides[1])
    if not jsonl.in_conflict(lines) and not jsonl.repeated_ids(lines):
        return list(lines)  # somebody has resolved it
    if stored != versions:
        left = [*chain(*read, *map(jsonl.read_lines, stored))]
        lines = [*lines, *(line for line in left if not line.is_marker)]
        raws[0] |= {bare(line.raw) for line in left}
    hand = _Hand(lines, raws)
    last = [{line.id: line for line in one if line.id} for one in (base, *sides)]
    ours, theirs = (list(hand.edit(number, side, last)) for number, side in enumerate(sides, 1))
    merged = merge.merge_lines(base, hand.add_new(ours, last), theirs)
    for id_, line in hand.list_more(last):  # beside what both sides have of this record
        merged = merge.merge_lines(_put(merged, id_, last[0].get(id_)), merged, _put(merged, id_, line))
    return merged


class _Hand:
    """What a hand did to the file that git left: lines written, and lines of a version taken out."""

    def __init__(self, lines: Sequence[Line], known: Sequence[set[bytes]]) -> None:
        self._known = known  # what the base, ours and theirs have
        self._there = {bare(line.raw) for line in lines}
        self._records: dict[str, list[Line]] = {}  # those written, by id
        self._loose: dict[str, list[Line]] = {}  # lines written that cannot be read, by the id that they follow
        anchor = ""
        for line in lines:
            anchor = line.id or anchor
            if line.is_marker or any(bare(line.raw) in one for one in known):
                continue
            if line.id:
                self._records.setdefault(line.id, []).append(line)
            elif line.problem:
                self._loose.setdefault(anchor, []).append(line)

    def edit(self, number: int, side: Sequence[Line], last: Sequence[dict[str, Line]]) -> list[Line]:
        """Return the lines of *side*, which is version *number*, with those replaced or left out that a hand took out."""
        edited: list[Line] = []
        for line in side:
            if not self._is_taken(number, line):
                edited.append(line)
            elif line.id and (other := self._find_instead(number, line.id, last)):
                edited.append(other)
        return edited

    def _is_taken(self, number: int, line: Line) -> bool:
        raw = bare(line.raw)
        base, side, other = self._known[0], self._known[number], self._known[3 - number]
        return raw in side and raw not in self._there and (raw not in base or raw in other)

    def _find_instead(self, number: int, id_: str, last: Sequence[dict[str, Line]]) -> Line | None:
        """Return what a hand left of a record, of which it took out the line of version *number*."""
        if rows := self._records.get(id_):
            return rows[-1 if number == 2 or len(rows) == 1 else 0]
        found = (last[other].get(id_) for other in (3 - number, 0))
        return next((line for line in found if line and bare(line.raw) in self._there), None)

    def add_new(self, side: list[Line], last: Sequence[dict[str, Line]]) -> list[Line]:
        """Return *side* with the lines that were written: records that no version has, and what cannot be read."""
        loose = dict(self._loose)
        new = [row for id_, rows in self._records.items() if not any(id_ in one for one in last) for row in rows]
        added: list[Line] = []
        for line in [*side, *new]:
            added += [line, *(loose.pop(line.id, ()) if line.id else ())]
        return [*added, *(line for rows in loose.values() for line in rows)]

    def list_more(self, last: Sequence[dict[str, Line]]) -> list[tuple[str, Line]]:
        """Return the lines that were written of a record, with its id, and replace none that was taken out."""
        more: list[tuple[str, Line]] = []
        for id_, rows in self._records.items():
            lines = [one.get(id_) for one in last]
            used = [self._find_instead(n, id_, last) for n in (1, 2) if (line := lines[n]) and self._is_taken(n, line)]
            if any(lines):
                more += [(id_, row) for row in rows if row not in used]
        return more


def _put(lines: Sequence[Line], id_: str, new: Line | None) -> list[Line]:
    """Return *lines* with *new* in the place of the record *id_*, or without it."""
    put = [new if line.id == id_ else line for line in lines]
    is_new = new is not None and all(line.id != id_ for line in lines)
    return [line for line in [*put, *([new] if is_new else [])] if line is not None]
