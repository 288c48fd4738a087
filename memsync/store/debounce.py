"""Coalesce bursts of changes: each is due after a quiet period, or after a maximum wait. Starts no threads."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Debouncer(Generic[K]):
    """Keys that changed, each due when nothing has happened to it for *quiet* seconds.

    At the latest it is due *longest* seconds after its first change, so that a
    steady stream of changes starves nobody. Threads may share it; it starts
    none: the owner waits for `wait()` seconds and then takes what is `due()`.
    """

    def __init__(self, *, quiet: float, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._longest = longest
        self._clock = clock
        self._mutex = threading.Lock()
        self._waiting: dict[K, tuple[float, float]] = {}  # key -> (due, due at the latest), by first change

    def add(self, key: K) -> bool:
        """Note a change of *key*, and return whether it is the first one: only then can `wait()` have become shorter."""
        with self._mutex:
            now = self._clock()
            is_first = key not in self._waiting
            latest = now + self._longest if is_first else self._waiting[key][1]
            self._waiting[key] = (min(now + self._quiet, latest), latest)
            return is_first

    def wait(self) -> float:
        """Return in how many seconds the next key is due: 0 if one is, infinity if nothing waits."""
        with self._mutex:
            times = [due for due, _ in self._waiting.values()]
            return max(0.0, min(times) - self._clock()) if times else math.inf

    def due(self) -> list[K]:
        """Take the keys that are due and return them, the one that changed first first."""
        with self._mutex:
            now = self._clock()
            return self._take([key for key, (due, _) in self._waiting.items() if due <= now])

    def flush(self) -> list[K]:
        """Take all keys, due or not, and return them in the same order."""
        with self._mutex:
            return self._take(list(self._waiting))

    def _take(self, keys: list[K]) -> list[K]:
        for key in keys:
            del self._waiting[key]
        return keys
