"""What is made of a memory to find it, the numbers and the weights of terms, and which words are like another. Pure, without numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import log, log1p, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from memsync.index.scale import (
    ALIKE,
    B_EVEN,
    B_MIXED,
    B_WORDY,
    EVEN,
    EXACT,
    GRAM_BITS,
    K1,
    KEPT,
    STEEP,
    TERSE,
    TYPO,
    UNSEEN,
)
from memsync.records import hidden_words
from memsync.system.texts import Memo

if TYPE_CHECKING:
    from memsync.records import Memory

_RANKED: Final = 64  # words that are spelled out at first


def term_key(term: str) -> int:
    """Return the 64-bit number of *term*.

    Two checksums, of the bytes forwards and backwards: hashlib takes 4 ms to import.
    """
    raw = term.encode("utf-8", "surrogatepass")
    return crc32(raw) << 32 | crc32(raw[::-1])


# The same of the terms of questions, each of which is asked for several times.
number_of: Final = Memo(term_key, 4096).__getitem__


def number_form(form: str) -> int:
    """Return the number that stands for a normal *form*."""
    return crc32(form.encode("utf-8", "surrogatepass"))


def embedding_text(memory: Memory) -> str:
    """Return what is embedded: the content, the tags, and what it is found by beside them."""
    return " ".join((memory.content, *memory.tags, *hidden_words(memory)))


def text_key(memory: Memory) -> int:
    """Return the 64-bit number of what is embedded."""
    return term_key(embedding_text(memory)) or 1


def live_anchors(memory: Memory) -> tuple[str, ...]:
    """Return where *memory* is; what is archived is nowhere, so that it makes no crowd around what took its place."""
    return () if memory.archived_at else memory.anchors


def is_word(term: str) -> bool:
    """Say whether *term* takes part in likeness: a word of letters, not an exact form."""
    return len(term) > 2 and not term.startswith(EXACT) and not term.isdigit()


def length_of(terms: Sequence[str], places: Sequence[str]) -> int:
    """Return how long a record counts as: where it is anchored makes it no longer, but one without a word is there."""
    return len(terms) or min(len(places), 1)


def trigrams(word: str) -> set[int]:
    """Return the letter trigrams of *word* with its borders, as numbers."""
    points = [32, *map(ord, word), 32]
    return {
        (a << 2 * GRAM_BITS) + (b << GRAM_BITS) + c for a, b, c in zip(points, points[1:], points[2:], strict=False)
    }


class Damping(NamedTuple):
    """BM25's norm of a record of *n* terms is ``offset + scale * n``."""

    offset: float
    scale: float


def damping_of(live: int, total: float, squares: float, asked: int) -> Damping:
    """Return the damping for *live* records with *total* terms, whose lengths squared add up to *squares*, and *asked* words of a query.

    Where all are a sentence long, a longer one is richer; where some are pages, each holds every word. Of a query of many
    words a long record has some by chance (ADR 75); its offset may be below 0 then, but never by as much as one word counts.
    """
    mean = total / max(live, 1) or 1.0
    spread = sqrt(max(live * squares - total * total, 0.0)) / total if total else 0.0
    b = min(max(B_EVEN + STEEP * (spread - EVEN), B_EVEN), B_MIXED)
    b = min(b + log(max(asked, TERSE) / TERSE), B_WORDY)
    return Damping(K1 * (1 - b), K1 * b / mean)


def weigh_term(seen: int, live: int) -> float:
    """Return the inverse document frequency of a term that *seen* of *live* records have.

    A hundred records without it are assumed beside the real ones, or the words of a store with three records would all count as common.
    """
    return log1p((live + UNSEEN - seen + 0.5) / (seen + 0.5))


_MOST: Final = 1.0 - TYPO  # as the library rounds it: in words of five letters one edit is more than a fifth


def take_alike(
    word: str,
    read: Callable[[int], tuple[float, Mapping[str, float]]],
    typos: Mapping[str, float],
    live: Callable[[str], object],
) -> list[tuple[str, float]]:
    """Return the KEPT *live* words that are most like *word*, with their likeness, best first; ties by letters. *typos* are near by these.

    *read* returns the likeness of the last of so many words, 0 if there are fewer, and those from it on that are ALIKE: 100,000
    may be as like it, and few of them are taken.
    """
    most = _RANKED
    while True:
        edge, alike = read(most)
        best = {**alike, **{other: max(x, alike.get(other, 0.0)) for other, x in typos.items()}}
        ranked = sorted((-x, other) for other, x in best.items() if other != word)
        found = list(islice(((other, -x) for x, other in ranked if live(other)), KEPT))
        if edge <= ALIKE or (len(found) == KEPT and found[-1][1] >= edge):
            return found
        most *= 8


def find_nearness(word: str, other: str) -> float:
    """Return what `rapidfuzz.distance.OSA.normalized_similarity` does with the cut-off TYPO: 1 for equal words, 0 below it.

    The optimal string alignment distance: letters put in, taken out, changed, or two beside each other swapped.
    """
    longest = max(len(word), len(other)) or 1
    if abs(len(word) - len(other)) / longest > _MOST:
        return 0.0
    far = _count_edits(word, other) / longest
    return 1.0 - far if far <= _MOST else 0.0


def _count_edits(word: str, other: str) -> int:
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        now = [row]
        for column, its in enumerate(other, 1):
            edits = min(last[column - 1] + (letter != its), last[column] + 1, now[-1] + 1)
            if row > 1 < column and letter == other[column - 2] and word[row - 2] == its:
                edits = min(edits, before[column - 2] + 1)
            now.append(edits)
        before, last = last, now
    return last[-1]
