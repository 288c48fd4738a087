"""The desk: its start, its pages and its memory, beside `python -c pass` and `Memsync.search` in this process.

MEMSYNC_CORPUS names a memories.jsonl to take the place of the made-up records, MEMSYNC_SIZES the sizes, such as "10000". Of
a page the time on the clock is told, and the CPU time of the server, which waits for nobody.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from urllib.parse import quote, urlsplit

from benchmarks.corpus import write
from benchmarks.timing import Paired, paired
from memsync import Memsync

_SIZES = tuple(map(int, os.environ.get("MEMSYNC_SIZES", "1000 10000 100000").split()))
_CORPUS = os.environ.get("MEMSYNC_CORPUS", "")
_SEARCHES = 100
_RUNS = 25
_READ_WHOLE = 10_000  # records; more take minutes, a quarter of a second a page


class _Client:
    """A browser's part: one connection that stays, and the cookie."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._wire = http.client.HTTPConnection(where.hostname or "", where.port, timeout=600)
        self._wire.request("GET", f"/static/desk.css?{where.query}")
        answer = self._wire.getresponse()
        answer.read()
        self._headers = {"Cookie": (answer.headers["Set-Cookie"] or "").partition(";")[0]}

    def get(self, path: str) -> bytes:
        try:
            self._wire.request("GET", path, headers=self._headers)
            answer = self._wire.getresponse()
        except http.client.RemoteDisconnected:  # the baseline took longer than the server keeps a connection
            self._wire.close()
            self._wire.request("GET", path, headers=self._headers)
            answer = self._wire.getresponse()
        assert answer.status == 200, path
        return answer.read()


@contextmanager
def _desk(directory: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    words = (str(Path(sys.executable).with_name("memsync")), "ui", "--no-open", "--port", "0")
    env = {**os.environ, "MEMSYNC_HOME": f"{directory}/home"}
    with subprocess.Popen(words, cwd=directory, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50", "ratio", "CPU, ms p50 / p95")
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as directory:
            memories = Path(directory) / ".gobby" / "memories.jsonl"
            if _CORPUS:
                memories.parent.mkdir()
                memories.write_bytes(b"".join(Path(_CORPUS).read_bytes().splitlines(keepends=True)[:size]))
            else:
                write(memories, size)
            yield from _measure(directory, size)


def _measure(directory: str, size: int) -> Iterator[tuple[str, ...]]:
    told = f"{size:,}"
    if size == _SIZES[0]:
        times = paired(partial(_start, directory), partial(_run_nothing, directory), 11)
        yield (*_tell("start, until the address is there; python -c pass", told, times), "–")
    os.environ["MEMSYNC_HOME"] = f"{directory}/home"
    yield from _search_first(directory, told)
    with Memsync.open(directory) as project, _desk(directory) as (process, url):
        entries = list(project.entries())
        queries = _make_queries([entry.content.split() for entry in entries])
        one = quote(entries[size // 2].id)
        del entries

        def search() -> None:
            project.search(next(queries), limit=51)

        search()
        began = time.perf_counter()
        client = _Client(url)
        client.get("/memories")
        yield ("the first page of a new process", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–", "–")
        for what, runs, path in (
            ("Memories", _RUNS, lambda: "/memories"),
            ("Memories, searched while others are screened", _SEARCHES, lambda: f"/memories?q={quote(next(queries))}"),
            ("Memories, 200 rows on", _RUNS, lambda: "/memories?offset=200"),
            ("a memory", _RUNS, lambda: f"/memory?id={one}"),
            ("Map", _RUNS, lambda: "/map"),
        ):
            yield _page(what, told, client, process.pid, path, search, runs)
        began = time.perf_counter()
        text = client.get("/review")
        yield ("the first Review", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–", "–")
        while b"still reading" in text and size <= _READ_WHOLE:
            text = client.get("/review")
        if size <= _READ_WHOLE:
            yield ("until all was screened", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–", "–")
            yield _page("Review", told, client, process.pid, lambda: "/review", search, _RUNS)
        found = lambda: f"/memories?q={quote(next(queries))}"  # noqa: E731
        yield _page("Memories, searched", told, client, process.pid, found, search, _SEARCHES)
        yield ("memory at its most, MB", told, f"{_peak(process.pid):.0f}", "–", "–", "–")
        rss, pss, uss = _hold(process.pid)
        yield (
            "memory between requests, MB: resident / its share / its own",
            told,
            f"{rss} / {pss} / {uss}",
            "–",
            "–",
            "–",
        )


def _search_first(directory: str, told: str) -> Iterator[tuple[str, ...]]:
    """Yield how a store is searched that has no index yet: at once, and when that was made."""
    with _desk(directory) as (process, url):
        client, began = _Client(url), time.perf_counter()
        for what in ("the first search of a store without an index", "until its index answers"):
            while b"being made" in client.get("/memories?q=which+test+needs+the+port") and what.startswith("until"):
                time.sleep(0.1)
            yield (what, told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–", f"{_read_cpu(process.pid):.0f}")
        yield ("memory at its most until then, MB", told, f"{_peak(process.pid):.0f}", "–", "–", "–")


def _page(
    what: str, told: str, client: _Client, pid: int, path: Callable[[], str], search: Callable[[], None], runs: int
) -> tuple[str, ...]:
    spent: list[float] = []

    def get() -> None:
        before = _read_cpu(pid)
        client.get(path())
        spent.append(_read_cpu(pid) - before)

    times = paired(get, search, runs)
    found = sorted(spent[1:])
    cpu = f"{found[len(found) // 2]:.1f} / {found[int(0.95 * len(found))]:.1f}"
    return (*_tell(f"{what}; Memsync.search", told, times), cpu)


def _tell(what: str, told: str, times: Paired) -> tuple[str, ...]:
    ours = f"{times.ms():.1f} / {times.ms(at=0.95):.1f}"
    return (what, told, ours, f"{times.ms('base'):.1f}", f"{times.ratio:.2f}")


def _make_queries(texts: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield three words of one text each, without an end."""
    pick = Random(1)
    while True:
        yield " ".join(pick.sample(pick.choice(texts), 3))


def _start(directory: str) -> None:
    with _desk(directory) as (_, url):
        assert url


def _run_nothing(directory: str) -> None:
    subprocess.run((sys.executable, "-c", "pass"), cwd=directory, check=True)


def _peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (row,) = (row for row in status.splitlines() if row.startswith("VmHWM:"))
    return int(row.split()[1]) / 1000


def _read_cpu(pid: int) -> float:
    """Return the milliseconds that all threads of a process have run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e6


def _hold(pid: int) -> tuple[int, int, int]:
    """Return what a process has in memory, its share of it, and what is its own alone; MB."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]
    sizes = {name: int(rest.split()[0]) for name, _, rest in (row.partition(":") for row in rows)}
    own = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return sizes["Rss"] // 1000, sizes["Pss"] // 1000, own // 1000
