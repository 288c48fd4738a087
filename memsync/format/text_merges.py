"""Telling that a merge of text, without our driver, put two versions of a record into one file without a word.

memsync appends at the end, each new version behind the line that it replaces, and never goes back in time. So a line was
not appended to the others of its record here

- if it was written before one of them, unless it repeats one;
- if the next line replaces it, but it repeats none: then another side has changed what it was;
- if older records follow it in the order of the canonical form, unless it stands behind the line that it replaces.

None of that says anything of lines that other tools wrote, so one of the versions must be in memsync's own spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice

from memsync.format.codec import NEVER, Line, bare, is_canonical
from memsync.format.jsonl import repeated_ids


class _Record:
    """The lines of one id, by the side that wrote them; the side at the end is the one that goes on."""

    def __init__(self) -> None:
        self.sides: list[list[Line]] = [[]]
        self._seen: set[bytes] = set()
        self._latest: datetime | None = None  # when the last of the side that goes on was written
        self._replaced_at = -2  # where the last line was that may be there only as what the next one replaces

    def add(self, line: Line, number: int, after: Line | None, *, is_inside: bool) -> None:
        """Add the line at *number*, which the line *after* follows."""
        is_base = after is not None and after.id == line.id and line.moment < after.moment and self._is_new(after)
        is_new = self._is_new(line)
        goes_back = is_new and self._goes_back(line, is_base=is_base)
        if goes_back or (is_new and self._seen and is_inside and self._replaced_at != number - 1):
            self.sides.append([])
            self._latest = None
        elif resumed := [side for side in self.sides[:-1] if not is_new and bare(side[-1].raw) == bare(line.raw)]:
            self.sides.remove(resumed[0])
            self.sides.append(resumed[0])
            self._latest = max(one.moment for one in resumed[0])
        if not is_new or (goes_back and is_base):
            self._replaced_at = number
        self._seen.add(bare(line.raw))
        self.sides[-1].append(line)
        self._latest = max(line.moment, self._latest or NEVER)

    def _is_new(self, line: Line) -> bool:
        return bare(line.raw) not in self._seen

    def _goes_back(self, line: Line, *, is_base: bool) -> bool:
        latest = self._latest
        return latest is not None and (
            NEVER < line.moment < latest or (is_base and line.moment <= latest and bool(self.sides[-1][-1].memory))
        )


def may_add_sides(known: Sequence[Line], added: Sequence[Line], current: Mapping[str, Line]) -> bool:
    """Tell whether the lines *added* behind those *known*, which have no sides and of which *current* count, may make one; False is certain.

    Looks at no more of what is known than its end, in the order of the canonical form, but where older records stand there.
    """
    newest: dict[str, Line] = {}
    before, is_repeat = next((line for line in reversed(known) if line.id is not None), None), False
    for line in added:
        if line.id is None:
            continue
        old = newest.get(line.id) or current.get(line.id)
        if old and line.moment < old.moment:
            return True
        if before and before.id == line.id and before.moment < line.moment and not is_repeat:
            return True
        before, is_repeat = line, old is not None and bare(old.raw) == bare(line.raw)
        newest[line.id] = line
    lines = [*known, *added]
    inside = _find_inside(lines, ())
    ids = {lines[number].id for number in inside}
    return bool(inside) and any(line.id in ids for line in islice(lines, min(inside)))


def find(lines: Sequence[Line], *, is_doubtful: bool = False) -> dict[str, list[list[Line]]]:
    """Return, by id, the lines of each side where a merge of text put two versions of a record into one file; also of other tools' lines, if *is_doubtful*."""
    if not (repeated := repeated_ids(lines)):
        return {}
    named = [line for line in lines if line.id is not None]
    numbers = [number for number, line in enumerate(named) if line.id in repeated]
    found = {named[number].id or "": _Record() for number in numbers}
    inside = _find_inside(named, found)
    for number in numbers:
        line, after = named[number], named[number + 1] if number + 1 < len(named) else None
        found[line.id or ""].add(line, number, after, is_inside=number in inside)
    return {
        id_: record.sides
        for id_, record in found.items()
        if len(record.sides) > 1 and (is_doubtful or _is_ours(record.sides))
    }


def _is_ours(sides: Sequence[Sequence[Line]]) -> bool:
    return any(is_canonical(line.raw) for side in sides for line in side)


def _find_inside(lines: Sequence[Line], repeated: Collection[str]) -> set[int]:
    """Return which of the sorted last *lines* have a record behind them that was written earlier."""
    inside: set[int] = set()
    oldest, after = None, None
    for number in reversed(range(len(lines))):
        line = lines[number]
        if line.id is None:
            continue
        if after is not None and line.id >= after:
            break
        after = line.id
        if oldest and oldest < line.moment:
            inside.add(number)
        if after not in repeated and line.moment > NEVER:
            oldest = min(filter(None, (oldest, line.moment)))
    return inside
