"""One POST to a server that embeds, and what each way of failing means for the next try.

Knows HTTP and keys; neither vectors nor retries.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit

from memsync import net
from memsync.index.embedder import EmbedderFailed

OWN_KEY: Final = "MEMSYNC_EMBEDDER_KEY"
REMEDY: Final = "or set memory.embedder to builtin"

_MOST_BYTES: Final = 64 << 20
_CHUNK: Final = 1 << 16
_REFUSED: Final = frozenset({400, 413, 422})


class Busy(net.Busy, EmbedderFailed):
    """The server may answer when asked again."""


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
        self._is_local = net.is_local(urlsplit(url).hostname or "")

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
        sent = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memsync"}
        return {**sent, "Authorization": f"Bearer {key}"} if (key := self._key()) else sent

    def _key(self) -> str:
        try:
            return net.choose_key(self.url, self._env, own=OWN_KEY, vendor="OPENAI").key
        except ValueError as error:
            raise EmbedderFailed(str(error)) from None

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
        code, said = error.code, self._read_reason(error)
        if code in net.BUSY:
            return Busy(
                f"{self.url} is busy or broken ({code}{said}); try again later, {REMEDY}", net.parse_wait(error.headers)
            )
        if code in _REFUSED:
            return Refused(f"{self.url} does not take what it was sent ({code}{said}); check the model, {REMEDY}")
        if code in net.NO_KEY:
            return EmbedderFailed(f"{self.url} refuses the key ({code}{said}); set {OWN_KEY}, {REMEDY}")
        if code == 404:
            return EmbedderFailed(f"{self.url} has no such model, or no /embeddings ({code}{said}); check both")
        return EmbedderFailed(f"{self.url} answers {code}{said}; check the URL, {REMEDY}")

    def _read_reason(self, error: urllib.error.HTTPError) -> str:
        """Return what the server says about it, in one line and without the key."""
        try:
            told = json.loads(error.read(_CHUNK))
        except (ValueError, OSError, http.client.HTTPException):
            return ""
        while isinstance(told, dict):
            told = next((told[name] for name in ("error", "message", "detail") if told.get(name)), "")
        shown = net.redact(str(told), self._key())
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
