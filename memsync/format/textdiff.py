"""Memories as people read them, and two versions of a text: word by word, or line by line as a unified diff; neither takes minutes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import Match, SequenceMatcher
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
_HUNK: Final = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@$")
_MOST_LINES: Final = 100_000  # pairs of equal lines that are looked at in one pass
_STEPS: Final = 5_000_000  # lines and pairs of all passes, one for each block that both have: about a second
_BETWEEN: Final = ", "  # the entries of a list; one that has it in an entry is spelled as JSON
_POPULAR: Final = 200  # lines, from which on difflib passes over those that are more than a hundredth of them


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

    What would take too long is first compared without what both begin and end with, then shown as one change.
    """
    with suppress(_TooMuchError):
        return list(_list_hunks(before, after, context))
    head = count_same(before, after)
    tail = count_same(reversed(before[head:]), reversed(after[head:]))
    skip, spare = max(0, head - context), max(0, tail - context)
    one, two = before[skip : len(before) - spare], after[skip : len(after) - spare]
    with suppress(_TooMuchError):
        return [_shift(row, skip) for row in _list_hunks(one, two, context)]
    first, last = head - skip, tail - spare
    rows = [f"@@ -{skip + 1},{len(one)} +{skip + 1},{len(two)} @@", *(f" {row}" for row in one[:first])]
    rows += [f"-{row}" for row in one[first : len(one) - last]] + [f"+{row}" for row in two[first : len(two) - last]]
    return [*rows, *(f" {row}" for row in one[len(one) - last :])]


class _TooMuchError(Exception):
    """Comparing two texts would take too long."""


class _Matcher(SequenceMatcher[str]):
    """Compares lines as `difflib.unified_diff` does, within `_MOST_LINES` and `_STEPS`.

    Raises:
        _TooMuchError: as soon as that is not enough.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        pairs = _count_line_pairs(before, after)
        if pairs > _MOST_LINES:
            raise _TooMuchError
        self._lines, self._steps = len(before), 0.0
        self._cost = 1 + pairs / max(len(before), 1)  # of a line in a pass
        super().__init__(None, before, after)

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        self._steps += self._cost * ((self._lines if ahi is None else ahi) - alo)
        if self._steps > _STEPS:
            raise _TooMuchError
        return super().find_longest_match(alo, ahi, blo, bhi)


def _list_hunks(before: Sequence[str], after: Sequence[str], context: int) -> Iterator[str]:
    for group in _Matcher(before, after).get_grouped_opcodes(context):
        (_, start, _, to, _), (_, _, end, _, until) = group[0], group[-1]
        yield f"@@ -{_describe(start, end)} +{_describe(to, until)} @@"
        for kind, one, other, first, last in group:
            if kind == "equal":
                yield from (f" {row}" for row in before[one:other])
            else:
                yield from (f"-{row}" for row in before[one:other])
                yield from (f"+{row}" for row in after[first:last])


def _describe(start: int, end: int) -> str:
    """Return a range of lines as a hunk names it: by the first, or the one before where there is none, and how many."""
    size = end - start
    return f"{start + 1}" if size == 1 else f"{start + (size > 0)},{size}"


def _shift(row: str, lines: int) -> str:
    return _HUNK.sub(lambda found: f"@@ -{int(found[1]) + lines}{found[2]} +{int(found[3]) + lines}{found[4]} @@", row)


def _count_line_pairs(before: Sequence[str], after: Sequence[str]) -> int:
    counts, limit = Counter(after), len(after) // 100 + 1
    is_long = len(after) >= _POPULAR
    return sum(count * counts[row] for row, count in Counter(before).items() if not (is_long and counts[row] > limit))


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
