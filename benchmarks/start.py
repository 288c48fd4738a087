"""Whole processes: help, a cold recall and a write, against `python -c pass`."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.timing import paired

_COMMANDS = (
    ("memsync --help", 0, ("--help",)),
    ("memory recall", 1_000, ("memory", "recall", "which record writes the lock")),
    ("memory recall", 4_219, ("memory", "recall", "which record writes the lock")),
    ("memory recall", 10_000, ("memory", "recall", "which record writes the lock")),
    ("memory list --limit 5", 4_219, ("memory", "list", "--limit", "5")),
    ("memory update", 4_219, ("memory", "update", "mm-00000001", "--importance", "0.3")),
)
_ASKED = '{"session_id": "%d", "prompt": "which record writes the lock"}'


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("command, cold", "records", "ours, ms p50 / p95", "python -c pass, ms p50", "ratio")
    script = Path(sys.executable).with_name("memsync")
    for what, size, words in _COMMANDS:
        with tempfile.TemporaryDirectory() as name:
            write(Path(name) / ".gobby" / "memories.jsonl", size)
            if size:
                _run(name, (str(script), "index", "rebuild"))  # else a list has it done beside what is measured
            call = partial(_run, name, (str(script), *words))
            times = paired(call, partial(_run, name, (sys.executable, "-c", "pass")), 11)
        ours = f"{times.ms():.0f} / {times.ms(at=0.95):.0f}"
        yield (what, f"{size:,}" if size else "–", ours, f"{times.ms('base'):.1f}", f"{times.ratio:.1f}")
    for size in (4_219, 10_000):
        yield from _after_writes(str(script), size)


def _after_writes(script: str, size: int) -> Iterator[tuple[str, ...]]:
    """Measure writes in a row, and a recall and a prompt's hook that each follow a write, which is not counted."""
    numbers = itertools.count()

    def remember() -> None:
        number = next(numbers)
        _run(
            name,
            (script, "memory", "remember", f"Ticket {number * 7_919}: stage {number} waits for queue {number % 13}"),
        )

    def recall() -> None:
        _run(name, (script, "memory", "recall", "which record writes the lock"))

    def hook() -> None:
        _run(name, (script, "hook", "prompt"), _ASKED % next(numbers))

    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / ".gobby" / "memories.jsonl", size)
        recall()  # makes the index
        bare = partial(_run, name, (sys.executable, "-c", "pass"))
        rows = (
            ("memory remember, in a row", remember, None),
            ("memory recall, after a write", recall, remember),
            ("hook prompt, after a write", hook, remember),
        )
        for what, call, before in rows:
            times = paired(call, bare, 11, before=before)
            ours = f"{times.ms():.0f} / {times.ms(at=0.95):.0f}"
            yield (what, f"{size:,}", ours, f"{times.ms('base'):.1f}", f"{times.ratio:.1f}")


def _run(directory: str, words: tuple[str, ...], given: str = "") -> None:
    env = {**os.environ, "MEMSYNC_HOME": f"{directory}/home"}
    subprocess.run(words, cwd=directory, env=env, check=True, stdout=subprocess.DEVNULL, input=given, text=True)
