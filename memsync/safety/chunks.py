"""What a chunk of a text, from blank to blank, may have to do with a secret: found out once for each chunk.

Texts consist of the same chunks again and again. What none of its chunks allows is not looked for in a text: a mark is
on a chunk of every text in which what it stands for finds something.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final, Generic, TypeVar

from memsync.safety.formats import FORMATS, SEEDS, Format
from memsync.safety.hints import STEMS, list_hints
from memsync.safety.issuers import SHORTEST, Rule, hinted, may_hold_token
from memsync.safety.values import is_odd, is_plain, list_runs, may_be_odd
from memsync.system.texts import Memo

T = TypeVar("T")

# What may have to be looked for. Behind these stand a mark for each format, and one for each stem of a telling name.
SEED: Final = 1
TOKEN: Final = 2
LENGTHY: Final = 4  # a chunk that is long enough to be something else when it is decoded
CODED: Final = 8  # chunks that may be so together
PLACES: Final = 16  # runs that could be secrets
LONG: Final = 32  # and one of them as long as a token
_ODD: Final = 64
_HELD: Final = 128
_PAIRS: Final = 256  # begins or ends in pairs of hexadecimal digits, which the chunk beside it may go on with
_WIDE: Final = 512  # so many that two chunks may be enough for a text
TOLD: Final = 1024  # words with which passwords are told
_FIRST_FORMAT: Final = 11
_FIRST_STEM: Final = _FIRST_FORMAT + len(FORMATS)
_ALL_FORMATS: Final = (1 << len(FORMATS)) - 1

_RUN: Final = r"(?:0x)?(?:[0-9A-Fa-f]{2}(?:[:-]|,0x|0x)?)+,?"
_EDGES: Final = re.compile(rf"^{_RUN}(?![0-9A-Za-z])|(?<![0-9A-Za-z]){_RUN}$")
_HEX: Final = frozenset("0123456789ABCDEFabcdef:-,x")
_WIDTH: Final = 8  # characters of pairs; two chunks with fewer do not hold the sixteen pairs of a text
_END: Final = 40  # characters
_ROW: Final = 5  # chunks with fewer that may
_LENGTHY: Final = 20  # characters
_LOOSE: Final = ".,;`*[]{}"  # stand around a word and in no hint
_BEGUN: Final = 3  # characters
# Whichever a short chunk has, its marks are the same; 0x alone is read as more than its digits.
_DIGITS: Final = str.maketrans("123456789", "000000000")


class _Pieces(Generic[T]):
    """Short texts, each with what it stands for, found in a longer one by how they begin."""

    def __init__(self, rows: Iterable[tuple[str, T]]) -> None:
        self._begun = defaultdict[str, list[tuple[str, T]]](list)
        self._small: list[tuple[str, T]] = []
        for piece, row in rows:
            (self._begun[piece[:_BEGUN]] if len(piece) >= _BEGUN else self._small).append((piece, row))
        self._begins = self._begun.keys()

    def find(self, text: str, *, with_small: bool) -> list[T]:
        """Return what is in *text*; of fewer than three characters only *with_small*."""
        begins = [text[at : at + _BEGUN] for at in range(len(text) - 2)]
        found: list[T] = []
        if not self._begins.isdisjoint(begins):
            found = [row for begin in {*begins} & self._begins for piece, row in self._begun[begin] if piece in text]
        return [*found, *[row for piece, row in self._small if piece in text]] if with_small else found


def find_marks(text: str) -> int:
    """Return what may have to be looked for in *text*: the marks of all its chunks."""
    found = [*map(_marks.__getitem__, text.split())]
    marks = 0
    for one in set(found):
        marks |= one
    if marks & _ODD and marks & _HELD:
        marks |= PLACES
    if marks & _PAIRS and sum([one & _PAIRS > 0 for one in found]) >= (2 if marks & _WIDE else _ROW):
        marks |= CODED
    return marks


def list_formats(marks: int) -> Iterator[Format]:
    """Yield the formats that *marks* allow, in their order."""
    return (FORMATS[place] for place in _list_places(marks >> _FIRST_FORMAT & _ALL_FORMATS))


def list_stems(marks: int) -> Iterator[tuple[str, bool]]:
    """Yield the stems of telling names that *marks* allow, in their order."""
    return (STEMS[place] for place in _list_places(marks >> _FIRST_STEM))


def list_begun(text: str) -> list[tuple[str, Rule]]:
    """Return the rules, in their order, of which a token may begin in *text* and go on behind a break; each with its hint."""
    found = set(map(_begun.__getitem__, text.split()))
    return [hinted()[place] for place in sorted({*chain.from_iterable(found)})]


def lower_in_place(text: str) -> str:
    """Return *text* in small letters, each where it was."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _list_places(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _mark(chunk: str) -> int:
    if len(chunk) < SHORTEST:
        return _short_marks[chunk if "x" in chunk else chunk.translate(_DIGITS)]
    marks = _mark_short(chunk) | (LENGTHY if len(chunk) >= _LENGTHY else 0)
    return marks | TOKEN if may_hold_token(chunk) and _has_hint(chunk) else marks


