"""Beside peers, in CPU time: the same 1,000 records and questions for each, in turn, two that write at once, and an import.

`python -m benchmarks peers --into=FOLDER` installs what it compares below FOLDER, by default a temporary one.
What does not install or start is named and left out.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.corpus import records
from benchmarks.recall import _queries

RECORDS = 1_000
QUESTIONS = 20
WRITES = 10
WRITERS = 2
EACH = 25  # writes of each of the writers
_NPM = "@modelcontextprotocol/server-memory"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


_servers: list[Server] = []  # whose time counts, as long as they live


class Server:
    """An MCP server over stdio, asked one call at a time."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        _servers.append(self)
        self.about = self._ask("initialize", _HELLO)["serverInfo"]
        self._send({"method": "notifications/initialized"})

    def call(self, name: str, **given: object) -> Any:
        """Return what the tool *name* answers; an error of it is raised."""
        said = self._ask("tools/call", {"name": name, "arguments": given})
        if said.get("isError"):
            raise RuntimeError(str(said)[:200])
        return said

    def end(self) -> None:
        """End the process as a client does: by closing its input."""
        _servers.remove(self)
        self._process.communicate(timeout=20)

    def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        self._send({"id": 1, "method": method, "params": params})
        while True:
            if not (line := self._out.readline()):
                raise RuntimeError("it ended")
            with suppress(ValueError):
                said = json.loads(line)
                if said.get("id") == 1 and ("result" in said or "error" in said):
                    return said["result"]

    def _send(self, message: Mapping[str, object]) -> None:
        self._in.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._in.flush()


class Memsync:
    """memsync, over MCP as an agent has it."""

    name = "memsync"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._env = {"MEMSYNC_HOME": str(folder / "home")}
        self._words = (str(Path(sys.executable).with_name("memsync")), "mcp")
        (folder / ".gobby").mkdir(exist_ok=True)
        self._open = Server(self._words, folder, self._env)
        self.version = self._open.about["version"]

    def fill(self, texts: Sequence[str]) -> None:
        """Import as a user does, with dedup and the search for secrets."""
        source = self._folder / "in.jsonl"
        source.write_text("".join(json.dumps({"content": text}) + "\n" for text in texts), encoding="utf-8")
        words = (self._words[0], "memory", "import", str(source))
        subprocess.run(words, cwd=self._folder, env={**os.environ, **self._env}, check=True, stdout=subprocess.DEVNULL)

    def ask(self, question: str) -> None:
        """Ask the open server."""
        self._open.call("recall", query=question)

    def ask_cold(self, question: str) -> None:
        """Ask a process that was not there."""
        words = (self._words[0], "memory", "recall", question)
        subprocess.run(words, cwd=self._folder, env={**os.environ, **self._env}, check=True, stdout=subprocess.DEVNULL)

    def write(self, text: str) -> None:
        """Remember one text."""
        self._open.call("remember", content=text)

    def open_another(self) -> Callable[[str], object]:
        """Return how a second process writes."""
        other = Server(self._words, self._folder, self._env)
        return lambda text: other.call("remember", content=text)

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the file."""
        data = (self._folder / ".gobby" / "memories.jsonl").read_text(encoding="utf-8")
        return sum(text in data for text in texts)


class ServerMemory:
    """The reference memory server of MCP: a graph in one JSONL file."""

    name = "server-memory"

    def __init__(self, folder: Path, modules: Path) -> None:
        self._file = folder / "memory.jsonl"
        self._words = (str(modules / ".bin" / "mcp-server-memory"),)
        self._env = {"MEMORY_FILE_PATH": str(self._file)}
        self._folder = folder
        self._open = self._start()
        package = modules / _NPM / "package.json"
        self.version = json.loads(package.read_text(encoding="utf-8"))["version"]

    def _start(self) -> Server:
        return Server(self._words, self._folder, self._env)

    def fill(self, texts: Sequence[str]) -> None:
        """Create all entities in one call."""
        self._open.call("create_entities", entities=[_entity(text) for text in texts])

    def ask(self, question: str) -> None:
        """Search the open server."""
        self._open.call("search_nodes", query=question)

    def ask_cold(self, question: str) -> None:
        """Search in a process that was not there."""
        server = self._start()
        server.call("search_nodes", query=question)
        server.end()

    def write(self, text: str) -> None:
        """Create one entity."""
        self._open.call("create_entities", entities=[_entity(text)])

    def open_another(self) -> Callable[[str], object]:
        """Return how a second process writes."""
        other = self._start()
        return lambda text: other.call("create_entities", entities=[_entity(text)])

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the file."""
        data = self._file.read_text(encoding="utf-8")
        return sum(text in data for text in texts)


def _entity(text: str) -> dict[str, object]:
    return {"name": text[-60:], "entityType": "memory", "observations": [text]}


