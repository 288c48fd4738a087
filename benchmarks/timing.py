"""Paired timing: each call of ours beside one of the baseline, so that a drifting machine moves both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Paired:
    """Seconds of ours and of the baseline, run by run."""

    ours: list[float]
    base: list[float]

    @property
    def ratio(self) -> float:
        """Median of the ratios, pair by pair."""
        return statistics.median(a / b for a, b in zip(self.ours, self.base, strict=True))

    def ms(self, which: str = "ours", at: float = 0.5) -> float:
        """Milliseconds of `ours` or `base` at a quantile."""
        times: list[float] = sorted(getattr(self, which))
        return 1000 * times[min(len(times) - 1, int(at * len(times)))]


def paired(
    ours: Callable[[], object], base: Callable[[], object], runs: int, *, before: Callable[[], object] | None = None
) -> Paired:
    """Time *ours*, each time after *before*, and *base* in turn, after one run of each that does not count."""
    ours(), base()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        if before:
            before()
        for call, kept in zip((ours, base), times, strict=True):
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return Paired(*times)
