"""Recall: speed beside SQLite FTS5, bm25s and a linear scan. Every query goes to each of them in turn."""

from __future__ import annotations

import heapq
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import cycle
from pathlib import Path

import orjson

from benchmarks.corpus import records, write
from benchmarks.timing import Paired, paired
from memsync import Memsync
from memsync.agents.recall_suite import KEPT
from memsync.format.codec import decode, encode
from memsync.records import Change, Memory

Search = Callable[[str], object]

SIZES = tuple(map(int, os.environ.get("MEMSYNC_SIZES", "1000 10000 100000").split()))
COLD = 5_000
_WORD = re.compile(r"[^\W\d_]{3,}")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50 / p95", "ratio", "ratio of p95")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            yield from _speed(Path(name), size)
    with tempfile.TemporaryDirectory() as name:
        yield _cold(Path(name))


def _speed(directory: Path, size: int) -> Iterator[tuple[str, ...]]:
    write(directory / ".gobby" / "memories.jsonl", size)
    memories = [memory for line in records(size) if (memory := decode(line).memory)]
    yield from _first_index(directory, memories)
    memsync = _open_warm(directory)
    texts = [text_of(memory) for memory in memories]
    fts = Fts5(texts)
    others = {"FTS5": fts.search, "bm25s": _bm25s(texts), "linear scan": partial(_scan, [t.lower() for t in texts])}
    for count in (5, 30):
        queries = _queries(texts, count, 20 if size > 10_000 else 60)
        yield from _side_by_side(f"recall, {count} words", size, partial(memsync.search, limit=KEPT), others, queries)
    yield _counted(memsync, size, _queries(texts, 5, 20))
    yield _changed(memsync, memories, fts)
    yield _edited(directory, memsync, memories, fts)


def _open_warm(directory: Path) -> Memsync:
    memsync = Memsync.open(directory, env={"MEMSYNC_HOME": str(directory / "home")}).with_settings(author="bench")
    _ = memsync.finder.index  # warm: not the one-shot query, and not the making of the index
    memsync.screen_all()  # as a hook of the first session does when it has nothing else to do
    return memsync


