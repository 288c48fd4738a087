"""What was found out once for each short text, and kept while the process lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_MOST: Final = 65_536  # texts
_LONGEST: Final = 256  # characters of one that is kept


class Memo(dict[str, T], Generic[T]):
    """What *make* finds in each text, found once. Of more than _MOST texts all are forgotten."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        found = self._make(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[text] = found
        return found
