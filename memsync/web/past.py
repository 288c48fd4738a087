"""The history of one memory: a thread reads what git has of it, so that no page waits for a large file with many versions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from memsync.errors import MemsyncError, NoHistory
from memsync.memories import events
from memsync.memories.events import Event, reader
from memsync.memories.project import Project
from memsync.web.desk import Given, Page, Routes

routes = Routes()
_WAIT: Final = 0.5  # seconds that a page waits at first, and others with it; what is read by then is shown at once
_LEFT: Final = 10.0  # seconds after which a page that asks no more was left
_KEPT: Final = 16  # memories


class _Reading:
    """What was read of one memory so far: its lines in each version of the file, which git never changes."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.began = self.asked = 0.0
        self.thread: threading.Thread | None = None
        self.is_done = False

    @property
    def is_going(self) -> bool:
        """Whether a thread reads it, or waits for its turn to."""
        return self.thread is not None and self.thread.is_alive()


class Readings:
    """Reads what became of one memory after the other. The caller lets in one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, str, bool], _Reading] = {}
        self.turn = threading.Lock()  # of the one that is being read

    def look(self, project: Project, ref: str) -> _Reading | None:
        """Return what was read of *ref*, done or not; None where its lines cannot be told from others."""
        read = reader(project, ref)
        if read is None:
            return None
        is_gone = project.store("project").get(ref) is None  # what is gone is looked for otherwise
        key = (project.layout.root, ref, is_gone)
        one = self._kept[key] = self._kept.pop(key, _Reading())
        one.asked = time.monotonic()
        for old in [key for key, some in self._kept.items() if not some.is_going][:-_KEPT]:
            del self._kept[old]
        if not one.is_done and not one.is_going:
            self._start(one, read)
        return one

    def _start(self, one: _Reading, read: Callable[[dict[str, bytes]], None]) -> None:
        def work() -> None:
            with self.turn:
                if time.monotonic() - one.asked > _LEFT:
                    return  # whoever leafs through many memories waits for none of those before
                try:
                    with suppress(MemsyncError, OSError):  # whoever is shown the history is told
                        read(one.held)
                finally:
                    one.is_done = True

        one.began = time.monotonic()
        one.thread = threading.Thread(target=work, name="memsync-history", daemon=True)
        one.thread.start()
        one.thread.join(_WAIT)


@routes.reads("/memory/history", Readings)
def show_history(readings: Readings, project: Project, given: Given) -> Page:
    """Return what became of one memory in git, with who set each field; or how far that was read."""
    ref, store = given.raw("id"), project.stores.get("project")
    if store and (memory := store.get_sent(ref)):
        ref = memory.id
    view: dict[str, Any] = {"ref": ref, "events": [], "blame": [], "notes": [], "reading": None}
    try:
        one = readings.look(project, ref)
        if one and not one.is_done:
            view["reading"] = {"versions": len(one.held), "seconds": time.monotonic() - one.began}
            return Page("history.html", view)
        if one:
            one.is_done = False  # the next page asks for what is new by then
        view["events"] = events.events(project, ref, one.held if one else None)
        view["notes"] = events.notes(project)
        setters: dict[Any, tuple[Event, list[str]]] = {}
        for name, event in events.blame(project, ref, view["events"]):
            setters.setdefault(event.commit and event.commit.id, (event, []))[1].append(name)
        view["blame"] = list(setters.values())
    except NoHistory as error:
        return Page("history.html", view, str(error))
    except MemsyncError as error:
        if not view["events"]:
            raise
        return Page("history.html", view, str(error))  # it is gone by now, and so nobody has set its fields
    return Page("history.html", view)
