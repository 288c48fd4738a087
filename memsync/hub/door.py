"""The door of the hub's server: who comes in with which token, how often, and what is counted and written down of it.

Nothing of a query or of an answer is logged.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from memsync.errors import HubError
from memsync.hub import access
from memsync.hub.ci import Issuers, Job
from memsync.hub.database import Database
from memsync.hub.signin import DESCRIBED, RESOURCE, SignIn

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)  # which `server.run` shows on stderr

OPEN: Final = frozenset(
    {"/livez", "/readyz", "/openapi.json", "/webhook"}
)  # what needs no token; the webhook is signed
PAGES: Final = frozenset({"", "/mine"})  # for people, whose browser has the token in a cookie
OPEN_PAGES: Final = frozenset({"/login", "/callback", "/static/desk.css", "/static/icon.svg"})
COOKIE: Final = "memsync_hub"
SCOPE_OF: Final = {"/v1/push": "push", "/metrics": "metrics"}
_CI: Final = frozenset({"push"})
_BURST: Final = 30
_TRACKED: Final = 100_000  # tokens and addresses that are counted at once
_KNOWN: Final = (
    OPEN | OPEN_PAGES | PAGES | DESCRIBED | {"/v1/search", "/v1/repositories", "/v1/push", "/metrics", "/mcp"}
)


_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds of a request


class Meter:
    """Counts what was asked, and tells it and the state of this process as Prometheus reads it."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(namespace="memsync_hub", registry=self._registry)
        self._requests = Counter(
            "memsync_hub_requests", "Requests that were answered", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "memsync_hub_request_seconds", "How long they took", ["path"], buckets=_BUCKETS, registry=self._registry
        )
        self._gauges: dict[str, Gauge] = {}

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all counts, and *gauges* by their names."""
        for name, value in gauges.items():
            if name not in self._gauges:
                self._gauges[name] = Gauge(f"memsync_hub_{name}", name.replace("_", " "), registry=self._registry)
            self._gauges[name].set(value)
        return generate_latest(self._registry).decode()


def _number_of(job: Job) -> int:
    """Return what stands for the CI of a repository among the tokens: below 0, and no other's by choice of a name."""
    return -int.from_bytes(sha256(job.repository.encode()).digest()[:8], "big")


def find_cookie(request: Request, *, is_secure: bool) -> str:
    """Return the hub's own token that a browser has in its cookie, "" where there is none.

    Where it *is_secure* that is one which no other host of the domain may set.
    """
    token = request.cookies.get(f"__Host-{COOKIE}", "") or ("" if is_secure else request.cookies.get(COOKIE, ""))
    return token if token.startswith(access.PREFIX) else ""


class Allowance:
    """How often each token, or each address, may ask: so many times a minute, some at once."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = a_minute / 60
        self._most = float(min(_BURST, a_minute))
        self._clock = clock
        self._mutex = threading.Lock()
        self._left: dict[int, tuple[float, float]] = {}

    def take(self, token: int) -> float:
        """Take one from what *token* has left; return the seconds to wait where there is none, else 0."""
        with self._mutex:
            now = self._clock()
            left, since = self._left.get(token, (self._most, now))
            left = min(self._most, left + (now - since) * self._rate)
            if left < 1:
                return (1 - left) / self._rate
            if len(self._left) >= _TRACKED:
                self._left.clear()  # who has so many addresses is not held up by this
            self._left[token] = (left - 1, now)
            return 0.0

    def give_back(self, token: int) -> None:
        """Take back that *token* took one."""
        with self._mutex:
            left, since = self._left.get(token, (self._most, 0.0))
            self._left[token] = (left + 1, since)


class Door:
    """Lets in who has a token that counts, for what it is for; as ASGI, so that MCP goes through it as well."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        database: Database,
        meter: Meter,
        allowance: Allowance,
        issuers: Issuers | None = None,
        sign_in: SignIn | None = None,
        has_pages: bool = False,
    ) -> None:
        self._app = app
        self._database = database
        self._meter = meter
        self._allowance = allowance
        self._issuers = issuers
        self._sign_in = sign_in
        self._is_secure = sign_in is not None and sign_in.address.startswith("https://")
        self._has_pages = has_pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), [500]

        async def note_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        bearer: access.Bearer | None = None
        try:
            refused, bearer = await self._judge(scope)
            if refused is not None:
                await refused(scope, receive, note_status)
                return
            scope["bearer"] = bearer
            await self._app(scope, receive, note_status)
        finally:
            self._note(scope, status[0], time.perf_counter() - begun, bearer)

    async def _judge(self, scope: Scope) -> tuple[Response | None, access.Bearer | None]:
        path = scope["path"].rstrip("/")
        if path in OPEN or (self._has_pages and path in OPEN_PAGES) or (self._sign_in and path in DESCRIBED):
            return None, None
        if is_page := self._has_pages and path in PAGES:
            kind, token = "bearer", find_cookie(Request(scope), is_secure=self._is_secure)
        else:
            kind, _, token = Request(scope).headers.get("authorization", "").partition(" ")
        try:
            found = await anyio.to_thread.run_sync(self._find, token.strip()) if kind.lower() == "bearer" else None
        except HubError as error:
            return JSONResponse({"error": str(error)}, 503, {"Retry-After": "5"}), None
        if found is None:
            where = f' resource_metadata="{self._sign_in.address}{RESOURCE}/mcp"' if self._sign_in else ""
            told = {"WWW-Authenticate": f"Bearer{where}"}
            refused = JSONResponse({"error": "a token that counts is needed"}, 401, told)
            return RedirectResponse("/login", 303) if is_page else refused, None
        if SCOPE_OF.get(path, "search") not in found.scopes:
            return JSONResponse({"error": "the token is not for this"}, 403), found
        if wait := self._allowance.take(found.token):
            return JSONResponse({"error": "too many requests"}, 429, {"Retry-After": str(int(wait) + 1)}), found
        return None, found

    def _find(self, token: str) -> access.Bearer | None:
        if self._issuers is not None and not token.startswith(access.PREFIX):
            job = self._issuers.find_job(token)
            if job or self._sign_in is None:
                return job and access.Bearer(_number_of(job), 0, f"ci:{job.repository}", _CI, job)
        if self._sign_in is not None and not token.startswith(access.PREFIX):
            return self._sign_in.find_bearer(self._database, token)
        with self._database.writing_each() as connection:
            return access.find_bearer(connection, token)

    def _note(self, scope: Scope, status: int, seconds: float, bearer: access.Bearer | None) -> None:
        path = scope["path"].rstrip("/")
        path = (path or "/") if path in _KNOWN else "other"
        self._meter.count(path, status, seconds)
        row: dict[str, Any] = {
            "path": path,
            "method": scope["method"],
            "status": status,
            "ms": round(seconds * 1000, 1),
        }
        if bearer:
            row |= {"principal": bearer.name, "token": bearer.token}
        log.info(json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **row}))
