"""A session of 144 model calls (seed 003): less than a fiftieth of the characters, and every needed memory once."""

from __future__ import annotations

from benchmarks.made_session import CALLS, replay, turns


def test_the_session_has_144_calls_and_a_turn_of_14():
    calls = [turn.calls for turn in turns()]
    assert (sum(calls), max(calls)) == (CALLS, 14)


def test_every_needed_memory_comes_once_and_little_beside_them(tmp_path):
    done = replay(tmp_path)
    assert set(done.needed.values()) == {1}
    assert done.ours < 0.02 * done.always
    assert done.others <= 2
