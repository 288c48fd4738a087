"""Two versions of a text, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final, Literal, NamedTuple

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MANY: Final = 3_000  # words, beyond which whole lines are compared: comparing is quadratic


class Piece(NamedTuple):
    """A run of text: in both versions (" "), only in the old one ("-") or only in the new one ("+")."""

    mark: Literal[" ", "-", "+"]
    text: str


def compare(old: str, new: str) -> list[Piece]:
    """Return the pieces of both, in order: those not marked "+" make up *old*, those not marked "-" *new*."""
    split = _WORDS if len(old) + len(new) < 4 * _MANY else _LINES
    before, after = split.findall(old), split.findall(new)
    return list(_join_changes(_find_pieces(before, after)))


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
