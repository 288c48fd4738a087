"""The janitor: looking through a store for copies, without a model."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.corpus import write
from memsync import Memsync
from memsync.format.codec import decode, encode
from memsync.janitor.plan import Plan
from memsync.janitor.run import apply
from memsync.janitor.survey import survey

SIZES = (1_000, 10_000, 50_000)
_COPIES = 0.05
_RUNS = 3
_SEED = 7


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, s", "baseline, s", "ratio", "done or found")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            yield _survey(Path(name), size)
    with tempfile.TemporaryDirectory() as name:
        yield _run(Path(name), 10_000)


def _store(directory: Path, size: int) -> Path:
    """Write a store of which one record in twenty is a copy of another with a few words more, or as it was."""
    path = directory / "p" / ".gobby" / "memories.jsonl"
    pick = random.Random(_SEED)
    lines = write(path, size).splitlines()
    for number in range(int(size * _COPIES)):
        memory = decode(pick.choice(lines)).memory
        assert memory is not None
        more = pick.choice(("", " and nobody knows why", " since last summer"))
        lines.append(encode(memory._replace(id=f"mm-copy{number}", content=memory.content + more)))
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def _survey(directory: Path, size: int) -> tuple[str, ...]:
    """Time a survey that makes its index too, against parsing the file; in CPU seconds, so that a busy machine says the same."""
    path = _store(directory, size)
    ours, base, found = [], [], 0
    for _ in range(_RUNS if size < SIZES[-1] else 1):
        memsync = Memsync.open(directory / "p", env={"MEMSYNC_HOME": str(directory / "home")})
        start = time.process_time()
        found = len(survey(memsync, ("dedup", "decay")).steps)
        ours.append(time.process_time() - start)
        start = time.process_time()
        _ = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        base.append(time.process_time() - start)
    return _row("dedup and decay, plan, CPU ÷ orjson.loads of each line", size, ours, base, found)


def _run(directory: Path, size: int) -> tuple[str, ...]:
    """Time doing a plan, against making it."""
    _store(directory, size)
    memsync = Memsync.open(directory / "p", env={"MEMSYNC_HOME": str(directory / "home")})
    start = time.perf_counter()
    plan: Plan = survey(memsync, ["dedup"])
    base = time.perf_counter() - start
    start = time.perf_counter()
    report = apply(memsync, plan.steps)
    memsync.close()
    return _row("doing the plan ÷ making it", size, [time.perf_counter() - start], [base], report.count("done"))


def _row(what: str, size: int, ours: list[float], base: list[float], found: int) -> tuple[str, ...]:
    one, other = statistics.median(ours), statistics.median(base)
    return (what, f"{size:,}", f"{one:.2f}", f"{other:.3f}", f"{one / other:.2g}", f"{found:,} steps")
