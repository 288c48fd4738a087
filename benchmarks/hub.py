"""The hub: ingest, size and queries beside SQLite FTS5 and pgvector alone, and quality among others.

`MEMSYNC_BENCH_HUB` says how many rows (default 10000; several with commas), `MEMSYNC_DATA` where suites are. Embedded
PostgreSQL on the same machine; what git costs is not in it.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.corpus import records as made_up
from benchmarks.recall import Fts5
from memsync.evals.questions import Answer, Report, Suite, ask, read_suite, together
from memsync.format.codec import decode, encode
from memsync.hub import access, database, loading, sync
from memsync.hub.config import Settings
from memsync.hub.embedded import Embedded
from memsync.hub.hub import Hub, load_embedder
from memsync.hub.ingest import spell_vector
from memsync.hub.intake import MEMORIES
from memsync.hub.remote import Tip
from memsync.records import Memory

_OWN = Path(__file__).parents[1] / MEMORIES
_REPOS = {10_000: 100, 100_000: 1_000, 1_000_000: 5_000}
_QUERIES = 60
_SEED = 17
_WARM = 10


def texts(count: int) -> list[str]:
    """Return *count* texts: real records of this project, a third of their words by others and a number of their own."""
    draw = random.Random(_SEED)
    real = [line.memory.content.split() for raw in _OWN.read_bytes().splitlines() if (line := decode(raw)).memory]
    others = [
        w
        for raw in made_up(2_000)
        if (m := decode(raw).memory)
        for w in m.content.split()
        if re.fullmatch(r"[\w.-]+", w)
    ]
    made = []
    for number in range(count):
        words = [draw.choice(others) if draw.random() < 0.33 else word for word in draw.choice(real)]
        made.append(f"{' '.join(words)} item{number}")
    return made


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "rows", "figure", "beside it")
    for count in map(int, os.environ.get("MEMSYNC_BENCH_HUB", "10000").split(",")):
        with tempfile.TemporaryDirectory() as name:
            server = Embedded(Path(name) / "hub", idle=3600)
            try:
                yield from _measure(server, count)
            finally:
                server.remove()


def _measure(server: Embedded, count: int) -> Iterator[tuple[str, ...]]:
    rows_of = f"{count:,}"
    dsn, meaning = server.ensure(), load_embedder("builtin")
    assert meaning is not None
    database.migrate(dsn, dim=256, embedder=meaning.id)
    said = texts(count)
    with Hub(Settings(dsn=dsn)) as hub:
        yield from _load(hub, said, rows_of)
        yield from _ask(hub, said, rows_of)
        if data := os.environ.get("MEMSYNC_DATA"):
            yield from _judge(hub, Path(data), rows_of)


def _load(hub: Hub, said: Sequence[str], rows_of: str) -> Iterator[tuple[str, ...]]:
    repos = _REPOS.get(len(said), max(1, len(said) // 100))
    sync.add(hub.database, [f"https://forge.invalid/org/r{number}" for number in range(repos)], principal=None)
    files = [_spell_file(said[number::repos]) for number in range(repos)]
    begun = time.perf_counter()
    with hub.database.writing_alone() as connection:
        known = sync.list_known(connection)
        loading.begin(connection, expected=sync.PARALLEL * 100)
    with loading.apart(hub.database, "builtin") as run, ThreadPoolExecutor(4) as workers:
        write = run(sync.settle)
        for _ in workers.map(lambda one, data: write(one, _found(data), "bench"), known, files):
            pass
    loaded = time.perf_counter() - begun
    loading.end(hub.database)
    whole = time.perf_counter() - begun
    yield (
        "bulk load, records/s, indexes and counts at the end left out",
        rows_of,
        f"{len(said) / loaded:,.0f}",
        f"{len(said) / whole:,.0f} with these",
    )
    size = hub.status()["bytes"]
    yield ("size on disk, MB", rows_of, f"{size / 1e6:,.0f}", f"{size / len(said):,.0f} bytes a record")
    begun = time.perf_counter()
    _put_lines(hub, "https://forge.invalid/org/late", _spell_file([f"late {text}" for text in said[:500]]))
    yield ("500 records into the live index, records/s", rows_of, f"{500 / (time.perf_counter() - begun):,.0f}", "")
    with hub.database.writing() as connection:
        for name, most in (("one", 1), ("fifty", 50), ("all", repos)):
            ids = [row[0] for row in connection.execute("select id from repo order by id limit %s", [most])]
            access.grant(connection, access.have_principal(connection, name), ids, lasting=None, source="bench")
        connection.commit()
        connection.autocommit = True
        connection.execute("vacuum analyze")
        connection.autocommit = False


def _spell_file(said: Sequence[str]) -> bytes:
    return b"".join(encode(Memory(id=f"mm-{number:06d}", content=text)) + b"\n" for number, text in enumerate(said))


def _found(data: bytes) -> sync.Fetched:
    return sync.Fetched(tip=Tip(branch="main", commit="c" * 40), files={MEMORIES: data})


def _put_lines(hub: Hub, url: str, data: bytes) -> int:
    sync.add(hub.database, [url], principal=None)
    with hub.database.writing() as connection:
        known = sync.find(connection, url)
    sync.settle(hub.database, hub.meaning, known, _found(data), "bench")
    return known.id


def _ask(hub: Hub, said: Sequence[str], rows_of: str) -> Iterator[tuple[str, ...]]:
    draw = random.Random(_SEED + 1)
    asked = [
        " ".join(draw.sample(text.split()[:-1], k=min(6, len(text.split()) - 1)))
        for text in draw.sample(said, _QUERIES)
    ]
    fts = Fts5(said)
    lexical = _times(fts.search, asked)
    yield ("FTS5 over the same rows, any of the words: p50 / p95 ms", rows_of, _spell(lexical), "")
    yield (
        "pgvector alone, all rows, best 15: p50 / p95 ms",
        rows_of,
        _spell(_times(lambda text: _nearest(hub, text), asked)),
        "",
    )
    for name in ("one", "fifty", "all"):
        who = hub.owner(name)
        search = _searcher(hub, who.name)
        own = time.process_time()
        times = _times(search, asked)
        own = (time.process_time() - own) * 1000 / (len(asked) + _WARM)
        ratio = statistics.median(times) / statistics.median(lexical)
        yield (
            f"query, {name} of the repositories: p50 / p95 ms",
            rows_of,
            _spell(times),
            f"{ratio:.1f} times FTS5; {own:.1f} ms of the processor in our process",
        )
        with ThreadPoolExecutor(16) as workers:
            begun = time.perf_counter()
            list(workers.map(search, asked * 2))
            spent = time.perf_counter() - begun
        yield (f"16 at once, {name}: queries/s", rows_of, f"{2 * len(asked) / spent:.0f}", "one process of Python")


def _searcher(hub: Hub, name: str) -> Callable[[str], object]:
    return lambda text: hub.search(text, principal=name)


def _nearest(hub: Hub, text: str) -> list[Any]:
    asked = hub.meaning.query(text) if hub.meaning else None
    with hub.database.writing() as connection:
        return connection.execute(
            "select record from embedding order by numbers <=> %s::halfvec limit 15",
            [spell_vector(asked[0] if asked else [])],
        ).fetchall()


def _times(call: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    for text in asked[:_WARM]:
        call(text)
    times = []
    for text in asked:
        begun = time.perf_counter()
        call(text)
        times.append((time.perf_counter() - begun) * 1000)
    return sorted(times)


def _spell(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} / {times[int(0.95 * len(times))]:.1f}"


def _judge(hub: Hub, data: Path, rows_of: str) -> Iterator[tuple[str, ...]]:
    """Yield how well suites are answered by a local index, and by the hub with their records among all others."""
    for folder in sorted(path.parent for path in data.rglob("queries.jsonl")):
        suite = read_suite(folder)
        url = f"https://forge.invalid/suite/{folder.name}"
        repo = _put_lines(hub, url, b"\n".join(map(encode, suite.records)) + b"\n")
        with hub.database.writing() as connection:
            access.grant(
                connection, access.have_principal(connection, folder.name), [repo], lasting=None, source="bench"
            )
            access.grant(connection, access.have_principal(connection, "all"), [repo], lasting=None, source="bench")
        local = together([ask(suite, hub.meaning)])
        own, everything = (together([_ask_hub(hub, suite, name)]) for name in (folder.name, "all"))
        figures = [f"{one.as_dict()['answerable']['hit@5']:.3f}" for one in (local, own, everything)]
        yield (
            f"hit@5 of {folder.name}: local / hub, own repository",
            rows_of,
            " / ".join(figures[:2]),
            f"{figures[2]} with all granted",
        )


def _ask_hub(hub: Hub, suite: Suite, name: str) -> Report:
    answers = []
    for query in suite.queries:
        found = hub.search(query.text, principal=name, limit=10)
        ranked = [
            (hit.memory.id if hit.url.startswith("https://forge.invalid/suite/") else f"other {hit.link}", hit.score)
            for hit in found.hits
        ]
        answers.append(Answer(query=query, ranked=ranked))
    return Report(name=suite.name, records=len(suite.records), answers=answers)
