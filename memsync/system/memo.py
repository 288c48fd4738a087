"""What was found out once for each short piece of text, and kept while the process lives."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Sized)
T = TypeVar("T")

_MOST: Final = 65_536  # pieces
_LONGEST: Final = 256  # characters of one that is kept


class Memo(dict[K, T], Generic[K, T]):
    """What *make* finds in each piece, found once: `map(memo.__getitem__, pieces)` asks no Python for what is known.

    A piece is a text or several. Of more than *most* all are forgotten, and a long one is not kept.
    """

    def __init__(self, make: Callable[[K], T], most: int = _MOST) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, piece: K) -> T:
        found = self._make(piece)
        if len(piece) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[piece] = found
        return found
