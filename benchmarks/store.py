"""The store: one durable write, and loading the file.

MEMSYNC_DATA=FOLDER with gobby/corpus.jsonl writes real texts, too: half of them, one after the other, into a store of the
others, mixed up to 10,000 and all screened before. A text that names a symbol is written in checkouts that are made for it.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import orjson

from benchmarks.corpus import write
from benchmarks.timing import Paired, paired
from memsync import Memsync
from memsync.format.codec import encode
from memsync.records import Memory
from memsync.store.checkout import commit_all, create
from memsync.store.places import Place
from memsync.store.store import Store
from memsync.system import programs

SIZES = (1_000, 10_000, 100_000)
AMONG = 10_000  # records, for what is written in one size only
CHECKOUTS = (1_000, 10_000)  # files
PASS = [sys.executable, "-c", "pass"]
LINE = b'{"content":"' + b"x" * 300 + b'"}\n'


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50", "ratio")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            yield from _append(Path(name), size)
            yield _load(Path(name), size)
    if data := os.environ.get("MEMSYNC_DATA"):
        with tempfile.TemporaryDirectory() as name:
            yield _write_real(Path(name), Path(data, "gobby", "corpus.jsonl"))
    for files in CHECKOUTS:
        with tempfile.TemporaryDirectory() as name:
            yield from _write_in_checkout(Path(name), files)


def _open(directory: Path) -> Memsync:
    return Memsync.open(directory / "p", env={"MEMSYNC_HOME": str(directory / "home")}).with_settings(author="bench")


def _against_append(directory: Path, what: str, size: int, ours: Callable[[], object], runs: int) -> tuple[str, ...]:
    """Time *ours* against a bare append + fsync."""
    plain = os.open(directory / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def base() -> None:
        os.write(plain, LINE)
        os.fsync(plain)

    try:
        return _row(f"{what} ÷ append + fsync", size, paired(ours, base, runs))
    finally:
        os.close(plain)


def _append(directory: Path, size: int) -> Iterator[tuple[str, ...]]:
    """One warm `remember` (lock, look, decide, append, fsync), short and long, against a bare append + fsync."""
    write(directory / "p" / ".gobby" / "memories.jsonl", size)
    memsync = _open(directory)
    numbers = itertools.count()

    def short() -> None:
        memsync.remember(f"a new thing to remember, number {next(numbers)}")

    def long() -> None:
        memsync.remember(_say(next(numbers)))

    for what, ours in (("", short), (", 36 words", long)):
        yield _against_append(directory, f"remember, warm{what}", size, ours, 100)
    memsync.close()


def _say(number: int) -> str:
    return (
        f"Ticket {number * 7_919}: in deploy stage {number} the worker pool {number % 13} must drain queue q{number} before "
        f"rollout {number * 31} because cache c{number} is cold and region r{number % 7} has no replica; ask team "
        f"{number % 5} first, then restart it and watch the log"
    )


def _write_real(directory: Path, corpus: Path) -> tuple[str, ...]:
    """One warm `remember` of a real text of 30 to 42 words."""
    texts = [orjson.loads(line)["content"] for line in corpus.read_bytes().splitlines()]
    pick = random.Random(7)
    pick.shuffle(texts)
    stored, new = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    sentences = [sentence for text in stored for sentence in text.split(". ")]
    mixed = (". ".join(pick.sample(sentences, pick.randint(2, 4))) for _ in itertools.count())
    held = itertools.islice(dict.fromkeys(itertools.chain(stored, itertools.islice(mixed, AMONG))), AMONG)
    lines = [encode(Memory(id=f"mm-{number:08d}", content=text)) for number, text in enumerate(held)]
    path = directory / "p" / ".gobby" / "memories.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    memsync = _open(directory)
    memsync.screen_all()
    waiting = (text for text in new if 30 <= len(text.split()) <= 42)
    for text in itertools.islice(waiting, 60):
        memsync.remember(text)
    try:
        what = "remember, warm, real texts of 30 to 42 words"
        return _against_append(directory, what, len(lines), lambda: memsync.remember(next(waiting)), 200)
    finally:
        memsync.close()


def _write_in_checkout(directory: Path, files: int) -> Iterator[tuple[str, ...]]:
    """One `remember` of a text that names a symbol of a checkout, whose file git must find: warm, and as a command of its own."""
    root = directory / "p"
    root.mkdir()
    create(root, name="bench", email="bench@example.org")
    for number in range(files):
        path = root / f"part{number // 100}" / f"step{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join(f"def task_{number}_{part}(given):\n    return given" for part in range(60)))
    commit_all(root, "all of it")
    write(root / ".gobby" / "memories.jsonl", AMONG)
    memsync, numbers = _open(directory), itertools.count()

    def say() -> str:
        number = next(numbers)
        return f"{_say(number)} of task_{number}_3"

    for text in (say() for _ in range(5)):
        assert memsync.remember(text).entry.memory.anchors, text
    where = f"a symbol named in a checkout of {files:,} files"
    yield _against_append(directory, f"remember, warm, {where}", AMONG, lambda: memsync.remember(say()), 60)
    memsync.close()
    yield _row(
        f"memsync remember, cold, {where} ÷ python -c pass",
        AMONG,
        paired(lambda: _run(root, programs.own("remember", "--", say())), lambda: _run(root, PASS), 15),
    )


def _run(root: Path, words: Sequence[str]) -> None:
    import subprocess

    env = {**os.environ, "MEMSYNC_HOME": str(root.with_name("home"))}
    subprocess.run(words, cwd=root, env=env, check=True, capture_output=True)


def _load(directory: Path, size: int) -> tuple[str, ...]:
    """Read the file into memories against orjson on the same lines."""
    place = Place("project", directory / "q", None, private=False)
    data = write(place.memories, size)

    def base() -> list[object]:
        return [orjson.loads(line) for line in data.split(b"\n")[:-1]]

    return _row("load ÷ orjson.loads of each line, kept", size, paired(lambda: Store(place).refresh(), base, 7))


def _row(what: str, size: int, times: Paired) -> tuple[str, ...]:
    ours = f"{times.ms():.2f} / {times.ms(at=0.95):.2f}"
    return (what, f"{size:,}", ours, f"{times.ms('base'):.2f}", f"{times.ratio:.1f}")
