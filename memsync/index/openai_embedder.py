"""Embeddings from any server with OpenAI's API: OpenAI, Ollama, LM Studio, vLLM.

Uses the standard library, not the `openai` package: this is one POST, whose time
limits, retries and redirects must be ours, and nobody should have to install
an SDK (0.5 s to import) for a model on their own machine.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from memsync import net
from memsync.index.embed import EmbedderFailed, filled, unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWN_KEY: Final = "MEMSYNC_EMBEDDER_KEY"
REMEDY: Final = "or set memory.embedder to builtin"

_MOST_BYTES: Final = 64 << 20
_CHUNK: Final = 1 << 16
_REFUSED: Final = frozenset({400, 413, 422})
_PAUSES: Final = (0.5, 1.0)
_LONGEST_PAUSE: Final = 5.0
_REST: Final = 30.0


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


MOST_TEXTS: Final = 64
MOST_LETTERS: Final = 100_000
LONGEST: Final = 8_000  # letters of one text: about 2,000 tokens, what local models take
SHORTEST: Final = 500  # every model takes this much


class Patience(NamedTuple):
    """How many seconds one answer may take, and one request with everything that is tried again."""

    each: float
    total: float


class Limits(NamedTuple):
    """The patience with documents, which nobody waits for, and with a query."""

    documents: Patience = Patience(10.0, 40.0)
    query: Patience = Patience(3.0, 3.0)


LIMITS: Final = Limits()


class OpenAIEmbedder:
    """The vectors of *model* as the server at *url* makes them.

    A server that let us wait in vain is left alone for 30 s, so that its fault costs one wait and
    not one per memory. `id` needs no server, so that vectors already stored stay known while it is
    away. It cannot tell that a server changed what a model's name stands for; a changed dimension
    shows in the rows. Threads may share it.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        limits: Limits = LIMITS,
        env: Mapping[str, str] = os.environ,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.url = model, url
        self._limits = limits
        self._endpoint = Endpoint(url, env, clock)
        self._sleep, self._clock = sleep, clock
        self._rests_until = float("-inf")
        self._why = ""

    @property
    def id(self) -> str:
        """The model and where it is asked for."""
        return f"openai:{self.model}@{self.url}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a blank text is all zeros.

        Raises:
            EmbedderFailed: the server cannot be reached, refuses, or answers nonsense.
        """
        return filled(texts, lambda sent: self._rows(sent, self._limits.documents))

    def query(self, text: str) -> list[float]:
        """Return the vector of one query, or fail within the time of a query.

        Raises:
            EmbedderFailed: as above.
        """
        rows = filled([text], lambda sent: self._rows(sent, self._limits.query))
        return [float(x) for x in rows[0]]

    def _rows(self, texts: Sequence[str], patience: Patience) -> NDArray[np.float32]:
        made = [rows for batch in batches(texts) for rows in self._ask_in_parts(batch, patience)]
        if len({rows.shape[1] for rows in made}) > 1:
            raise EmbedderFailed(f"{self.url} changes the length of its vectors; ask again when its model is settled")
        return np.concatenate(made)

    def _ask_in_parts(self, texts: Sequence[str], patience: Patience) -> Iterator[NDArray[np.float32]]:
        """Yield the rows of *texts*; what the server calls too much is halved until it fits."""
        try:
            rows = self._ask(texts, patience)
        except Refused:
            if len(texts) == 1 and len(texts[0]) <= SHORTEST:
                raise
            half = len(texts) // 2
            for part in (texts[:half], texts[half:]) if half else ([texts[0][: len(texts[0]) // 2]],):
                yield from self._ask_in_parts(part, patience)
            return
        yield rows

    def _ask(self, texts: Sequence[str], patience: Patience) -> NDArray[np.float32]:
        if self._clock() < self._rests_until:
            raise EmbedderFailed(self._why)
        try:
            raw = net.ask_again(
                partial(self._endpoint.post, {"model": self.model, "input": list(texts)}),
                _PAUSES,
                until=self._clock() + patience.total,
                each=patience.each,
                longest=_LONGEST_PAUSE,
                sleep=self._sleep,
                clock=self._clock,
            )
        except (Busy, Slow) as error:
            self._rests_until, self._why = self._clock() + _REST, str(error)
            raise
        try:
            return unit(_in_order(raw, len(texts)), len(texts))
        except EmbedderFailed as error:
            raise EmbedderFailed(f"{self.url}: {error}; see whether {self.model} is for embeddings, {REMEDY}") from None


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield *texts* in order, cut to LONGEST, in parts of MOST_TEXTS texts and MOST_LETTERS letters at most."""
    batch: list[str] = []
    letters = 0
    for text in texts:
        cut = text[:LONGEST]
        if batch and (len(batch) == MOST_TEXTS or letters + len(cut) > MOST_LETTERS):
            yield batch
            batch, letters = [], 0
        batch.append(cut)
        letters += len(cut)
    if batch:
        yield batch


def _in_order(raw: bytes, count: int) -> list[Any]:
    """Return the vectors in the order of the texts, which is told by `index` and not by their place."""
    try:
        data = json.loads(raw)["data"]
        found = {item.get("index", place): item["embedding"] for place, item in enumerate(data)}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise EmbedderFailed("the answer is not what OpenAI's API would say") from None
    if len(data) != count or found.keys() != set(range(count)):
        raise EmbedderFailed(f"the answer has {len(data)} vectors for {count} texts, or other numbers than asked for")
    return [found[place] for place in range(count)]
