"""Telling that a merge of text, without our driver, put two versions of a record into one file without a word.

memsync appends at the end, each new version behind the line that it replaces, and never goes back in time. So a line was
not appended to the others of its record here

- if it was written before one of them, unless it repeats one;
- if the next line replaces it, but it repeats none: then another side has changed what it was;
- if older records follow it in the order of the canonical form, unless it stands behind the line that it replaces.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from memsync.format.codec import NEVER, Line, bare
from memsync.format.jsonl import repeated_ids
from memsync.system.dataclass import dataclass, field

# Stands for any record that is still to come: behind all others, and older than they are.
_OLD: Final = Line(b"", chr(sys.maxunicode), deleted_at=NEVER + timedelta(microseconds=1))


@dataclass
class _Record:
    """The lines of one id, by the side that wrote them; the side at the end is the one that goes on."""

    sides: list[list[Line]] = field(default_factory=lambda: [[]])
    _seen: set[bytes] = field(default_factory=set)
    _latest: datetime | None = None  # when the last of the side that goes on was written
    _replaced_at: int = -2  # where the last line was that may be there only as what the next one replaces

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


def may_have_sides(lines: Sequence[Line]) -> bool:
    """Tell whether *lines* have two sides of a record, or would if a record that was written long ago stood behind them."""
    return bool(find([*lines, _OLD]))


def find(lines: Sequence[Line]) -> dict[str, list[list[Line]]]:
    """Return, by id, the lines of each side where a merge of text put two versions of a record into one file."""
    if not (repeated := repeated_ids(lines)):
        return {}
    named = [line for line in lines if line.id is not None]
    numbers = [number for number, line in enumerate(named) if line.id in repeated]
    found = {named[number].id or "": _Record() for number in numbers}
    inside = _find_inside(named, found)
    for number in numbers:
        line, after = named[number], named[number + 1] if number + 1 < len(named) else None
        found[line.id or ""].add(line, number, after, is_inside=number in inside)
    return {id_: record.sides for id_, record in found.items() if len(record.sides) > 1}


def _find_inside(lines: Sequence[Line], repeated: Collection[str]) -> set[int]:
    """Return which of the sorted last *lines* have a record behind them that was written earlier."""
    inside: set[int] = set()
    oldest, after = None, None
    for number in reversed(range(len(lines))):
        line = lines[number]
        if after is not None and (line.id or "") >= after:
            break
        after = line.id or ""
        if oldest and oldest < line.moment:
            inside.add(number)
        if after not in repeated and line.moment > NEVER:
            oldest = min(filter(None, (oldest, line.moment)))
    return inside
