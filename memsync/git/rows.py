"""The lines of versions of a file: those that have a word, and those that came and went from one version to the next. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

_STRIDE: Final = 1 << 16  # bytes that are compared at once
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9-]+")

Rows = tuple[bytes, ...]


def rows_with(words: Collection[str], data: bytes, *, exact: bool = False) -> bytes:
    """Return the lines of *data* that have one of *words*, in whatever case unless *exact*.

    All of them, if there is no word or JSON may spell one otherwise.
    """
    if not words or not all(map(_PLAIN_ID.fullmatch, words)):
        return data
    text, found = data if exact else data.lower(), set()
    for needle in ((word if exact else word.lower()).encode() for word in words):
        at = -1
        while (at := text.find(needle, at + 1)) >= 0:
            start, at = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            found.add((start, at := len(data) if at < 0 else at))
    return b"\n".join(data[start:end] for start, end in sorted(found))


def compare_lines(new: bytes, *old: bytes) -> tuple[Rows, Rows, Rows]:
    """Return the lines that none of *old* has, those that all of *old* had and *new* has not, and those of any of them."""
    now, *before = ([row for row in text.split(b"\n") if row] for text in _without_common_ends(new, *old))
    came = [subtract(now, rows) for rows in before]
    went = [subtract(rows, now) for rows in before]
    others = [set(rows) for rows in came[1:]]
    added = tuple(row for row in came[0] if all(row in rows for rows in others))
    removed = tuple(row for row in went[0] if all(row in rows for rows in went))
    return added, removed, tuple(row for rows in went for row in rows)


def subtract(rows: list[bytes], other: list[bytes]) -> list[bytes]:
    """Return those of *rows*, in order, that *other* has not, or less often."""
    distinct = set(rows)
    if len(distinct) < len(rows):
        return list((Counter(rows) - Counter(other)).elements())
    fresh = distinct.difference(other)
    return [row for row in rows if row in fresh] if fresh else []


def _without_common_ends(*texts: bytes) -> list[bytes]:
    """Return *texts* without the lines at their beginning and end that are the same in all of them."""
    one, most = texts[0], min(map(len, texts))
    start = min(_count_common(most, partial(_is_same, one, text)) for text in texts[1:])
    start = one.rfind(b"\n", 0, start) + 1
    rest, most = [text[start:] for text in texts], most - start
    one = rest[0]
    size = min(_count_common(most, partial(_ends_same, one, text)) for text in rest)
    end = one.find(b"\n", len(one) - size) if size else -1
    return [text[: len(text) - (len(one) - end)] for text in rest] if end >= 0 else rest


def _is_same(one: bytes, other: bytes, start: int, end: int) -> bool:
    return one[start:end] == other[start:end]


def _ends_same(one: bytes, other: bytes, start: int, end: int) -> bool:
    return one[len(one) - end : len(one) - start] == other[len(other) - end : len(other) - start]


def _count_common(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many bytes, *most* at most, are the same, where *is_same* compares those from one place to another."""
    low = next((at for at in range(0, most, _STRIDE) if not is_same(at, min(at + _STRIDE, most))), most)
    high = min(low + _STRIDE, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_same(low, middle) else (low, middle - 1)
    return low
