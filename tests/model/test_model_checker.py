"""What was acknowledged is there when all clones meet, whatever people, agents and git did in between.

`make check-model STEPS=10000 SEED=7` makes more steps, and repeats them; with SHORTEN=1 a run that fails is told by
as few steps as will make it fail. What was found, and what is not promised: docs/reliability.md.
"""

from __future__ import annotations

import math
import os
import subprocess

import outsiders
import pytest
import worlds
from ledger import Ledger, Shown

STEPS = int(os.environ.get("MEMSYNC_CHECK_STEPS") or 200)
SEED = int(os.environ.get("MEMSYNC_CHECK_SEED") or 1)
SHORTEN = os.environ.get("MEMSYNC_CHECK_SHORTEN", "")
KITS = ("driver", "plain", "mixed")


def plan_runs(steps: int) -> tuple[int, int]:
    """Return the number of runs, the same for each kit, and the steps of one."""
    number = 3 * math.ceil(steps / 3 / 200)
    return number, math.ceil(steps / number)


RUNS, LENGTH = plan_runs(STEPS)


@pytest.mark.timeout(60_000 if SHORTEN else 600)
@pytest.mark.parametrize("number", range(RUNS))
def test_nothing_that_was_acknowledged_is_lost_between_clones(surroundings, number):
    seed, kits = SEED + number // 3, KITS[number % 3]
    try:
        print(f"seed {seed}, {kits}: {worlds.run(seed, kits, LENGTH)}")
    except worlds.Failure as failure:
        told = worlds.shorten(seed, kits, LENGTH)[1] if SHORTEN else str(failure)
        pytest.fail(f"{told}\nmake check-model STEPS={STEPS} SEED={SEED} repeats it", pytrace=False)


def read(*texts: str) -> list[Shown]:
    return [Shown(f"id-{text}", text) for text in texts]


def test_the_model_sees_what_is_lost_back_or_twice():
    ledger = Ledger()
    for text in ("kept", "old", "gone"):
        ledger.add(text)
    ledger.edit(Shown("id-old", "old"), "new")
    ledger.forget(Shown("id-gone", "gone"), read("kept", "new", "gone"))
    assert list(ledger.find_faults(read("kept", "new"))) == []
    assert list(ledger.find_faults(read("kept"))) == ["lost: new"]
    assert list(ledger.find_faults(read("kept", "new", "new"))) == ["there 2 times: new"]
    assert list(ledger.find_faults(read("kept", "new", "other"))) == ["nobody wrote: other"]
    assert list(ledger.find_faults(read("kept", "new", "gone"))) == ["forgotten, and back: gone"]
    assert list(ledger.find_faults(read("kept", "new", "old"))) == ["replaced, and back: old"]


def test_in_the_model_an_edit_that_a_removal_had_not_seen_outlives_it():
    ledger = Ledger()
    ledger.add("text")
    ledger.tag(Shown("id-text", "text"), "seen")
    ledger.forget(Shown("id-text", "text", frozenset({"seen"})), [])
    assert list(ledger.find_faults(read("text"))) == ["forgotten, and back: text"]
    ledger.tag(Shown("id-text", "text"), "unseen")
    assert list(ledger.find_faults(read("text"))) == []


def test_in_the_model_a_copy_that_somebody_tagged_is_a_memory_of_its_own():
    ledger = Ledger()
    ledger.add("old")
    copy = Shown("id-copy", "old", is_copy=True)
    ledger.edit(Shown("id-old", "old"), "new")
    assert list(ledger.find_faults([*read("new"), copy])) == []
    assert list(ledger.find_faults([*read("new"), copy._replace(is_copy=False)])) == ["replaced, and back: old"]
    ledger.tag(copy, "tag")
    assert list(ledger.find_faults([*read("new"), copy._replace(is_copy=False)])) == []
    ledger.edit(copy._replace(is_copy=False), "newer")
    assert "replaced, and back: old" in ledger.find_faults([*read("new", "newer"), copy._replace(is_copy=False)])


def test_a_formatter_of_the_model_changes_no_word_and_no_number():
    data = b'{"b": 1.50, "a": "\xc3\xa4 1.50"}\n{"c": [12e3]}\n'
    assert outsiders.format_lines(data, "-c") == b'{"b":1.50,"a":"\xc3\xa4 1.50"}\n{"c":[12e3]}\n'
    assert outsiders.format_lines(data, "-cS").startswith(b'{"a":')
    assert outsiders.format_lines(data, ".").splitlines()[:3] == [b"{", b'  "b": 1.50,', b'  "a": "\xc3\xa4 1.50"']
    assert outsiders.format_lines(data, "-cs") == b'[{"b":1.50,"a":"\xc3\xa4 1.50"},{"c":[12e3]}]\n'


@pytest.mark.skipif(not outsiders.OLDER, reason="NOT TESTED: set MEMSYNC_CHECK_OLDER to a checkout of an older memsync")
def test_an_older_memsync_answers_with_its_own_code():
    said = subprocess.run([outsiders.find_older().program, "--version"], capture_output=True, check=True).stdout
    assert said.startswith(b"memsync")
