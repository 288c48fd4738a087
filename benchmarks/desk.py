"""The desk: its start, its pages and its memory, beside `python -c pass` and `Memsync.search` in this process."""

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
from benchmarks.timing import paired
from memsync import Memsync

_SIZES = (1_000, 10_000, 100_000)
_RUNS = 25
_READ_WHOLE = 10_000  # records; more take minutes, a quarter of a second a page


class _Client:
    """A browser's part: one connection that stays, and the cookie."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._wire = http.client.HTTPConnection(where.hostname or "", where.port, timeout=600)
        self._wire.request("GET", f"/?{where.query}&q=.")  # a search that finds nothing: the first page is not it
        answer = self._wire.getresponse()
        answer.read()
        self._headers = {"Cookie": (answer.headers["Set-Cookie"] or "").partition(";")[0]}

    def get(self, path: str) -> bytes:
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
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50", "ratio")
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as directory:
            write(Path(directory) / ".gobby" / "memories.jsonl", size)
            yield from _measure(directory, size)


def _measure(directory: str, size: int) -> Iterator[tuple[str, ...]]:
    told = f"{size:,}"
    if size == _SIZES[0]:
        times = paired(partial(_start, directory), partial(_run_nothing, directory), 11)
        ours = f"{times.ms():.0f} / {times.ms(at=0.95):.0f}"
        yield ("start, until the address is there; python -c pass", told, ours, f"{times.ms('base'):.1f}", f"{times.ratio:.1f}")  # fmt: skip
    os.environ["MEMSYNC_HOME"] = f"{directory}/home"
    with Memsync.open(directory) as project, _desk(directory) as (process, url):
        queries = _make_queries([entry.content.split() for entry in project.entries()])

        def search() -> None:
            project.search(next(queries), limit=51)

        search()
        began = time.perf_counter()
        client = _Client(url)
        client.get("/")
        yield ("the first page of a new process", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–")
        for what, path in (
            ("Memories", lambda: "/"),
            ("Memories, searched", lambda: f"/?q={quote(next(queries))}"),
            ("Memories, 200 rows on", lambda: "/?offset=200"),
            ("a memory", lambda: "/memory?id=mm-00000500"),
            ("Map", lambda: "/map"),
        ):
            times = paired(partial(_get, client, path), search, _RUNS)
            ours = f"{times.ms():.1f} / {times.ms(at=0.95):.1f}"
            yield (f"{what}; Memsync.search", told, ours, f"{times.ms('base'):.1f}", f"{times.ratio:.1f}")
        began = time.perf_counter()
        text = client.get("/review")
        yield ("the first Review", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–")
        if size <= _READ_WHOLE:
            while b"still reading" in text:
                text = client.get("/review")
            yield ("until all was screened", told, f"{1000 * (time.perf_counter() - began):.0f}", "–", "–")
            times = paired(partial(client.get, "/review"), search, _RUNS)
            ours = f"{times.ms():.1f} / {times.ms(at=0.95):.1f}"
            yield ("Review; Memsync.search", told, ours, f"{times.ms('base'):.1f}", f"{times.ratio:.1f}")
        yield ("memory at its most, MB", told, f"{_peak(process.pid):.0f}", "–", "–")


def _make_queries(texts: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield three words of one text each, without an end."""
    pick = Random(1)
    while True:
        yield " ".join(pick.sample(pick.choice(texts), 3))


def _get(client: _Client, path: Callable[[], str]) -> None:
    client.get(path())


def _start(directory: str) -> None:
    with _desk(directory) as (_, url):
        assert url


def _run_nothing(directory: str) -> None:
    subprocess.run((sys.executable, "-c", "pass"), cwd=directory, check=True)


def _peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (row,) = (row for row in status.splitlines() if row.startswith("VmHWM:"))
    return int(row.split()[1]) / 1000
