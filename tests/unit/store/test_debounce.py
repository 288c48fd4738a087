"""When a change is due: after a quiet gap, at the latest after the longest wait."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.store.watch import Debouncer


class Seconds:
    """A clock in seconds that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Seconds:
    return Seconds()


@pytest.fixture
def held(time) -> Debouncer[str]:
    return Debouncer(quiet=5, longest=60, clock=time)


def test_a_change_is_due_after_the_quiet_gap_and_not_before(time, held):
    held.add("a")
    time.now += 4.9
    assert (held.due(), held.wait()) == ([], pytest.approx(0.1))
    time.now += 0.1
    assert (held.wait(), held.due()) == (0, ["a"])


def test_what_was_taken_is_not_due_again(time, held):
    held.add("a")
    time.now += 5
    assert (held.due(), held.due(), held.wait()) == (["a"], [], math.inf)


def test_each_further_change_puts_it_off(time, held):
    for _ in range(3):
        held.add("a")
        time.now += 4
    assert (held.due(), held.wait()) == ([], 1)


def test_a_steady_stream_is_due_after_the_longest_wait(time, held):
    begun = time.now
    while not (taken := held.due()):
        held.add("a")
        time.now += 1
    assert (taken, time.now - begun) == (["a"], 60)


def test_the_longest_wait_begins_anew_with_the_next_change(time, held):
    held.add("a")
    time.now += 60
    held.due()
    held.add("a")
    time.now += 4
    held.add("a")
    assert held.wait() == 5


def test_keys_do_not_hold_each_other_back_and_come_in_the_order_of_their_first_change(time, held):
    for key in "bac":
        held.add(key)
    time.now += 4
    held.add("b")
    time.now += 1
    assert (held.due(), held.wait()) == (["a", "c"], 4)
    held.add("a")
    held.add("b")
    time.now += 5
    assert held.due() == ["b", "a"]


def test_only_the_first_change_is_news_to_who_waits(time, held):
    assert (held.add("a"), held.add("a"), held.add("b")) == (True, False, True)
    time.now += 5
    held.due()
    assert held.add("a") is True


def test_the_wait_is_never_negative(time, held):
    held.add("a")
    time.now += 500
    assert held.wait() == 0


def test_a_flush_takes_everything_due_or_not(time, held):
    held.add("old")
    time.now += 5
    held.add("new")
    assert (held.flush(), held.flush(), held.wait()) == (["old", "new"], [], math.inf)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), max_size=60), st.floats(0, 4), st.floats(0, 9))
def test_whatever_happens_no_key_is_taken_early_or_late_or_twice(changes, quiet, longest):
    time = Seconds()
    held: Debouncer[str] = Debouncer(quiet=quiet, longest=longest, clock=time)
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for key, pause in [*changes, ("a", 20.0)]:
        held.add(key)
        first.setdefault(key, time.now)
        last[key] = time.now
        end = time.now + pause
        while time.now + held.wait() <= end:
            time.now += held.wait()
            for taken in held.due():
                was_due = min(last.pop(taken) + quiet, first.pop(taken) + longest)
                assert time.now == pytest.approx(was_due)
        time.now = end
    assert first.keys() == set(held.flush()) == set()


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    """Let threads interrupt each other as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_add_lose_no_key_to_a_thread_that_takes(impatient_threads):
    held: Debouncer[int] = Debouncer(quiet=0.01, longest=0.01)
    start = threading.Barrier(4, timeout=30)

    def add(name: int) -> None:
        start.wait()
        for number in range(500):
            held.add(500 * name + number)

    with ThreadPoolExecutor(3) as pool:
        adders = [pool.submit(add, name) for name in range(3)]
        start.wait()
        taken: list[int] = []
        while not all(adder.done() for adder in adders):
            taken += held.due()
        for adder in adders:
            adder.result()
    assert sorted(taken + held.flush()) == list(range(1500))
