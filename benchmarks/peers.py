"""Beside peers, in CPU time: the same 1,000 records and questions for each, in turn, two that write at once, and an import.

`python -m benchmarks peers --into=FOLDER` installs what it compares below FOLDER, by default a temporary one; `--only=NAMES`
(with commas) takes some. What does not install or start is named and left out. What an embedder costs is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import contenders
from benchmarks.contenders import Contender, McpContender, MemsyncCommand
from benchmarks.corpus import records
from benchmarks.recall import _queries

RECORDS = 1_000
QUESTIONS = 20
WRITES = 10
WRITERS = 2
EACH = 25  # writes of each of the writers


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield (
        "what",
        "version",
        "a server's first answer, ms of CPU",
        "cold recall, ms of CPU",
        "warm recall, ms p50 / p95",
        "write of 36 words, ms",
        f"kept of {WRITERS} × {EACH}",
        "import, records a second of CPU",
    )
    texts = [json.loads(line)["content"] for line in records(RECORDS)]
    with tempfile.TemporaryDirectory() as name, _embedder() as embedder:
        try:
            filled, missing = _open_all(Path(name), _option("into", f"{name}/installed"), embedder, texts)
            yield from _compare(filled, texts)
        finally:
            while contenders.living:
                contenders.living[-1].end()
        yield from missing


def _option(name: str, default: str) -> str:
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{name}", default=default)
    return str(getattr(parser.parse_known_args()[0], name))


@contextmanager
def _embedder() -> Iterator[str]:
    """Run the stand-in for a model and yield its address; it is no contender, so its time is not counted."""
    words = (sys.executable, "-m", "benchmarks.hashing_embedder")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _open_all(
    folder: Path, installed: str, embedder: str, texts: Sequence[str]
) -> tuple[dict[Contender, float], list[tuple[str, ...]]]:
    """Return those that installed, started and took the *texts*, with the seconds that took, and rows for the others."""
    into = Path(installed).absolute()
    all_: dict[str, Callable[[Path], Contender]] = {
        "memsync": contenders.Memsync,
        "memsync-command": contenders.MemsyncCommand,
        "memsync-hook": contenders.MemsyncHook,
        "server-memory": lambda own: contenders.ServerMemory(own, into),
        "mcp-memory-service": lambda own: contenders.McpMemoryService(own, into, embedder),
        "basic-memory": lambda own: contenders.BasicMemory(own, into),
        "mem0ai": lambda own: contenders.Library(own, into, "mem0ai", embedder),
        "memsearch": lambda own: contenders.Library(own, into, "memsearch", embedder),
        "tantivy": lambda own: contenders.Library(own, into, "tantivy", embedder),
        "FTS5": contenders.Fts5,
    }
    names = _option("only", ",".join(all_)).split(",")
    filled, missing = dict[Contender, float](), list[tuple[str, ...]]()
    for what in names:
        own = folder / what
        own.mkdir()
        try:
            contender = all_[what](own)
            filled[contender] = _clock(contender.fill, texts)
        except (OSError, RuntimeError, subprocess.SubprocessError, sqlite3.Error) as error:
            print(f"NOT COMPARED: {what}: {error}", file=sys.stderr)
            missing.append((what, f"not compared: {error}", "", "", "", "", "", ""))
    return filled, missing


def _compare(filled: Mapping[Contender, float], texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Measure each thing of all peers in turn, so that a drifting machine moves all of them."""
    peers = tuple(filled)
    questions = _queries(texts, 5, QUESTIONS)
    for peer in peers:
        peer.ask(questions[0])
        peer.ask_cold(questions[0])
    servers = [peer for peer in peers if isinstance(peer, McpContender) and not isinstance(peer, MemsyncCommand)]
    first = _in_turn(servers, "greet", questions[:7])
    cold = _in_turn(peers, "ask_cold", questions[:7])
    warm = _in_turn(peers, "ask", questions)
    new = [" ".join((f"Ticket {n * 7_919}:", *text.split()[:34])) for n, text in enumerate(_new_texts())]
    durable = _in_turn(peers, "write", new)
    kept = {peer.name: _write_together(peer) for peer in peers}
    for peer in peers:
        times = sorted(warm[peer.name])
        yield (
            peer.name,
            peer.version,
            f"{1000 * statistics.median(first[peer.name]):.0f}" if peer.name in first else "–",
            f"{1000 * statistics.median(cold[peer.name]):.0f}",
            f"{1000 * statistics.median(times):.2f} / {1000 * times[int(0.95 * len(times))]:.2f}",
            f"{1000 * statistics.median(durable[peer.name]):.2f}",
            f"{kept[peer.name]} of {WRITERS * EACH}",
            f"{len(texts) / filled[peer]:,.0f}",
        )


def _in_turn(peers: Sequence[Contender], call: str, texts: Sequence[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for text in texts:
        for peer in peers:
            times[peer.name].append(_clock(getattr(peer, call), text))
    return times


def _clock(call: Callable[..., object], *given: object) -> float:
    """Return the seconds of CPU that a call costs here, in the servers and in what it starts: a busy machine changes these least."""
    start = _spent()
    call(*given)
    return _spent() - start


def _spent() -> float:
    ended = os.times()
    threads = (path for process in contenders.living for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat"))
    living = sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / 1e9
    return time.process_time() + ended.children_user + ended.children_system + living


def _new_texts() -> list[str]:
    """Return texts of at least 34 words that no contender was given."""
    return [
        t for line in records(RECORDS + 4 * WRITES)[RECORDS:] if len((t := json.loads(line)["content"]).split()) > 34
    ][:WRITES]


def _write_together(peer: Contender) -> int:
    """Let processes write at the same time, and return how many texts are there afterwards."""
    writers = [peer.open_another() for _ in range(WRITERS)]
    texts = [
        [f"writer {w} found on day {n} that port {7_000 + 97 * n + w} belongs to service s{n}w{w}" for n in range(EACH)]
        for w in range(WRITERS)
    ]

    def work(at: int) -> None:
        for text in texts[at]:
            with suppress(RuntimeError, sqlite3.Error, OSError, subprocess.SubprocessError):
                writers[at](text)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(work, range(WRITERS)))
    return peer.kept([text for some in texts for text in some])