def _mark_short(chunk: str) -> int:
    """Return the marks that a *chunk* has whichever digits are in it."""
    if is_word := chunk.isalpha() or is_plain(chunk):
        bare = chunk.strip(_LOOSE)
        if bare and bare != chunk:
            return _short_marks[bare]
    marks = _mark_letters(chunk) | (0 if is_word else _mark_signs(chunk))
    return marks | _mark_edges(chunk) if chunk[0] in _HEX or chunk[-1] in _HEX else marks


def _mark_letters(chunk: str) -> int:
    """Return the marks of what is written in letters: stems of names, and hints of formats."""
    marks, is_word = 0, chunk.isascii() and chunk.isalpha()
    lower = f" {lower_in_place(chunk)} ".translate(_DIGITS)
    for mark in _lower_pieces().find(lower, with_small=not is_word):
        marks |= mark
    return marks


def _mark_signs(chunk: str) -> int:
    """Return the marks that only a chunk with something beside letters has."""
    marks = 0
    if may_be_odd(chunk):
        marks |= _ODD if is_odd(chunk) else 0
        if runs := list_runs(chunk):
            marks |= _HELD | (LONG if any(end - start >= SHORTEST for start, end in runs) else 0)
    if "-" in chunk or ":" in chunk:
        for pattern, mark in _patterns():
            marks |= mark if pattern.search(chunk) else 0
    return marks


def _mark_edges(chunk: str) -> int:
    ends = chunk if len(chunk) <= 2 * _END else f"{chunk[:_END]} {chunk[-_END:]}"  # for time that grows with its length
    edges = [len(edge[0]) for edge in _EDGES.finditer(ends)]
    return (_PAIRS | (_WIDE if max(edges) >= _WIDTH else 0)) if edges else 0


def _has_hint(chunk: str) -> bool:
    return bool(_hints().find(chunk, with_small=True)) or any(rule.pattern().search(chunk) for rule in _unhinted())


def _find_begun(chunk: str) -> tuple[int, ...]:
    if chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        return ()
    return tuple(_hints().find(chunk, with_small=False))


_marks: Final = Memo(_mark)
_short_marks: Final = Memo(_mark_short)
_begun: Final = Memo(_find_begun)


@cache
def _hints() -> _Pieces[int]:
    """Return the hints of the rules, each with its place."""
    return _Pieces((hint, place) for place, (hint, _) in enumerate(hinted()) if hint)


@cache
def _unhinted() -> tuple[Rule, ...]:
    return tuple(rule for hint, rule in hinted() if not hint)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], int], ...]:
    """Return what a chunk of each text of a format has, where that is an expression."""
    return tuple((re.compile(row.chunk), 1 << _FIRST_FORMAT + place) for place, row in enumerate(FORMATS) if row.chunk)


@cache
def _lower_pieces() -> _Pieces[int]:
    """Return a piece of each hint of a format and of each stem, as it stands in a chunk between two blanks."""
    rows = [(hint, SEED) for row in SEEDS for hint in row.hints]
    rows += [
        (hint, 1 << _FIRST_FORMAT + place) for place, row in enumerate(FORMATS) if not row.chunk for hint in row.hints
    ]
    rows += [(stem, 1 << _FIRST_STEM + place) for place, (stem, _) in enumerate(STEMS)]
    rows += [(hint, TOLD) for hint in list_hints()]
    return _Pieces((_cut(hint).translate(_DIGITS), mark) for hint, mark in rows)


def _cut(hint: str) -> str:
    """Return the longest part of *hint* that lies in one chunk, with a blank where it has one."""
    parts: list[str] = re.findall(r"\s?\S+\s?", hint)
    return max(parts, key=len).replace("\t", " ")
