"""The MCP server: its start, and a recall over the wire, against Python, the SDK alone and the same call in process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import write
from benchmarks.timing import paired
from memsync import Memsync

_SIZE = 5_000
_QUESTION = "which record writes the lock"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
_RECALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "recall", "arguments": {"query": _QUESTION}},
}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("what", "records", "ours, ms p50 / p95", "baseline, ms p50", "ratio")
    with tempfile.TemporaryDirectory() as name:
        os.environ["MEMSYNC_HOME"] = f"{name}/home"
        write(Path(name) / ".gobby" / "memories.jsonl", _SIZE)
        python, sdk = _python("pass"), _python("from mcp.server import MCPServer")
        for what, work, base in (
            ("start to the answer of initialize ÷ python -c pass", partial(_served, name, _HELLO), python),
            ("start to the answer of initialize ÷ importing the SDK", partial(_served, name, _HELLO), sdk),
            ("start to the answer of a first recall ÷ importing the SDK", partial(_served, name, _HELLO, _RECALL), sdk),
        ):
            times = paired(work, base, 11)
            yield (
                what,
                f"{_SIZE:,}",
                f"{times.ms():.0f} / {times.ms(at=0.95):.0f}",
                f"{times.ms('base'):.0f}",
                f"{times.ratio:.1f}",
            )
        yield _warm(name)


def _warm(root: str) -> tuple[str, ...]:
    server, project = _start(root), Memsync.open(root)
    _ask(server, _HELLO)
    times = paired(partial(_ask, server, _RECALL), partial(project.recall, _QUESTION), 101)
    _end(server)
    ours = f"{times.ms():.2f} / {times.ms(at=0.95):.2f}"
    return ("a warm recall ÷ Memsync.recall", f"{_SIZE:,}", ours, f"{times.ms('base'):.2f}", f"{times.ratio:.1f}")


def _python(code: str) -> Any:
    return partial(subprocess.run, (sys.executable, "-c", code), check=True)


def _served(root: str, *messages: dict[str, Any]) -> None:
    server = _start(root)
    for message in messages:
        _ask(server, message)
    _end(server)


def _start(root: str) -> subprocess.Popen[bytes]:
    words = (str(Path(sys.executable).with_name("memsync")), "mcp")
    return subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ask(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    assert "result" in json.loads(server.stdout.readline())


def _end(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.communicate()
