"""Writers of one store at once, as real commands: all get through, and who waits long is told for whom.

`MEMSYNC_CHECK_RECORDS=200000` lets eight of them write into a large store, and wants them done within a minute.
"""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

from helpers import memory_line, memsync

from memsync import Memsync

RECORDS = int(os.environ.get("MEMSYNC_CHECK_RECORDS") or 300)
IS_LARGE = RECORDS >= 100_000
WRITERS = 8 if IS_LARGE else 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_lines(dice: random.Random) -> str:
    words = ["".join(dice.choices(LETTERS, k=dice.randint(3, 9))) for _ in range(20_000)]
    return "".join(memory_line(f"m{n}", " ".join(dice.choices(words, k=20))) for n in range(RECORDS))


def test_writers_of_a_store_all_get_through(repo):
    repo.write_memories(make_lines(random.Random(7)))
    assert memsync("memory", "add", "The first writer came alone", cwd=repo.root, timeout=600).code == 0
    texts = [f"Writer number {n} of the {letter * 4} team was here" for n, letter in enumerate(LETTERS[:WRITERS])]
    start = time.monotonic()
    with ThreadPoolExecutor(WRITERS) as pool:
        ran = list(pool.map(lambda text: memsync("memory", "add", text, cwd=repo.root, timeout=600), texts))
    took = time.monotonic() - start
    print(f"{WRITERS} writers of {RECORDS} records took {took:.1f} s")
    assert took < 60 or not IS_LARGE
    assert [each.code for each in ran] == [0] * WRITERS
    told = {line.partition("(")[0] for each in ran for line in each.err.splitlines()}
    assert told <= {"memsync: waiting for another memsync that is writing "}
    with Memsync.open(repo.root) as project:
        assert {entry.content for entry in project.memories()} >= {*texts, "The first writer came alone"}
