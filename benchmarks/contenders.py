"""What is compared with memsync, each behind the same six calls; `benchmarks.peers` measures them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

_NPM = "@modelcontextprotocol/server-memory"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
_MEMSYNC = str(Path(sys.executable).with_name("memsync"))

living: list[Process] = []  # whose time counts, as long as they live


class Contender(Protocol):
    """A memory that is filled, asked and written to."""

    name: str
    version: str

    def fill(self, texts: Sequence[str]) -> object:
        """Take in all *texts*, the quickest way there is."""

    def ask_cold(self, question: str) -> object:
        """Ask in a process that was not there."""

    def ask(self, question: str) -> object:
        """Ask what is open."""

    def write(self, text: str) -> object:
        """Keep one text."""

    def open_another(self) -> Callable[[str], object]:
        """Return how a second process writes."""

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are on the disk."""


class Process:
    """A process that answers one JSON line with one, over its standard streams."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.words = words
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
        living.append(self)

    def send(self, message: object) -> None:
        """Write one line."""
        self._in.write(json.dumps(message).encode() + b"\n")
        self._in.flush()

    def receive(self) -> Any:
        """Return the next line that is JSON; RuntimeError where the process ended."""
        while line := self._out.readline():
            with suppress(ValueError):
                return json.loads(line)
        raise RuntimeError(f"{self.words[0]} ended: {self._process.wait()}")

    def end(self) -> None:
        """End the process as a client does: by closing its input."""
        living.remove(self)
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=30)


class Server(Process):
    """An MCP server, asked one call at a time."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        super().__init__(words, folder, env)
        self.about = self._ask("initialize", _HELLO)["serverInfo"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str, **given: object) -> str:
        """Return what the tool *name* answers; an error of it is raised."""
        said = self._ask("tools/call", {"name": name, "arguments": given})
        if said.get("isError") or " Failed" in str(said["content"])[:80]:
            raise RuntimeError(str(said)[:200])
        return str(said["content"])

    def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while True:
            said = self.receive()
            if said.get("id") == 1 and ("result" in said or "error" in said):
                return said["result"]


class McpContender:
    """A memory that is an MCP server."""

    name: str
    version: str

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self._words, self._folder, self._env = words, folder, env
        self._open = self._start()

    def _start(self) -> Server:
        return Server(self._words, self._folder, self._env)

    def fill(self, texts: Sequence[str]) -> None:
        """Write each."""
        for text in texts:
            self.tell(self._open, text)

    def greet(self, _: str) -> None:
        """Start a server and wait for its first answer, that of `initialize`; then end it."""
        self._start().end()

    def ask(self, question: str) -> None:
        """Ask the open server."""
        self.query(self._open, question)

    def ask_cold(self, question: str) -> None:
        """Ask a server that was not there, from its start to its first answer."""
        server = self._start()
        self.query(server, question)
        server.end()

    def write(self, text: str) -> None:
        """Write by the open server."""
        self.tell(self._open, text)

    def open_another(self) -> Callable[[str], object]:
        """Return how another server writes."""
        other = self._start()
        return lambda text: self.tell(other, text)

    def tell(self, server: Server, text: str) -> None:
        """Let *server* keep *text*."""
        raise NotImplementedError

    def query(self, server: Server, question: str) -> None:
        """Let *server* look for *question*."""
        raise NotImplementedError


