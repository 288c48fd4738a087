"""Telling that a merge of text, without our driver, put two versions of a record into one file without a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain

from memsync.format.codec import NEVER, Line


def find(lines: Sequence[Line]) -> dict[str, list[list[Line]]]:
    """Return, by id, the lines of each side where a merge of text put two versions of a record into one file.

    memsync appends at the end, and never goes back in time. So a line was not appended here if it was written before one
    that it would replace, unless it repeats that, or if older records follow it in the order of the canonical form.
    """
    named = [line for line in lines if line.id is not None]
    counts = Counter(line.id for line in named)
    if len(counts) == len(named):
        return {}
    found: dict[str, list[list[Line]]] = {line.id: [[]] for line in named if line.id and counts[line.id] > 1}
    inside = _find_inside(named, found)
    for number, line in enumerate(named):
        if sides := found.get(line.id or ""):
            earlier = [*chain(*sides)]
            goes_back = any(NEVER < line.moment < other.moment for other in sides[-1]) and line not in earlier
            if goes_back or (earlier and number in inside):
                sides.append([])
            sides[-1].append(line)
    return {id_: sides for id_, sides in found.items() if len(sides) > 1}


def _find_inside(lines: Sequence[Line], repeated: Collection[str]) -> set[int]:
    """Return which of the sorted last *lines* have a record behind them that was written earlier."""
    inside: set[int] = set()
    oldest, after = None, None
    for number, line in reversed([*enumerate(lines)]):
        if after is not None and (line.id or "") >= after:
            break
        after = line.id or ""
        if oldest and oldest < line.moment:
            inside.add(number)
        if after not in repeated and line.moment > NEVER:
            oldest = min(filter(None, (oldest, line.moment)))
    return inside
