"""A process that ends in the middle of writing takes nothing with it that it had acknowledged."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from crew import Actor, what_is_known

from memsync import Memsync
from memsync.store.lock import lock

KILLS, STOPS = (200, 20) if os.environ.get("MEMSYNC_EXPLORE") else (12, 4)


def check_the_place(root: Path) -> None:
    """No temporary file where git looks, and the lock is free."""
    assert {path.name for path in (root / ".gobby").iterdir()} <= {"config.yaml", "local", "memories.jsonl"}
    if (root / ".gobby" / "local").is_dir():
        with lock(root / ".gobby" / "local" / "lock", wait=1.0):
            pass


def still_stored(before: dict[str, str], actors: list[Actor], found: dict[str, str]) -> None:
    """Check what was found; only a deed that was in progress may be done or not."""
    acknowledged, open_ids, open_texts = dict(before), set(), set()
    for actor in actors:
        stored, doing = what_is_known(actor.said)
        acknowledged |= stored
        if doing:
            open_ids.add(doing["id"])
            open_texts.add(doing["text"])
    sure = {id_: text for id_, text in acknowledged.items() if id_ not in open_ids}
    assert {id_: found.get(id_) for id_ in sure} == sure
    for id_ in found.keys() - sure.keys():
        assert found[id_] in {acknowledged.get(id_), *open_texts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "rounds"), [(signal.SIGKILL, KILLS), (signal.SIGTERM, STOPS), (signal.SIGINT, STOPS)]
)
def test_two_writers_stopped_at_a_random_moment_lose_nothing_that_they_acknowledged(crew, root, shown, number, rounds):
    dice = random.Random(number)
    before: dict[str, str] = {}
    for turn in range(rounds):
        actors = [crew.start("endless_scribe", root=str(root), name=f"{turn}-{n}", seed=2 * turn + n) for n in (0, 1)]
        actors[0].until_it_did(dice.randrange(1, 6))
        actors[1].until_it_did(1)
        actors[0].listen(dice.random() / 200)
        for actor in actors:
            actor.signal(number)
        for actor in actors:
            actor.to_its_end_by(number)
        found = shown(root)
        still_stored(before, actors, found)
        check_the_place(root)
        before = found
    assert len(Memsync.open(root).store("project").problems()) <= 2 * rounds  # at most a torn line each
    assert before
