"""Telling open pages that the files have changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from memsync.store.places import Layout
from memsync.store.watch import Watcher

_PATIENCE: Final = 20.0  # seconds without a word, after which one shows whether somebody still listens


class Changes:
    """Counts the changes of what the pages show, for whoever waits for the next one in the event loop."""

    def __init__(self) -> None:
        self.count = 1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next = asyncio.Event()
        self._is_over = False

    def add(self) -> None:
        """Count one change; from any thread."""
        self.count += 1
        self._wake()

    def end(self) -> None:
        """Let everybody who listens go; from any thread."""
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def listen(self) -> AsyncIterator[str]:
        """Yield events for a browser: the count now, and each time it grows."""
        self._loop = asyncio.get_running_loop()
        told = 0
        while not self._is_over:
            bell = self._next
            if self.count != told:
                told = self.count
                yield f"event: change\ndata: {told}\n\n"
            try:
                await asyncio.wait_for(bell.wait(), _PATIENCE)
            except TimeoutError:
                yield ": still here\n\n"


def make_watcher(layout: Layout, add: Callable[[], object]) -> Watcher:
    """Return what calls *add* when anything that the pages show may have changed."""
    places = filter(None, (layout.project, layout.stealth, layout.global_))
    trees = {
        path: place.tree
        for place in places
        for path in (place.memories, place.pending, place.config, place.skills, place.local / "candidates")
    }
    return Watcher(dict.fromkeys(trees, add), trees=trees)