class Fts5:
    """SQLite's full text search in a file, in this process; no more than a table: no dedup, no meaning, no git."""

    name = "SQLite FTS5 (table only)"
    version = sqlite3.sqlite_version

    def __init__(self, folder: Path) -> None:
        self._path = folder / "fts.db"
        self._db = self._connect()
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(content, tokenize='porter unicode61')")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)

    def fill(self, texts: Sequence[str]) -> None:
        """Insert all in one transaction."""
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO t(content) VALUES (?)", [(text,) for text in texts])
        self._db.execute("COMMIT")

    def ask(self, question: str) -> None:
        """Match any of the words."""
        words = " OR ".join(f'"{word}"' for word in question.split())
        self._db.execute("SELECT content FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (words,)).fetchall()

    def ask_cold(self, question: str) -> None:
        """Ask from a Python that was not there."""
        words = " OR ".join(f'"{word}"' for word in question.split())
        code = "import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute('SELECT content FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10', (sys.argv[2],)).fetchall()"
        subprocess.run((sys.executable, "-c", code, str(self._path), words), check=True)

    def write(self, text: str) -> None:
        """Insert one row."""
        self._db.execute("INSERT INTO t(content) VALUES (?)", (text,))

    def open_another(self) -> Callable[[str], object]:
        """Return how another connection writes."""
        other = self._connect()
        return lambda text: other.execute("INSERT INTO t(content) VALUES (?)", (text,))

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the table."""
        held = {row[0] for row in self._db.execute("SELECT content FROM t")}
        return sum(text in held for text in texts)


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield (
        "what",
        "version",
        "cold recall, ms of CPU",
        "warm recall, ms p50 / p95",
        "durable write, ms",
        f"kept of {WRITERS} × {EACH}",
        "import, records a second of CPU",
    )
    given = [Path(word.removeprefix("--into=")) for word in sys.argv if word.startswith("--into=")]
    texts = [json.loads(line)["content"] for line in records(RECORDS)]
    with tempfile.TemporaryDirectory() as name:
        peers, missing = _open_all(Path(name), given[0] if given else Path(name) / "installed")
        try:
            yield from _compare(peers, texts)
        finally:
            while _servers:
                _servers[-1].end()
        yield from missing


def _open_all(folder: Path, into: Path) -> tuple[list[Any], list[tuple[str, ...]]]:
    peers, missing = list[Any](), list[tuple[str, ...]]()
    for what, make in (
        ("memsync", Memsync),
        ("server-memory", lambda own: ServerMemory(own, _install_npm(into))),
        ("FTS5", Fts5),
    ):
        own = folder / what
        own.mkdir()
        try:
            peers.append(make(own))
        except (OSError, RuntimeError, subprocess.SubprocessError, sqlite3.Error) as error:
            print(f"NOT COMPARED: {what}: {error}", file=sys.stderr)
            missing.append((what, f"not compared: {error}", "", "", "", "", ""))
    return peers, missing


def _install_npm(into: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not installed")
    into.mkdir(parents=True, exist_ok=True)
    words = (npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(into), _NPM)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return into / "node_modules"


def _compare(peers: Sequence[Any], texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Measure each thing of all peers in turn, so that a drifting machine moves all of them."""
    questions = _queries(texts, 5, QUESTIONS)
    import_ = {peer.name: _clock(peer.fill, texts) for peer in peers}
    for peer in peers:
        peer.ask(questions[0])
        peer.ask_cold(questions[0])
    cold = _in_turn(peers, "ask_cold", questions[:7])
    warm = _in_turn(peers, "ask", questions)
    new = [
        f"Ticket {n * 7_919}: the worker pool {n} must drain queue q{n} before rollout {n * 31} because cache c{n} is cold"
        for n in range(WRITES)
    ]
    durable = _in_turn(peers, "write", new)
    kept = {peer.name: _write_together(peer) for peer in peers}
    for peer in peers:
        times = sorted(warm[peer.name])
        yield (
            peer.name,
            peer.version,
            f"{1000 * statistics.median(cold[peer.name]):.0f}",
            f"{1000 * statistics.median(times):.2f} / {1000 * times[int(0.95 * len(times))]:.2f}",
            f"{1000 * statistics.median(durable[peer.name]):.2f}",
            f"{kept[peer.name]} of {WRITERS * EACH}",
            f"{len(texts) / import_[peer.name]:,.0f}",
        )


def _in_turn(peers: Sequence[Any], call: str, texts: Sequence[str]) -> dict[str, list[float]]:
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
    threads = (path for server in _servers for path in Path(f"/proc/{server.pid}/task").glob("*/schedstat"))
    living = sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / 1e9
    return time.process_time() + ended.children_user + ended.children_system + living


def _write_together(peer: Any) -> int:
    """Let processes write at the same time, and return how many texts are there afterwards."""
    writers = [peer.open_another() for _ in range(WRITERS)]
    texts = [
        [f"writer {w} found on day {n} that port {7_000 + 97 * n + w} belongs to service s{n}w{w}" for n in range(EACH)]
        for w in range(WRITERS)
    ]

    def work(at: int) -> None:
        for text in texts[at]:
            with suppress(RuntimeError, sqlite3.Error, KeyError):
                writers[at](text)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(work, range(WRITERS)))
    return int(peer.kept([text for some in texts for text in some]))
