"""A server on this machine that embeds, with OpenAI's protocol over real sockets, and fails as told."""

from __future__ import annotations

import json
import socket
import struct
import threading
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.body["input"]


@dataclass
class Reply:
    """What the server does instead of answering: one of these, once."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    change: Callable[[dict[str, Any]], object] | None = None  # changes the proper answer in place
    hangs: bool = False
    resets: bool = False
    cut: int = 0  # bytes left out at the end

    @classmethod
    def error(cls, status: int, message: str = "", **headers: str) -> Self:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, json.dumps({"error": {"message": message}}).encode(), named)


class Loopback:
    """Embeds words by their hash, so that texts with words in common are alike; *means* maps words to others.

    `replies` are used up one a request; then it answers properly. `asked` has every request.
    """

    def __init__(self, dim: int = 64, *, means: Mapping[str, str] | None = None, key: str = "") -> None:
        self.dim, self.key = dim, key
        self.means = dict(means or {})
        self.most_letters: int | None = None  # of one text; a longer one is refused, as by vLLM
        self.replies: deque[Reply] = deque()
        self.asked: list[Asked] = []
        self._port = 0
        self._released = threading.Event()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def spec(self) -> str:
        return f"openai:tiny@{self.url}"

    def start(self) -> None:
        """Listen, after a stop on the same port."""
        self._released.clear()
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.loopback = self
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections from now on; whoever hangs is let go."""
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def vector(self, text: str) -> list[float]:
        """Return what *text* is answered with; its length is not 1."""
        made = [0.0] * self.dim
        for word in text.lower().split():
            code = zlib.crc32(self.means.get(word, word).encode())
            made[code % self.dim] += 1.0
            made[code // self.dim % self.dim] += 0.5
        return made

    def reply_to(self, asked: Asked) -> Reply:
        """Return the proper answer, or the failure that is due."""
        self.asked.append(asked)
        planned = self.replies.popleft() if self.replies else Reply()
        if planned.body is not None or planned.hangs or planned.resets:
            return planned
        if self.key and asked.headers.get("Authorization") != f"Bearer {self.key}":
            return Reply.error(401, f"Incorrect API key provided: {asked.headers.get('Authorization')}")
        if not all(text for text in asked.texts) or len(asked.texts) > 2048:
            return Reply.error(400, "'$.input' is invalid")
        if self.most_letters and any(len(text) > self.most_letters for text in asked.texts):
            return Reply.error(400, "This model's maximum context length is exceeded")
        data = [{"object": "embedding", "index": n, "embedding": self.vector(t)} for n, t in enumerate(asked.texts)]
        answer = {"object": "list", "data": data, "model": asked.body["model"], "usage": {"prompt_tokens": 1}}
        if planned.change:
            planned.change(answer)
        return Reply(planned.status, json.dumps(answer).encode(), planned.headers, cut=planned.cut)

    def wait(self) -> None:
        """Hang until the server stops."""
        self._released.wait(60)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    loopback: Loopback

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that has given up is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.loopback.reply_to(Asked(self.path, dict(self.headers), json.loads(raw)))
        if reply.hangs:
            self.server.loopback.wait()
        if reply.resets:
            # Linger 0: closing sends a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if reply.hangs or reply.resets:
            self.close_connection = True
            self.connection.close()
            return
        body = reply.body or b""
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) - reply.cut])
        self.close_connection = self.close_connection or bool(reply.cut)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the output of the tests clean."""
