"""Where a symbol is defined in a file, by its lines: no parser, so that it is the same for every language. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_KEYWORDS: Final = (
    "def|class|func|function|fn|fun|sub|module|struct|enum|trait|impl|interface|type|const|let|var|val|static|macro"
    "|define|namespace|record|object|resource|message|table|view|procedure"
)
_CLOSING: Final = re.compile(r"\s*(?:[)\]}]|end\b)")


class Block(NamedTuple):
    """The lines of a symbol: from `first` (counted from 0) to before `end`."""

    first: int
    end: int


def find_block(rows: Sequence[str], symbol: str) -> Block | None:
    """Return where *symbol* is defined in *rows*; of `Class.method` the method in the class. None if it is not."""
    block = Block(0, len(rows))
    for part in re.split(r"\.|::|#", symbol):
        at = _find_definition(rows, part, block)
        if at is None:
            return None
        block = Block(at, _find_end(rows, at))
    return block


def _find_definition(rows: Sequence[str], name: str, within: Block) -> int | None:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    strong = re.compile(rf"\b(?:{_KEYWORDS})\b[^=({{;]{{0,80}}?(?:\([^)]*\)\s*)?{word}")
    # a name at the start of its line: an assignment, a key, a method, a setting and its value
    weak = re.compile(rf"\s*(?:[\w@$-]+\s+){{0,4}}{word}\s*(?:[:=(]|\s[\w\"'])")
    for pattern in (strong, weak):
        for at in range(within.first, within.end):
            if (
                name in rows[at]
                and len(rows[at]) < 2_000
                and pattern.match(rows[at].lstrip() if pattern is strong else rows[at])
            ):
                return at
    return None


def _find_end(rows: Sequence[str], first: int) -> int:
    """Return the line behind what is indented more than line *first*, with the line that closes it."""
    depth = _indent(rows[first])
    end = first + 1
    while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > depth):
        end += 1
    if end < len(rows) and _CLOSING.match(rows[end]) and _indent(rows[end]) == depth:
        is_signature = rows[end].rstrip().endswith((":", "{"))
        return _find_end(rows, end) if is_signature else end + 1
    while end > first + 1 and not rows[end - 1].strip():
        end -= 1
    return end


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())
