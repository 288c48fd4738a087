"""How importance fades with disuse. Pure, and never written down."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from memsync.records import Memory

if TYPE_CHECKING:
    from memsync.store.settings import Settings

DAYS_A_MONTH: Final = 30.44


def effective_importance(memory: Memory, last_used: datetime | None, now: datetime, settings: Settings) -> float:
    """Return what the importance of *memory* is worth *now* (seed 002).

    max(floor, importance - rate x months since the last use), and never
    more than the importance as written. A write counts as a use.
    """
    changed, made = memory.updated_at, memory.created_at
    used = last_used or changed or made
    if used is None:
        return memory.importance
    if changed is not None and changed is not used and changed > used:  # every memory passes here in a hook: no loop
        used = changed
    if made is not None and made is not used and made > used:
        used = made
    return fade(memory.importance, (now - used).total_seconds(), settings)


def fade(importance: float, idle: float, settings: Settings) -> float:
    """Return what an *importance* is worth *idle* seconds after the last use."""
    if not settings.decay_enabled:
        return importance
    months = max(0.0, idle / 86_400 / DAYS_A_MONTH)
    return max(min(settings.decay_floor, importance), importance - settings.decay_rate * months)
