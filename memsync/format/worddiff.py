"""Two versions of a text, word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, Literal, NamedTuple

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MANY: Final = 3_000  # words, beyond which whole lines are compared: comparing is quadratic
_MOST: Final = (
    300_000  # pairs of equal words or lines, which take 60 ms; of a text of blank lines each is one with each
)


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
