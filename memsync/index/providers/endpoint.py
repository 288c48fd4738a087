"""One POST to a server that embeds, and what each way of failing means for the next try.

Knows HTTP and keys; neither vectors nor retries.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit

from memsync.index.embedder import EmbedderFailed

OWN_KEY: Final = "MEMSYNC_EMBEDDER_KEY"
OPENAI_KEY: Final = "OPENAI_API_KEY"
REMEDY: Final = "or set memory.embedder to builtin"

_MOST_BYTES: Final = 64 << 20
_CHUNK: Final = 1 << 16
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_REFUSED: Final = frozenset({400, 413, 422})
_NO_KEY: Final = frozenset({401, 403})


class Busy(EmbedderFailed):
    """The server may answer when asked again, after *wait* seconds if it says so."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class Slow(EmbedderFailed):
    """The server did not answer in time."""


class Refused(EmbedderFailed):
    """The server does not take this request; it may take a smaller one."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key and the memories to a server that nobody chose."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none; the redirect comes back as an HTTPError."""


class Endpoint:
    """The `/embeddings` of an OpenAI-compatible server at the base address *url*."""

    def __init__(self, url: str, env: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._env = env
        self._clock = clock
        self._host = urlsplit(url).hostname or ""
        self._is_local = is_local(self._host)

    def post(self, asked: Mapping[str, Any], seconds: float) -> bytes:
        """Send *asked* as JSON and return the body of the answer.

        Raises:
            Busy, Slow, Refused, EmbedderFailed: without the key in the message.
        """
        request = urllib.request.Request(  # noqa: S310 - clean_url lets only http and https through
            f"{self.url}/embeddings", json.dumps(asked).encode(), self._headers(), method="POST"
        )
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                return self._body(answer, self._clock() + seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._fault(error) from None

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        # A proxy cannot reach the servers of this machine.
        proxies = urllib.request.ProxyHandler({} if self._is_local else None)
        return urllib.request.build_opener(proxies, _NoRedirect)

    def _headers(self) -> dict[str, str]:
        key = self._key()
        if not (key.isascii() and key.isprintable()):
            raise EmbedderFailed(f"the key in {OWN_KEY} or {OPENAI_KEY} has a character no key has; set it again")
        sent = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memsync"}
        return {**sent, "Authorization": f"Bearer {key}"} if key else sent

    def _key(self) -> str:
        """Return the key to send: the one for OpenAI goes to OpenAI, where its user points it, and nowhere else.

        That no repository chooses the server is for `trust`; this is for a URL that its user mistyped.
        """
        if own := self._env.get(OWN_KEY, "").strip():
            return own
        bases = ("https://api.openai.com", self._env.get("OPENAI_BASE_URL", "").strip())
        is_theirs = any(base and f"{self.url}/".startswith(f"{base.rstrip('/')}/") for base in bases)
        return self._env.get(OPENAI_KEY, "").strip() if is_theirs or self._is_local else ""

    def _body(self, answer: http.client.HTTPResponse, until: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := answer.read1(_CHUNK):
            parts.append(part)
            size += len(part)
            if self._clock() > until:
                raise TimeoutError
            if size > _MOST_BYTES:
                raise EmbedderFailed(f"{self.url} answers with more than {_MOST_BYTES >> 20} MiB; check the URL")
        if answer.length:
            raise ConnectionResetError("the answer is cut off")
        return b"".join(parts)

    def _refusal(self, error: urllib.error.HTTPError) -> EmbedderFailed:
        code, said = error.code, self._said(error)
        if code in _BUSY:
            return Busy(f"{self.url} is busy or broken ({code}{said}); try again later, {REMEDY}", _wait(error))
        if code in _REFUSED:
            return Refused(f"{self.url} does not take what it was sent ({code}{said}); check the model, {REMEDY}")
        if code in _NO_KEY:
            return EmbedderFailed(f"{self.url} refuses the key ({code}{said}); set {OWN_KEY}, {REMEDY}")
        if code == 404:
            return EmbedderFailed(f"{self.url} has no such model, or no /embeddings ({code}{said}); check both")
        return EmbedderFailed(f"{self.url} answers {code}{said}; check the URL, {REMEDY}")

    def _said(self, error: urllib.error.HTTPError) -> str:
        """Return what the server says about it, in one line and without the key."""
        try:
            told = json.loads(error.read(_CHUNK))
        except (ValueError, OSError, http.client.HTTPException):
            return ""
        while isinstance(told, dict):
            told = next((told[name] for name in ("error", "message", "detail") if told.get(name)), "")
        text = " ".join(str(told).split())
        if key := self._key():
            text = text.replace(key, "***")
        shown = "".join(letter for letter in text if letter.isprintable())[:200]
        return f": {shown}" if shown else ""

    def _fault(self, error: Exception) -> EmbedderFailed:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return Slow(f"{self.url} did not answer in time; see whether it is overloaded, {REMEDY}")
        if isinstance(reason, (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead)):
            return Busy(f"{self.url} broke off the connection; see whether the server still runs, {REMEDY}")
        if isinstance(reason, http.client.HTTPException):
            return EmbedderFailed(f"{self.url} does not speak HTTP; check the URL, {REMEDY}")
        why = getattr(reason, "strerror", None) or reason
        return EmbedderFailed(f"{self.url} cannot be reached ({why}); start the server, check the URL, {REMEDY}")


def _wait(error: urllib.error.HTTPError) -> float | None:
    """Return the seconds of Retry-After; its other form, a date, is not used by these servers."""
    try:
        return max(float(error.headers.get("Retry-After", "")), 0.0)
    except ValueError:
        return None


def clean_url(text: str) -> str:
    """Return the base address in *text* in the one spelling that the name of the vectors is made from.

    Raises:
        ValueError: it is none; the message does not repeat what may be a password.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not text.isascii() or not text.isprintable() or " " in text.strip():
        raise ValueError("the URL of the embedder cannot be read; write it as http://HOST:PORT/v1")
    if parts.scheme not in ("http", "https"):
        raise ValueError("the URL of the embedder starts with neither http:// nor https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"the URL of the embedder has more than a path; put the key into {OWN_KEY}")
    name = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix("/embeddings")
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{path}"


def is_local(host: str) -> bool:
    """Say whether *host* is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
