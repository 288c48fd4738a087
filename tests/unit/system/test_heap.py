"""Making many things without the cycle collector."""

import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from memsync.system.programs import collector_paused, has_frozen_heap


@pytest.fixture
def thawed() -> Iterator[None]:
    """Let the collector look at what the tests are made of, as at the heap of most programs."""
    gc.unfreeze()
    has_frozen_heap.cache_clear()
    yield
    gc.freeze()
    has_frozen_heap.cache_clear()


def test_the_collector_waits_and_goes_on_whatever_happens() -> None:
    seen = []
    with suppress(KeyError), collector_paused():
        seen.append(gc.isenabled())
        raise KeyError
    assert [*seen, gc.isenabled()] == [False, True]


def test_a_collector_that_somebody_turned_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_who_pauses_within_a_pause_does_not_end_it() -> None:
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()


def test_what_was_made_meanwhile_counts_as_old_and_can_still_be_collected(thawed: None) -> None:
    class Ring:
        """Holds itself."""

    with collector_paused():
        ring = Ring()
        ring.itself = ring  # type: ignore[attr-defined]
    assert any(one is ring for one in gc.get_objects(generation=2))
    del ring
    gc.collect()
    assert not any(type(one) is Ring for one in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_what_a_host_keeps_out_of_the_collector_stays_out(thawed: None) -> None:
    gc.freeze()
    with collector_paused():
        pass
    assert gc.get_freeze_count() > 0