class Memsync(McpContender):
    """memsync over MCP, as an agent has it."""

    name = "memsync, MCP"

    def __init__(self, folder: Path) -> None:
        (folder / ".gobby").mkdir(exist_ok=True)
        super().__init__((_MEMSYNC, "mcp"), folder, {"MEMSYNC_HOME": str(folder / "home")})
        self.version = self._open.about["version"]

    def fill(self, texts: Sequence[str]) -> None:
        """Import as a user does, with dedup and the search for secrets."""
        source = self._folder / "in.jsonl"
        source.write_text("".join(json.dumps({"content": text}) + "\n" for text in texts), encoding="utf-8")
        self.run("import", str(source))

    def tell(self, server: Server, text: str) -> None:
        """Remember one text."""
        server.call("remember", content=text)

    def query(self, server: Server, question: str) -> None:
        """Recall."""
        server.call("recall", query=question)

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the file."""
        return count(self._folder / ".gobby" / "memories.jsonl", texts)

    def run(self, *words: str, given: str = "") -> None:
        """Run memsync in a process of its own."""
        env = {**os.environ, **self._env}
        command = (_MEMSYNC, *words)
        subprocess.run(
            command, cwd=self._folder, env=env, check=True, input=given, text=True, stdout=subprocess.DEVNULL
        )


class MemsyncCommand(Memsync):
    """memsync in a terminal: each call is a process; what is asked follows a write."""

    name = "memsync, command"

    def ask_cold(self, question: str) -> None:
        """Recall in a terminal."""
        self.run("recall", question)

    ask = ask_cold

    def write(self, text: str) -> None:
        """Remember in a terminal."""
        self.run("remember", text)

    def open_another(self) -> Callable[[str], object]:
        """Return how a terminal writes."""
        return self.write


class MemsyncHook(MemsyncCommand):
    """memsync as the hook of an agent's prompt, without a server that answers it."""

    name = "memsync, prompt hook"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._open.end()

    def ask_cold(self, question: str) -> None:
        """Give a prompt to the hook."""
        event = {"hook_event_name": "UserPromptSubmit", "session_id": question, "prompt": question}
        self.run("hook", "prompt", "--agent", "claude", given=json.dumps(event))

    ask = ask_cold


class ServerMemory(McpContender):
    """The reference memory server of MCP: a graph in one JSONL file."""

    name = "server-memory"

    def __init__(self, folder: Path, into: Path) -> None:
        modules = install_npm(into)
        self._file = folder / "memory.jsonl"
        super().__init__((str(modules / ".bin" / "mcp-server-memory"),), folder, {"MEMORY_FILE_PATH": str(self._file)})
        self.version = json.loads((modules / _NPM / "package.json").read_text(encoding="utf-8"))["version"]

    def fill(self, texts: Sequence[str]) -> None:
        """Create all entities in one call."""
        self._open.call("create_entities", entities=[_entity(text) for text in texts])

    def tell(self, server: Server, text: str) -> None:
        """Create one entity."""
        server.call("create_entities", entities=[_entity(text)])

    def query(self, server: Server, question: str) -> None:
        """Search for the question as it is."""
        server.call("search_nodes", query=question)

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the file."""
        return count(self._file, texts)


class McpMemoryService(McpContender):
    """mcp-memory-service with SQLite, and the stand-in for a model."""

    name = "mcp-memory-service"

    def __init__(self, folder: Path, into: Path, embedder: str) -> None:
        # sqlite-vec is an extension, which only some builds of Python load: often the system's.
        python = install_pip(into / "mcp-memory-service", "mcp-memory-service", "/usr/bin/python3")
        self._file = folder / "sqlite_vec.db"
        env = {
            "HOME": str(folder),
            "MCP_MEMORY_BASE_DIR": str(folder),
            "MCP_EXTERNAL_EMBEDDING_URL": f"{embedder}/embeddings",
        }
        super().__init__((str(python.with_name("memory")), "server"), folder, env)
        self.version = self._open.about["version"]

    def tell(self, server: Server, text: str) -> None:
        """Store one text."""
        server.call("memory_store", content=text)

    def query(self, server: Server, question: str) -> None:
        """Search by words and vectors."""
        server.call("memory_search", query=question, mode="hybrid", limit=10)

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in the database."""
        with sqlite3.connect(self._file) as db:
            held = {row[0] for row in db.execute("SELECT content FROM memories")}
        return sum(text in held for text in texts)


