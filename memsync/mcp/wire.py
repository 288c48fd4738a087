"""Standard input and output as the protocol's wire: nothing else can write to it, and nobody has to wait for it.

The SDK's own reader cannot be interrupted while it waits for a line, and drops
the calls that are under way when the input ends.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, Final

from memsync.errors import UsageError
from memsync.mcp.early import SUBSCRIPTION, Heard
from memsync.system.limits import LARGEST_MESSAGE, TooMuch, check_depth, check_size

log = logging.getLogger(__name__)

# Seconds that an answer may still take after the client has said its last word.
PATIENCE: Final = 20.0
_NOT_PARSED: Final = -32700  # JSON-RPC: parse error


class Wire:
    """Both ends, as `stdio_server` takes them: an iterable of lines, and something to write lines to.

    What the client said before (*heard*) comes first, and is not answered twice.

    Raises:
        UsageError: standard input or output is closed.
    """

    def __init__(self, heard: Heard) -> None:
        if sys.stdin is None or sys.stdout is None:
            raise UsageError("standard input or output is closed; an MCP client starts `memsync mcp` with pipes")
        sys.stdout.flush()
        self._input = io.BufferedReader(_Ahead(heard, _claim(0, "rb", lambda: os.open(os.devnull, os.O_RDONLY))))
        self._answered_before = {id_ for line in heard.lines if (id_ := json.loads(line).get("id")) is not None}
        self._output = _claim(1, "wb", lambda: os.dup(2))
        self._open: set[Any] = set()  # ids of requests without an answer
        self._answered = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield what the client says; the end comes when everything is answered."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes] = asyncio.Queue()

        def read() -> None:
            with suppress(RuntimeError):  # the loop has ended before
                for line in _bounded_lines(self._input):
                    loop.call_soon_threadsafe(lines.put_nowait, line)
                loop.call_soon_threadsafe(lines.put_nowait, b"")

        # A daemon: a process that is told to end does not wait for a line.
        threading.Thread(target=read, name="memsync-stdin", daemon=True).start()
        while line := await lines.get():
            text = line.decode("utf-8", "replace")
            try:
                check_size(line, LARGEST_MESSAGE)
                check_depth(text)
            except TooMuch as error:
                await self._refuse(str(error))
                continue
            self._note(text, self._open.add, of_requests=True)
            yield text
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()

    async def write(self, text: str) -> None:
        """Write one line."""
        if not self._is_answered(text):
            await asyncio.to_thread(self._write, text.encode("utf-8", "replace"))
        self._note(text, self._open.discard, of_requests=False)
        self._answered.set()

    def _is_answered(self, text: str) -> bool:
        if not self._answered_before:
            return False
        message = json.loads(text)
        id_ = message.get("id", (message.get("params") or {}).get("_meta", {}).get(SUBSCRIPTION))
        is_so = id_ in self._answered_before
        self._answered_before.discard(id_)
        return is_so

    async def _refuse(self, why: str) -> None:
        """Answer a message that is not even read, whose id nobody knows."""
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": _NOT_PARSED, "message": f"not read: {why}"}}
        await asyncio.to_thread(self._write, json.dumps(answer).encode() + b"\n")

    async def flush(self) -> None:
        """Do nothing: each line is on its way when `write` returns."""

    def _write(self, data: bytes) -> None:
        try:
            self._output.write(data)
            self._output.flush()
        except OSError as error:  # the client is gone; the end of the input tells the rest
            log.info("the answer was not taken: %s", error)

    def _note(self, text: str, note: Callable[[Any], None], *, of_requests: bool) -> None:
        """Tell *note* the id of a request that expects an answer, or of an answer."""
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            message = json.loads(text)
            method = message.get("method", "")
            if method == "notifications/cancelled":  # never answered
                self._open.discard(message["params"]["requestId"])
            elif (
                "id" in message
                and bool(method) == of_requests
                and not method.startswith("subscriptions/")  # those last as long as the client
            ):
                note(message["id"])


class _Ahead(io.RawIOBase):
    """What was heard before, and then what comes."""

    def __init__(self, heard: Heard, stream: BinaryIO) -> None:
        self._before = b"".join(line + b"\n" for line in heard.lines) + heard.rest
        self._stream = stream

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill *buffer* with what there is."""
        data, self._before = self._before[: len(buffer)], self._before[len(buffer) :]
        data = data or os.read(self._stream.fileno(), len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of *stream*; of one that is too long only as much as shows that it is."""
    while line := stream.readline(LARGEST_MESSAGE + 1):
        yield line
        while line and not line.endswith(b"\n"):
            line = stream.readline(LARGEST_MESSAGE + 1)


def _claim(fd: int, mode: str, instead: Callable[[], int]) -> BinaryIO:
    """Take *fd* away from everybody else, git and a stray print included; they get what *instead* opens."""
    ours = os.dup(fd)
    other = instead()
    os.dup2(other, fd)
    os.close(other)
    return open(ours, mode, closefd=False)  # type: ignore[return-value]
