"""The hub: ingest, size and queries beside SQLite FTS5 and pgvector alone, and quality among others.

`MEMSYNC_BENCH_HUB` says how many rows (default 10000; several with commas), `MEMSYNC_DATA` where suites are;
`MEMSYNC_BENCH_HUB_AT` a directory whose hub is kept, and asked again without a load; `MEMSYNC_BENCH_HUB_REPOS` how many
real repositories are synced, and looked at again (default none). Embedded PostgreSQL on the same machine; only these cost git.
"""

from __future__ import annotations

import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import records as made_up
from benchmarks.recall import Fts5
from memsync.agents.recall_suite import Answer, Report, Suite, ask, read_suite, together
from memsync.format.codec import decode, encode
from memsync.hub import access, database, loading, sync
from memsync.hub.config import Settings
from memsync.hub.embedded import Embedded
from memsync.hub.hub import Hub, load_embedder
from memsync.hub.ingest import spell_vector
from memsync.hub.intake import MEMORIES
from memsync.hub.remote import Tip
from memsync.records import Memory

assert sys.platform != "win32", "the embedded hub runs on Linux and macOS"

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
    kept = os.environ.get("MEMSYNC_BENCH_HUB_AT")
    for count in map(int, os.environ.get("MEMSYNC_BENCH_HUB", "10000").split(",")):
        if kept:
            server = Embedded(Path(kept), idle=3600)
            yield from _measure(server, count)
            server.stop("fast")
            continue
        with tempfile.TemporaryDirectory() as name:
            server = Embedded(Path(name) / "hub", idle=3600)
            try:
                yield from _measure(server, count)
            finally:
                server.remove()
    if repos := int(os.environ.get("MEMSYNC_BENCH_HUB_REPOS", "0")):
        yield from _look_again(repos)


def _measure(server: Embedded, count: int) -> Iterator[tuple[str, ...]]:
    rows_of = f"{count:,}"
    dsn, meaning = server.ensure(), load_embedder("builtin")
    assert meaning is not None
    database.migrate(dsn, dim=256, embedder=meaning.id)
    with Hub(Settings(dsn=dsn)) as hub:
        said = _read_texts(hub, count)
        if not said:
            said = texts(count)
            yield from _load(hub, server, said, rows_of)
        yield from _ask(hub, server, said, rows_of)
        if data := os.environ.get("MEMSYNC_DATA"):
            yield from _judge(hub, Path(data), rows_of)


def _read_texts(hub: Hub, count: int) -> list[str]:
    """Return the texts of a hub that was loaded before."""
    with hub.database.writing() as connection:
        rows = connection.execute("select line from record order by id limit %s", [count]).fetchall()
    return [memory.content for (line,) in rows if (memory := decode(bytes(line)).memory)]


