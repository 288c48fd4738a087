"""How near two words are by their letters, for a process that compares a few: loading a library for that takes a third of a bare Python."""

from __future__ import annotations

from typing import Final

from memsync.index.scale import TYPO

_MOST: Final = 1.0 - TYPO  # as the library rounds it: in words of five letters one edit is more than a fifth


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
