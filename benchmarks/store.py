"""The store: one durable write, and loading the file."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.corpus import write
from benchmarks.timing import paired
from memsync import Memsync
from memsync.store.places import Place
from memsync.store.store import Store

SIZES = (1_000, 10_000, 100_000)


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50", "ratio")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            yield from _append(Path(name), size)
            yield _load(Path(name), size)


def _append(directory: Path, size: int) -> Iterator[tuple[str, ...]]:
    """One warm `remember` (lock, look, decide, append, fsync), short and long, against a bare append + fsync."""
    write(directory / "p" / ".gobby" / "memories.jsonl", size)
    memsync = Memsync.open(directory / "p", env={"MEMSYNC_HOME": str(directory / "home")}).with_settings(author="bench")
    numbers = itertools.count()
    plain = os.open(directory / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    line = b'{"content":"' + b"x" * 300 + b'"}\n'

    def short() -> None:
        memsync.remember(f"a new thing to remember, number {next(numbers)}")

    def long() -> None:
        number = next(numbers)
        memsync.remember(
            f"Ticket {number * 7_919}: in deploy stage {number} the worker pool {number % 13} must drain queue q{number} before "
            f"rollout {number * 31} because cache c{number} is cold and region r{number % 7} has no replica; ask team "
            f"{number % 5} first, then restart it and watch the log"
        )

    def base() -> None:
        os.write(plain, line)
        os.fsync(plain)

    for what, ours in (("", short), (", 36 words", long)):
        yield _row(f"remember, warm{what} ÷ append + fsync", size, paired(ours, base, 100))
    os.close(plain)
    memsync.close()


def _load(directory: Path, size: int) -> tuple[str, ...]:
    """Read the file into memories against orjson on the same lines."""
    place = Place("project", directory / "q", None, private=False)
    data = write(place.memories, size)

    def base() -> list[object]:
        return [orjson.loads(line) for line in data.split(b"\n")[:-1]]

    return _row("load ÷ orjson.loads of each line, kept", size, paired(lambda: Store(place).refresh(), base, 7))


def _row(what: str, size: int, times: object) -> tuple[str, ...]:
    from benchmarks.timing import Paired

    assert isinstance(times, Paired)
    ours = f"{times.ms():.2f} / {times.ms(at=0.95):.2f}"
    return (what, f"{size:,}", ours, f"{times.ms('base'):.2f}", f"{times.ratio:.1f}")