def _side_by_side(
    what: str, size: int, ours: Search, others: Mapping[str, Search | None], queries: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    there = {name: search for name, search in others.items() if search}
    times = _in_turn({"": ours, **there}, queries)
    for name in others:
        if name in there:
            yield _row(f"{what} ÷ {name}", size, Paired(times[""], times[name]))
        else:
            yield (f"{what} ÷ {name}", f"{size:,}", "", "not installed", "", "")


def _in_turn(searches: Mapping[str, Search], queries: Sequence[str]) -> dict[str, list[float]]:
    """Time every search on every query, one after the other; the first query warms up and does not count."""
    times: dict[str, list[float]] = {name: [] for name in searches}
    for query in (queries[0], *queries):
        for name, search in searches.items():
            start = time.perf_counter()
            search(query)
            times[name].append(time.perf_counter() - start)
    return {name: taken[1:] for name, taken in times.items()}


def _queries(texts: Sequence[str], count: int, number: int) -> list[str]:
    """Return *number* queries of *count* different words, those of one query from the same few records."""
    pick = random.Random(count)
    words = [sorted(set(_WORD.findall(" ".join(pick.sample(texts, 4))))) for _ in range(number)]
    return [" ".join(pick.sample(some, count)) for some in words]


def _row(what: str, size: int, times: Paired) -> tuple[str, ...]:
    spans = [f"{times.ms(name):.2f} / {times.ms(name, 0.95):.2f}" for name in ("ours", "base")]
    worst = times.ms(at=0.95) / times.ms("base", 0.95)
    return (what, f"{size:,}", *spans, f"{times.ratio:.2f}", f"{worst:.2f}")


# what we are compared with


class Fts5:
    """SQLite's full text search: Porter stems, any of the words, its own BM25."""

    def __init__(self, texts: Iterable[str], path: str | Path = ":memory:") -> None:
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE VIRTUAL TABLE t USING fts5(content, tokenize='porter unicode61')")
        self.db.executemany("INSERT INTO t(rowid, content) VALUES (?, ?)", enumerate(texts))
        self.db.commit()

    def search(self, text: str) -> list[tuple[int, float]]:
        """Return the rows and scores of the best."""
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
        found = self.db.execute("SELECT rowid, -rank FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (words, KEPT))
        return found.fetchall() if words else []

    def change(self, row: int, text: str) -> None:
        """Replace one row."""
        self.db.execute("UPDATE t SET content = ? WHERE rowid = ?", (text, row))


def _bm25s(texts: Sequence[str]) -> Search | None:
    try:
        bm25s, stemmer = import_module("bm25s"), import_module("Stemmer").Stemmer("english")
    except ImportError:
        return None
    split = partial(bm25s.tokenize, stopwords="en", stemmer=stemmer, show_progress=False)
    index = bm25s.BM25()
    index.index(split(list(texts)), show_progress=False)

    def search(text: str) -> object:
        return index.retrieve(split([text]), k=KEPT, show_progress=False)

    return search


def _scan(texts: Sequence[str], query: str) -> list[tuple[int, int]]:
    words = query.lower().split()
    return heapq.nlargest(KEPT, ((sum(word in text for word in words), row) for row, text in enumerate(texts)))


def _counted(memsync: Memsync, size: int, queries: Sequence[str]) -> tuple[str, ...]:
    """Ask with a durable note of what was used, as the command does, against asking alone."""
    times = _in_turn(
        {"ours": partial(memsync.recall, limit=KEPT), "base": partial(memsync.search, limit=KEPT)}, queries
    )
    return _row("recall that counts as use ÷ without", size, Paired(times["ours"], times["base"]))


def text_of(memory: Memory) -> str:
    return " ".join((memory.content, *memory.tags))


# making and keeping the index


def _first_index(directory: Path, memories: Sequence[Memory]) -> Iterator[tuple[str, ...]]:
    """Read the file, index all of it and write the cache, against the same in a file of FTS5, and against a table in memory of texts that are there."""
    env, path = {"MEMSYNC_HOME": str(directory / "home")}, directory / ".gobby" / "memories.jsonl"

    def ours() -> None:
        Memsync.open(directory, env=env).finder.rebuild()

    def base() -> None:
        with open(path, "rb") as lines:
            found = map(orjson.loads, lines)
            fts = Fts5(
                (" ".join((one["content"], *one["tags"])) for one in found), directory / f"{time.monotonic_ns()}.db"
            )
        fts.db.close()

    runs = 1 if len(memories) > 10_000 else 5
    yield _row("first index ÷ FTS5 in a file, of the same lines", len(memories), paired(ours, base, runs))
    yield _row("first index ÷ FTS5", len(memories), paired(ours, lambda: Fts5(map(text_of, memories)), runs))


def _changed(memsync: Memsync, memories: Sequence[Memory], fts: Fts5) -> tuple[str, ...]:
    """Index one changed record and search, the files left aside."""
    index = memsync.finder.index
    turns, others = cycle(enumerate(_edits(memories))), cycle(enumerate(_edits(memories)))

    def ours() -> None:
        row, new = next(turns)
        index.apply("project", [Change(new.id, memories[row], new)])
        index.search("brandnewword", limit=KEPT, allow=lambda *_: 0.0)

    def base() -> None:
        row, new = next(others)
        fts.change(row, text_of(new))
        fts.search("brandnewword")

    return _row("one changed record, indexed and found ÷ FTS5", len(memories), paired(ours, base, 40))


def _edited(directory: Path, memsync: Memsync, memories: Sequence[Memory], fts: Fts5) -> tuple[str, ...]:
    """Find what another process has just appended to the file."""
    turns, others = cycle(_edits(memories)), cycle(enumerate(_edits(memories)))

    def ours() -> None:
        with open(directory / ".gobby" / "memories.jsonl", "ab") as file:
            file.write(encode(next(turns)._replace(importance=0.25)) + b"\n")
        memsync.search("brandnewword", limit=KEPT)

    def base() -> None:
        row, new = next(others)
        fts.change(row, text_of(new))
        fts.search("brandnewword")

    return _row("one line appended to the file, found ÷ FTS5", len(memories), paired(ours, base, 10))


def _edits(memories: Sequence[Memory]) -> list[Memory]:
    return [memory._replace(content=f"{memory.content} brandnewword") for memory in memories[:100]]


def _cold(directory: Path) -> tuple[str, ...]:
    write(directory / ".gobby" / "memories.jsonl", COLD)
    env = {**os.environ, "MEMSYNC_HOME": f"{directory}/home"}
    run = partial(subprocess.run, cwd=directory, env=env, check=True, stdout=subprocess.DEVNULL)
    script = str(Path(sys.executable).with_name("memsync"))
    ours = partial(run, (script, "memory", "recall", "which record writes the lock"))
    times = paired(ours, partial(run, (sys.executable, "-c", "pass")), 21)
    return _row("cold `memsync memory recall`, cache present ÷ python -c pass", COLD, times)
