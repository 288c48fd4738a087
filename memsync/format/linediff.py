"""Two versions of a text, line by line, as a unified diff that takes no minutes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from typing import Final

from memsync.format.worddiff import count_same

_HUNK: Final = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@$")
_MOST: Final = 100_000  # pairs of equal lines, which take at most a second
_POPULAR: Final = 200  # lines, from which on difflib passes over those that are more than a hundredth of them


def diff_lines(before: Sequence[str], after: Sequence[str], *, context: int) -> list[str]:
    """Return the hunks of a unified diff of two lists of lines with *context* lines around what differs, without the names of files.

    What would take too long is first compared without what both begin and end with, then shown as one change.
    """
    if _count_pairs(before, after) <= _MOST:
        return _list_hunks(before, after, context)
    head = count_same(before, after)
    tail = count_same(reversed(before[head:]), reversed(after[head:]))
    skip, spare = max(0, head - context), max(0, tail - context)
    one, two = before[skip : len(before) - spare], after[skip : len(after) - spare]
    if _count_pairs(one, two) <= _MOST:
        return [_shift(row, skip) for row in _list_hunks(one, two, context)]
    first, last = head - skip, tail - spare
    rows = [f"@@ -{skip + 1},{len(one)} +{skip + 1},{len(two)} @@", *(f" {row}" for row in one[:first])]
    rows += [f"-{row}" for row in one[first : len(one) - last]] + [f"+{row}" for row in two[first : len(two) - last]]
    return [*rows, *(f" {row}" for row in one[len(one) - last :])]


def _list_hunks(before: Sequence[str], after: Sequence[str], context: int) -> list[str]:
    return list(unified_diff(before, after, n=context, lineterm=""))[2:]


def _shift(row: str, lines: int) -> str:
    return _HUNK.sub(lambda found: f"@@ -{int(found[1]) + lines}{found[2]} +{int(found[3]) + lines}{found[4]} @@", row)


def _count_pairs(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many pairs of equal lines difflib looks at."""
    counts, limit = Counter(after), len(after) // 100 + 1
    is_long = len(after) >= _POPULAR
    return sum(count * counts[row] for row, count in Counter(before).items() if not (is_long and counts[row] > limit))
