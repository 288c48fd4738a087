"""How importance fades with disuse. Pure, and never written down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from memsync.records import Memory

if TYPE_CHECKING:
    from memsync.store.settings import Settings

DAYS_A_MONTH: Final = 30.44


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """`rate` is lost a month without use, down to `floor` (seed 002)."""

    enabled: bool = True
    rate: float = 0.05
    floor: float = 0.1

    @classmethod
    def of(cls, settings: Settings) -> Decay:
        """Return the decay that *settings* ask for."""
        return cls(enabled=settings.decay_enabled, rate=settings.decay_rate, floor=settings.decay_floor)

    def effective(self, memory: Memory, last_used: datetime | None, now: datetime) -> float:
        """Return what the importance of *memory* is worth *now*.

        max(floor, importance - rate x months since the last use), and never
        more than the importance as written. A write counts as a use.
        """
        used = max((t for t in (last_used, memory.updated_at, memory.created_at) if t), default=None)
        if not self.enabled or used is None:
            return memory.importance
        months = max(0.0, (now - used).total_seconds() / 86_400 / DAYS_A_MONTH)
        return max(min(self.floor, memory.importance), memory.importance - self.rate * months)
