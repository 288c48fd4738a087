"""The application of the hub on a port of this machine, and what asks it."""

from __future__ import annotations

import http.client
import json
import threading

import uvicorn
from helpers import until

from memsync.hub.server import build
from memsync.web.people import People


class Served:
    """The application on a port of this machine."""

    def __init__(self, hub, *, port=0, has_pages=False, **options) -> None:
        pages = People(hub, options.get("sign_in")).routes() if has_pages else ()
        app = build(hub, pages=pages, **options)
        self._server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    def ask(self, method, path, body=None, *, token="", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, sent, named | ({"Authorization": f"Bearer {token}"} if token else {}))
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, json.loads(data) if data[:1] in (b"{", b"[") else data.decode(), answer.headers
