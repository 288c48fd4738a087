"""Records to measure on: made-up developer prose with a natural spread of words, the same in every run."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from memsync.format.codec import encode
from memsync.records import Memory

_SEED = 20260115
_START = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def _words() -> tuple[str, ...]:
    """Return words with the frequencies of this project's own text: 8,000 drawn once, so that no change of it draws anew."""
    return tuple(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())


def records(count: int) -> list[bytes]:
    """Return *count* canonical lines of 20 to 60 words, sorted by id."""
    pick = random.Random(_SEED)
    words = _words()
    lines = []
    for number in range(count):
        text = " ".join(pick.choices(words, k=pick.randint(20, 60)))
        when = _START + timedelta(minutes=number)
        memory = Memory(
            id=f"mm-{number:08d}",
            content=f"{text} record{number}",
            importance=pick.randint(1, 10) / 10,
            tags=tuple(pick.choices(("ci", "tests", "docker", "api", "database"), k=2)),
            created_at=when,
            updated_at=when,
        )
        lines.append(encode(memory))
    return lines


def write(path: Path, count: int) -> bytes:
    """Write *count* records to *path* and return the bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(line + b"\n" for line in records(count))
    path.write_bytes(data)
    return data
