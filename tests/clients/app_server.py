"""Codex as a server of other programs: JSON-RPC over its standard input and output."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from programs import Codex


_PATIENCE = 3600  # seconds, where much else is at work


class AppServer:
    """A running `codex app-server`; `notified` has what it said unasked."""

    def __init__(self, codex: Codex) -> None:
        self._process = subprocess.Popen(
            ["codex", "app-server"],
            cwd=codex.root,
            env=codex.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.notified: list[dict[str, Any]] = []
        self._id = 0
        self.call("initialize", {"clientInfo": {"name": "tests", "title": "tests", "version": "1"}})
        self._send({"method": "initialized"})

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        message = self._lines.get(timeout=_PATIENCE)
        assert message is not None, "the server has ended"
        return message

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Call *method* and return its result."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        while (message := self._next()).get("id") != self._id or "method" in message:
            self.notified.append(message)
        assert "error" not in message, message
        return message["result"]

    def wait_for(self, method: str) -> dict[str, Any]:
        """Return the next notification *method*; those before it are kept."""
        while (message := self._next()).get("method") != method:
            self.notified.append(message)
        return message["params"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout:
            self._process.stdout.close()
