"""What importance is worth after a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memsync.memories.filters import DAYS_A_MONTH, effective_importance
from memsync.records import Memory
from memsync.store.settings import Settings

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def ago(months: float) -> datetime:
    return NOW - timedelta(days=months * DAYS_A_MONTH)


@pytest.mark.parametrize(
    ("importance", "months", "worth"),
    [
        (0.8, 0, 0.8),
        (0.8, 2, 0.7),
        (0.8, 13, 0.15),
        (0.8, 14, 0.1),
        (0.8, 600, 0.1),
        (1.0, 1, 0.95),
        (0.05, 12, 0.05),
        (0.0, 12, 0.0),
        (0.8, -3, 0.8),
    ],
)
def test_importance_fades_with_disuse_down_to_the_floor_and_never_rises(importance, months, worth):
    memory = Memory(id="a", content="x", importance=importance, created_at=ago(months))
    assert effective_importance(memory, None, NOW, Settings()) == pytest.approx(worth)


def test_the_last_use_write_or_birth_counts_whichever_is_latest():
    memory = Memory(id="a", content="x", importance=0.8, created_at=ago(10), updated_at=ago(4))
    worth = [effective_importance(memory, used, NOW, Settings()) for used in (None, ago(2), ago(6))]
    assert worth == pytest.approx([0.6, 0.7, 0.6])


def test_a_memory_without_any_time_does_not_fade():
    assert effective_importance(Memory(id="a", content="x", importance=0.8), None, NOW, Settings()) == 0.8


def test_decay_can_be_turned_off_and_set():
    memory = Memory(id="a", content="x", importance=0.8, created_at=ago(2))
    assert effective_importance(memory, None, NOW, Settings(decay_enabled=False)) == 0.8
    assert effective_importance(memory, None, NOW, Settings(decay_rate=0.3)) == pytest.approx(0.2)
    assert effective_importance(memory, None, NOW, Settings(decay_rate=0.3, decay_floor=0.5)) == 0.5
