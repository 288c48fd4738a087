"""Which words are taken for one that is like them, and how near two are by their letters: loading a library for that takes a third of a bare Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

from memsync.index.scale import ALIKE, KEPT, TYPO

_MOST: Final = 1.0 - TYPO  # as the library rounds it: in words of five letters one edit is more than a fifth
_RANKED: Final = 64  # words that are spelled out at first


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
