"""What was found of many memories, by their marks: of most nothing, so that they are kept in the bytes of their marks alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

MARK: Final = 16  # bytes; they are kept in one piece, which is read in a third of the time of rows
_FEW: Final = 32  # questions that are answered before the marks are sorted: a hook has no more


class Marks(Mapping[bytes, str]):
    """The flaw of each mark, "" for most: of *rows*, marks one after the other with their flaw."""

    def __init__(self, rows: Sequence[tuple[bytes, str]]) -> None:
        self._flaws = {mark: flaw for marks, flaw in rows if flaw for mark in _cut(marks)}
        self._plain = b"".join(marks for marks, flaw in rows if not flaw)
        self._asked, self._is_sorted = 0, False

    def __getitem__(self, mark: bytes) -> str:
        if (flaw := self._flaws.get(mark)) is not None:
            return flaw
        if not self._has(mark):
            raise KeyError(mark)
        return ""

    def _has(self, mark: bytes) -> bool:
        if self._asked < _FEW:
            self._asked += 1
            at = self._plain.find(mark)
            while at % MARK and at > 0:  # across two of them
                at = self._plain.find(mark, at + 1)
            return at >= 0
        if not self._is_sorted:  # whichever thread comes first, and two do the same
            self._plain = b"".join(sorted(_cut(self._plain)))
            self._is_sorted = True
        places = range(len(self._plain) // MARK)
        at = bisect_left(places, mark, key=self._get)
        return at < len(places) and self._get(at) == mark

    def _get(self, place: int) -> bytes:
        return self._plain[place * MARK : (place + 1) * MARK]

    def __iter__(self) -> Iterator[bytes]:
        return iter([*self._flaws, *_cut(self._plain)])

    def __len__(self) -> int:
        return len(self._flaws) + len(self._plain) // MARK


def _cut(marks: bytes) -> Iterator[bytes]:
    return (marks[at : at + MARK] for at in range(0, len(marks), MARK))
