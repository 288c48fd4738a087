"""The project of a process that stays: one call at a time, always under the settings of now, put in order when it rests."""

from __future__ import annotations

import gc
import logging
import math
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from memsync.errors import MemsyncError
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.reach import locate_above
from memsync.records import Clock, utc_now
from memsync.store.files import stamp
from memsync.store.places import CONFIG, locate
from memsync.store.trust import Approvals
from memsync.store.watch import Debouncer
from memsync.system import programs
from memsync.transfer.mirrors import list_folders, sync_mirrors, watch_mirrors

if TYPE_CHECKING:
    from memsync.memories.results import Entry

log = logging.getLogger(__name__)

T = TypeVar("T")

# At the latest so many times `memory_sync.export_debounce` after the first write.
LONGEST: Final = 12
_SLICE: Final = 0.25  # seconds of screening at a rest, for which a call may have to wait


class Live:
    """Holds the project that *start* is in, for threads that `call` it.

    Nothing is read before the first call, so a broken file is an error of the
    calls and not of the process, and the calls work again once it is mended.
    """

    def __init__(
        self,
        start: Path,
        *,
        clock: Clock = utc_now,
        env: Mapping[str, str] = os.environ,
        quiet: float | None = None,
        face: str = "by a server",
        is_lean: bool = False,
    ) -> None:
        self.start = start
        self._is_lean = is_lean
        self._face = face  # where its changes are made, as `memsync undo` says it
        self._clock = clock
        self._env = env
        self._turn = threading.RLock()
        self._project: Project | None = None
        self._opened: Hashable = None  # what `_appearance` was then
        self._resources = ExitStack()
        self._stops: list[Callable[[], object]] = []
        self._quiet = quiet
        self._rest: Debouncer[str] = _debouncer(quiet or 0)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._unscreened: Iterator[Entry] | None = None

    def call(self, work: Callable[[Project], T]) -> T:
        """Return what *work* makes of the project. Calls wait for one another.

        Raises:
            ConfigError: a settings file cannot be read.
        """
        with self._turn:
            project = self._current()
            try:
                return work(project)
            finally:
                self._note(project)
                self._rest.add("project")
                self._wake.set()

    def apart(self, work: Callable[[Project], T]) -> T:
        """Do what `call` does with a project opened for this, so that long work holds up nobody."""
        with Project.open(self.start, clock=self._clock, env=self._env) as project:
            try:
                return work(project)
            finally:
                self._note(project)

    def _note(self, project: Project) -> None:
        """Let `memsync undo` take back what was written."""
        if project.has_changed:
            from memsync.memories.undoing import note_steps

            note_steps(project, f"(a change {self._face})")

    def when_shut(self, stop: Callable[[], object]) -> None:
        """Call *stop* each time the project is closed, be it for one that is opened anew: who goes on with it holds all of it."""
        self._stops.append(stop)

    def close(self) -> None:
        """Put in order what was written, and end all threads. A later call opens it again."""
        with self._turn:
            thread, self._thread = self._thread, None
            self._shut()
        if thread is not None:
            self._wake.set()
            thread.join()

    def _current(self) -> Project:
        appearance = self._appearance()
        if self._project is None or appearance != self._opened:
            had_one = self._project is not None
            self._shut()
            if had_one:
                gc.collect()  # it goes round in itself, and the next one holds as much
            project = Project.open(self.start, clock=self._clock, env=self._env)
            project.stores.be_brief()  # until it rests
            project.is_lean = self._is_lean
            self._resources.callback(project.close)
            self._resources.enter_context(project.watcher())
            self._resources.enter_context(watch_mirrors(project.layout, lambda: self.apart(sync_mirrors)))
            self._project, self._opened = project, appearance
            self._rest = _debouncer(project.settings.export_debounce if self._quiet is None else self._quiet)
            if self._thread is None:
                self._thread = threading.Thread(target=self._tidy, name="memsync-tidy", daemon=True)
                self._thread.start()
        return self._project

    def _appearance(self) -> Hashable:
        """Return what would be read differently by a process that starts now: where the stores are, settings and mirrors."""
        layout = locate(self.start, self._env)
        places = [place.directory for place in (layout.global_, layout.project, layout.private) if place]
        seen = tuple((path.is_dir(), os.path.realpath(path), stamp(path / CONFIG)) for path in places)
        return layout, locate_above(layout, self._env), Approvals(layout).stamp, seen, list_folders(layout)

    def _shut(self) -> None:
        self._project, self._unscreened = None, None
        for stop in self._stops:
            stop()
        self._resources.close()

    def _tidy(self) -> None:
        """Do what a command does at its end, each time the calls have paused."""
        while self._thread is threading.current_thread():
            wait = self._rest.wait()
            self._wake.wait(None if wait == math.inf else wait)
            self._wake.clear()
            if self._rest.due():
                with self._turn:
                    self._settle()

    def _settle(self) -> None:
        try:
            if self._project is not None:
                project, is_behind = self._project, self._project.is_behind
                project.close()
                # Some of what nobody has screened here, so that no answer has to wait for that; the rest at the next rest.
                if self._unscreened is None and is_behind:
                    self._unscreened = project.entries(Filters(archived=True))
                if self._unscreened and not project.screening.screen_all(self._unscreened, seconds=_SLICE):
                    self._rest.add("project")
                project.stores.close()  # which the screening has opened again
                programs.trim()
        except (MemsyncError, OSError) as error:
            log.warning("%s", error)


def _debouncer(quiet: float) -> Debouncer[str]:
    return Debouncer(quiet=quiet, longest=LONGEST * quiet)
