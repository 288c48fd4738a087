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
            yield _append(Path(name), size)
            yield _load(Path(name), size)


def _append(directory: Path, size: int) -> tuple[str, ...]:
    """One warm `remember` (lock, look, decide, append, fsync) against a bare append + fsync."""
    write(directory / "p" / ".gobby" / "memories.jsonl", size)
    memsync = Memsync.open(directory / "p", env={"MEMSYNC_HOME": str(directory / "home")}).with_settings(author="bench")
    numbers = itertools.count()
    plain = os.open(directory / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    line = b'{"content":"' + b"x" * 300 + b'"}\n'

    def ours() -> None:
        memsync.remember(f"a new thing to remember, number {next(numbers)}")

    def base() -> None:
        os.write(plain, line)
        os.fsync(plain)

    times = paired(ours, base, 100)
    os.close(plain)
    return _row("remember, warm ÷ append + fsync", size, times)


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
