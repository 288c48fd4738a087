"""Memories as people read them, and two versions of a text: word by word, or line by line as a unified diff; neither takes minutes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import takewhile
from typing import Final, Literal, NamedTuple

from memsync.format import codec, jsonl
from memsync.format.codec import Line

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MANY: Final = 3_000  # words, beyond which whole lines are compared: comparing is quadratic
_MOST: Final = (
    300_000  # pairs of equal words or lines, which take 60 ms; of a text of blank lines each is one with each
)
_MOST_LINES: Final = 4_000  # of both texts: difflib looks at each several times
_BETWEEN: Final = ", "  # the entries of a list; one that has it in an entry is spelled as JSON


class Piece(NamedTuple):
    """A run of text: in both versions (" "), only in the old one ("-") or only in the new one ("+")."""

    mark: Literal[" ", "-", "+"]
    text: str


def compare(old: str, new: str) -> list[Piece]:
    """Return the pieces of both, in order: those not marked "+" make up *old*, those not marked "-" *new*."""
    found = _compare_by(_WORDS, old, new) if len(old) + len(new) < 4 * _MANY else None
    found = found or _compare_by(_LINES, old, new) or [Piece("-", old), Piece("+", new)]
    return list(_join_changes(iter(found)))


def _compare_by(split: re.Pattern[str], old: str, new: str) -> list[Piece] | None:
    """Return the pieces by what *split* finds; None where that would take too long, also without what both begin and end with."""
    before, after = split.findall(old), split.findall(new)
    if _count_pairs(before, after) <= _MOST:
        return list(_find_pieces(before, after))
    head = count_same(before, after)
    tail = count_same(reversed(before[head:]), reversed(after[head:]))
    one, two = before[head : len(before) - tail], after[head : len(after) - tail]
    if _count_pairs(one, two) > _MOST:
        return None
    same = (Piece(" ", "".join(before[:head])), Piece(" ", "".join(before[len(before) - tail :])))
    return [same[0], *_find_pieces(one, two), same[1]]


def count_same(before: Iterable[str], after: Iterable[str]) -> int:
    """Return with how many of the same *before* and *after* begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def _count_pairs(before: list[str], after: list[str]) -> int:
    counts = Counter(after)
    return sum(count * counts[one] for one, count in Counter(before).items())


def _find_pieces(before: list[str], after: list[str]) -> Iterator[Piece]:
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Piece(" ", "".join(before[a:b]))
        else:
            yield Piece("-", "".join(before[a:b]))
            yield Piece("+", "".join(after[c:d]))


def _join_changes(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Join changes that only white space keeps apart, which read better as one."""
    old = new = gap = ""
    for mark, text in pieces:
        if mark == "-":
            old, new, gap = old + gap + text, new + gap, ""
        elif mark == "+":
            new += text
        elif (old or new) and not gap and text.isspace():
            gap = text
        else:
            yield from _pieces_of(old, new)
            if gap or text:
                yield Piece(" ", gap + text)
            old = new = gap = ""
    yield from _pieces_of(old, new)
    if gap:
        yield Piece(" ", gap)


def _pieces_of(old: str, new: str) -> Iterator[Piece]:
    if old:
        yield Piece("-", old)
    if new:
        yield Piece("+", new)


def diff_lines(before: Sequence[str], after: Sequence[str], *, context: int) -> list[str]:
    """Return the hunks of a unified diff of two lists of lines with *context* lines around what differs, without the names of files.

    Of more lines than can be compared in a few seconds, what lies between those that both begin and end with is one change.
    """
    if len(before) + len(after) <= _MOST_LINES:
        return list(unified_diff(before, after, n=context, lineterm=""))[2:]
    head = count_same(before, after)
    tail = count_same(reversed(before[head:]), reversed(after[head:]))
    if head + tail == len(before) == len(after):
        return []
    skip, first, last = max(0, head - context), min(head, context), min(tail, context)
    one, two = before[skip : len(before) - tail + last], after[skip : len(after) - tail + last]
    rows = [f"@@ -{skip + 1},{len(one)} +{skip + 1},{len(two)} @@", *(f" {row}" for row in one[:first])]
    rows += [f"-{row}" for row in one[first : len(one) - last]] + [f"+{row}" for row in two[first : len(two) - last]]
    return [*rows, *(f" {row}" for row in one[len(one) - last :])]


def readable(data: bytes) -> bytes:
    """Return a memory file as text: the same for the same bytes, whatever the clock and the settings."""
    blocks = filter(None, map(_spell, jsonl.read_lines(data)))
    return "".join(f"{block}\n\n" for block in blocks).encode("utf-8", "backslashreplace")


def _spell(line: Line) -> str:
    if line.memory:
        fields = codec.fields_of(line.memory)
        del fields["id"], fields["content"]
        kind = fields.pop("memory_type", line.memory.memory_type)
        said = [f"{key}: {_value(value)}" for key, value in sorted(fields.items())]
        text = [f"  {row}" for row in line.memory.content.splitlines()]
        return "\n".join([f"{line.id} ({kind})", *text, *(f"    {row}" for row in said)])
    if line.id and line.deleted_at:
        return f"{line.id} removed {line.deleted_at.isoformat()}"
    return line.raw.decode("utf-8", "backslashreplace") if line.raw.strip() else ""


def _value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) and _BETWEEN not in item for item in value):
        return _BETWEEN.join(value)
    return value if isinstance(value, str) else codec.spell(value)