def _load(hub: Hub, server: Embedded, said: Sequence[str], rows_of: str) -> Iterator[tuple[str, ...]]:
    repos = _REPOS.get(len(said), max(1, len(said) // 100))
    sync.add(hub.database, [f"https://forge.invalid/org/r{number}" for number in range(repos)], principal=None)
    files = [_spell_file(said[number::repos]) for number in range(repos)]
    begun, spent = time.perf_counter(), Processor(server).seconds()
    with hub.database.writing_alone() as connection:
        known = sync.list_known(connection)
        loading.begin(connection, expected=sync.PARALLEL * 100)
    with loading.apart(hub.database, "builtin") as run, ThreadPoolExecutor(4) as workers:
        write = run(sync.settle)
        for _ in workers.map(lambda one, data: write(one, _found(data), "bench"), known, files):
            pass
    loaded, spent = time.perf_counter() - begun, Processor(server).seconds() - spent
    yield (
        "bulk load, records/s on the clock, indexes and counts at the end left out",
        rows_of,
        f"{len(said) / loaded:,.0f}",
        f"{1000 * spent / len(said):.2f} ms of the processor a record",
    )
    begun, spent = time.perf_counter(), Processor(server).seconds()
    loading.end(hub.database, of_all=True)
    ended, spent = time.perf_counter() - begun, Processor(server).seconds() - spent
    yield (
        "indexes and counts at the end, seconds on the clock",
        rows_of,
        f"{ended:,.0f}",
        f"{spent:,.0f} s of the processor; {len(said) / (loaded + ended):,.0f} records/s with these",
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


class Processor:
    """What this process and its children, and the PostgreSQL of *server*, have used of the processor. Of Linux."""

    def __init__(self, server: Embedded) -> None:
        self._leader = int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def _list(self) -> list[Path]:
        return [path for path in Path("/proc").iterdir() if path.name.isdigit() and self._is_ours(path)]

    def _is_ours(self, path: Path) -> bool:
        with suppress(OSError):
            return self._leader in (int(path.name), int(_read_stat(path)[1]))
        return False

    def seconds(self) -> float:
        """Return the seconds, those of processes that have ended included."""
        ours = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return self.of_server() + sum(used.ru_utime + used.ru_stime for used in ours)

    def of_server(self) -> float:
        """Return those of the server alone."""
        ticks = sum(map(int, _read_stat(Path(f"/proc/{self._leader}"))[13:15]))
        running = 0
        for path in self._list():
            with suppress(OSError):
                running += int((path / "schedstat").read_text().split()[0])
        return ticks / os.sysconf("SC_CLK_TCK") + running / 1e9

    def megabytes(self) -> float:
        """Return what the server holds of the memory, what its processes share counted once."""
        size = 0
        for path in self._list():
            with suppress(OSError):
                found = re.search(r"^Pss: +(\d+)", (path / "smaps_rollup").read_text(), re.MULTILINE)
                size += int(found[1]) if found else 0
        return size / 1024


def _read_stat(path: Path) -> list[str]:
    """Return what the system says of a process, from its state on."""
    return (path / "stat").read_text().rpartition(")")[2].split()


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


def _ask(hub: Hub, server: Embedded, said: Sequence[str], rows_of: str) -> Iterator[tuple[str, ...]]:
    draw = random.Random(_SEED + 1)
    asked = [
        " ".join(draw.sample(text.split()[:-1], k=min(6, len(text.split()) - 1)))
        for text in draw.sample(said, _QUERIES)
    ]
    searches: dict[str, Callable[[str], object]] = {
        "FTS5 over the same rows, any of the words": Fts5(said).search,
        "pgvector alone, all rows, best 15": lambda text: _nearest(hub, text),
    }
    ours = {f"query, {name} of the repositories": _searcher(hub, name) for name in ("one", "fifty", "all")}
    clock, used = _times(server, searches | ours, asked)
    lexical = clock[next(iter(searches))]
    for name, times in clock.items():
        yield (
            f"{name}: p50 / p95 ms on the clock",
            rows_of,
            _spell(times),
            f"{_spell(used[name])} of the processor; {statistics.median(times) / statistics.median(lexical):.2f} times FTS5",
        )
    for name, search in ours.items():
        begun = time.perf_counter()
        with ThreadPoolExecutor(16) as workers:
            at_once = list(workers.map(partial(_clock, search), asked * 2))
        rate = 2 * len(asked) / (time.perf_counter() - begun)
        yield (f"{name}, 16 at once: p50 / p95 ms", rows_of, _spell(at_once), f"{rate:.0f}/s, one process of Python")
    yield ("memory of the server after these, MB", rows_of, f"{Processor(server).megabytes():,.0f}", "")


def _searcher(hub: Hub, name: str) -> Callable[[str], object]:
    return lambda text: hub.search(text, principal=name)


def _nearest(hub: Hub, text: str) -> list[Any]:
    asked = hub.meaning.query(text) if hub.meaning else None
    with hub.database.writing() as connection:
        return connection.execute(
            "select record from embedding order by numbers <=> %s::halfvec limit 15",
            [spell_vector(asked[0] if asked else [])],
        ).fetchall()


def _times(
    server: Embedded, searches: Mapping[str, Callable[[str], object]], asked: Sequence[str]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the milliseconds of each search on the clock, and of the processor: every query goes to each in turn."""
    clock: dict[str, list[float]] = {name: [] for name in searches}
    used: dict[str, list[float]] = {name: [] for name in searches}
    processor = Processor(server)
    for number, text in enumerate([*asked[:_WARM], *asked]):
        for name, call in searches.items():
            before, own = processor.of_server(), time.process_time()
            spent = _clock(call, text)
            own = time.process_time() - own
            if number >= _WARM:
                clock[name].append(spent)
                used[name].append(1000 * (own + processor.of_server() - before))
    return clock, used


def _clock(call: Callable[[str], object], text: str) -> float:
    begun = time.perf_counter()
    call(text)
    return (time.perf_counter() - begun) * 1000


def _spell(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.1f} / {sorted(times)[int(0.95 * len(times))]:.1f}"


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


def _look_again(count: int) -> Iterator[tuple[str, ...]]:
    """Yield what a sync of real repositories takes, and another one when nothing has changed."""
    rows_of = f"{count:,} repositories"
    said = texts(5 * count)
    with tempfile.TemporaryDirectory() as name:
        server = Embedded(Path(name) / "hub", idle=3600)
        try:
            with ThreadPoolExecutor(4) as workers:
                files = [_spell_file(said[number::count]) for number in range(count)]
                urls = list(workers.map(_make_repository, (Path(name) / f"r{n}.git" for n in range(count)), files))
            dsn, meaning = server.ensure(), load_embedder("builtin")
            database.migrate(dsn, dim=256, embedder=meaning.id if meaning else "")
            with Hub(Settings(dsn=dsn)) as hub:
                sync.add(hub.database, urls, principal=None)
                for what in ("first sync", "nothing changed", "nothing changed, once more"):
                    before = _read_versions(hub)
                    begun, spent = time.perf_counter(), Processor(server).seconds()
                    outcomes = sync.sync(hub.database, hub.meaning, embedder="builtin")
                    ended, spent = time.perf_counter() - begun, Processor(server).seconds() - spent
                    told = (
                        f"{sync.summary(outcomes)}, rows touched: {'none' if _read_versions(hub) == before else 'yes'}"
                    )
                    yield (
                        f"{what}: seconds on the clock, of the processor",
                        rows_of,
                        f"{ended:.1f}, {spent:.1f}",
                        told,
                    )
        finally:
            server.remove()


def _make_repository(path: Path, data: bytes) -> str:
    """Make a bare repository whose default branch has *data* as its memories, and return its URL."""
    _git("init", "-q", "--bare", "--template=", "-b", "main", str(path))
    head = b"commit refs/heads/main\ncommitter b <b@example.org> 0 +0000\ndata 0\n\n"
    _git("-C", str(path), "fast-import", "--quiet",
         stdin=head + b"M 100644 inline %s\ndata %d\n%s\n" % (MEMORIES.encode(), len(data), data))  # fmt: skip
    return path.as_uri()


def _git(*words: str, stdin: bytes = b"") -> None:
    subprocess.run(["git", *words], input=stdin, check=True, capture_output=True)


def _read_versions(hub: Hub) -> list[Any]:
    """Return what changes when any row of the hub's tables is written, but for when it was last synced."""
    tables = ("repo", "record", "posting", "df", "stats", "word", "gram", "embedding", "access")
    with hub.database.writing() as connection:
        return [
            connection.execute(
                f"select count(*), sum(hashtextextended(ctid::text || xmin::text, 0)) from {table}".encode()
            ).fetchone()
            for table in tables
        ]