class BasicMemory(McpContender):
    """basic-memory: Markdown notes and SQLite's full text search; its search by meaning is off, for there is no model."""

    name = "basic-memory"

    def __init__(self, folder: Path, into: Path) -> None:
        python = install_pip(into / "basic-memory", "basic-memory", newest_python())
        env = {"HOME": str(folder), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "HF_HUB_OFFLINE": "1"}
        self._program = str(python.with_name("basic-memory"))
        self._notes = folder / "basic-memory"
        super().__init__((self._program, "mcp"), folder, env)
        said = subprocess.check_output((self._program, "--version"), env={**os.environ, **env}, text=True)
        self.version = said.split()[-1]

    def fill(self, texts: Sequence[str]) -> None:
        """Write the notes and let them be indexed."""
        (self._notes / "given").mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts):
            (self._notes / "given" / f"note-{number}.md").write_text(f"# note {number}\n\n{text}\n", encoding="utf-8")
        words = (self._program, "reindex", "--full", "--search")
        subprocess.run(words, env={**os.environ, **self._env}, check=True, capture_output=True)

    def tell(self, server: Server, text: str) -> None:
        """Write one note."""
        server.call("write_note", title=text[-60:], content=text, directory="notes")

    def query(self, server: Server, question: str) -> None:
        """Search for any of the words."""
        server.call("search_notes", query=" OR ".join(question.split()))

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* are in notes."""
        held = "".join(path.read_text(encoding="utf-8") for path in self._notes.rglob("*.md"))
        return sum(text in held for text in texts)


class Library:
    """A library in a process of its own Python, spoken to by `library_contender.py`."""

    def __init__(self, folder: Path, into: Path, package: str, embedder: str) -> None:
        python = install_pip(into / package, package, sys.executable)
        script = Path(__file__).with_name("library_contender.py")
        self.name = package
        self._words = (str(python), str(script), package, str(folder), embedder)
        self._folder = folder
        self._open = self._start()
        self.version = self._say(self._open, "version", None)

    def _start(self) -> Process:
        env = {"HOME": str(self._folder), "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
        return Process(self._words, self._folder, env)

    @staticmethod
    def _say(process: Process, what: str, given: object) -> Any:
        process.send([what, given])
        return process.receive()["result"]

    def fill(self, texts: Sequence[str]) -> None:
        """Add all texts."""
        self._say(self._open, "fill", list(texts))

    def ask(self, question: str) -> None:
        """Ask the open process."""
        self._say(self._open, "ask", question)

    def ask_cold(self, question: str) -> None:
        """Ask a process that was not there; the open one ends before, because some lock their files."""
        self._open.end()
        self._open = self._start()
        self._say(self._open, "ask", question)

    def write(self, text: str) -> None:
        """Add one text."""
        self._say(self._open, "write", text)

    def open_another(self) -> Callable[[str], object]:
        """Return how another process writes; the one that was open ends, because some lock their files."""
        if self._open in living:
            self._open.end()
        other = self._start()
        return lambda text: self._say(other, "write", text)

    def kept(self, texts: Sequence[str]) -> int:
        """Return how many of *texts* a new process finds."""
        for process in [one for one in living if one.words == self._words]:
            process.end()
        self._open = self._start()
        held = set(self._say(self._open, "all", None))
        return sum(text in held for text in texts)


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


def count(path: Path, texts: Sequence[str]) -> int:
    """Return how many of *texts* stand in the file *path*."""
    data = path.read_text(encoding="utf-8")
    return sum(text in data for text in texts)


def install_npm(into: Path) -> Path:
    """Install the reference server below *into* and return its `node_modules`."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not installed")
    into.mkdir(parents=True, exist_ok=True)
    words = (npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(into), _NPM)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return into / "node_modules"


def install_pip(into: Path, package: str, python: str) -> Path:
    """Install *package* into an environment of *python* at *into*, if it is not there, and return that environment's Python."""
    own = into / "bin" / "python"
    if not (into / "installed").exists():
        into.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run((python, "-m", "venv", "--clear", str(into)), check=True, stdout=subprocess.DEVNULL, timeout=120)
        words = (str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=600)
        (into / "installed").touch()
    return own


def newest_python() -> str:
    """Return a Python of 3.12 or later; RuntimeError without one."""
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3"))
    found = [path for minor in (14, 13, 12) if (path := shutil.which(f"python3.{minor}"))] + [str(p) for p in pyenv]
    for python in (sys.executable, *found):
        code = "import sys; sys.exit(sys.version_info < (3, 12))"
        if subprocess.run((python, "-c", code), check=False, capture_output=True).returncode == 0:
            return python
    raise RuntimeError("it needs Python 3.12")


def _entity(text: str) -> dict[str, object]:
    return {"name": text[-60:], "entityType": "memory", "observations": [text]}
