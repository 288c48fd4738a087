"""Calling back when files change: watchdog for speed, a look at their stamps for certainty.

Events are hints. What counts is whether a path looks different from when its
callback last ran: an event too many costs a look, one too few 0.15 s. A `Debouncer` coalesces bursts of them.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Self, TypeVar, cast

from memsync.errors import MemsyncError
from memsync.store.files import ABSENT, Stamp, stamp

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

K = TypeVar("K", bound=Hashable)
_REST: Final = 19  # so looking at a large directory takes at most a twentieth of the time
_CHANGES: Final = frozenset({"created", "modified", "moved", "deleted"})


class Debouncer(Generic[K]):
    """Keys that changed, each due when nothing has happened to it for *quiet* seconds.

    At the latest it is due *longest* seconds after its first change, so that a
    steady stream of changes starves nobody. Threads may share it; it starts
    none: the owner waits for `wait()` seconds and then takes what is `due()`.
    """

    def __init__(self, *, quiet: float, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._longest = longest
        self._clock = clock
        self._mutex = threading.Lock()
        self._waiting: dict[K, tuple[float, float]] = {}  # key -> (due, due at the latest), by first change

    def add(self, key: K) -> bool:
        """Note a change of *key*, and return whether it is the first one: only then can `wait()` have become shorter."""
        with self._mutex:
            now = self._clock()
            is_first = key not in self._waiting
            latest = now + self._longest if is_first else self._waiting[key][1]
            self._waiting[key] = (min(now + self._quiet, latest), latest)
            return is_first

    def wait(self) -> float:
        """Return in how many seconds the next key is due: 0 if one is, infinity if nothing waits."""
        with self._mutex:
            times = [due for due, _ in self._waiting.values()]
            return max(0.0, min(times) - self._clock()) if times else math.inf

    def due(self) -> list[K]:
        """Take the keys that are due and return them, the one that changed first first."""
        with self._mutex:
            now = self._clock()
            return self._take([key for key, (due, _) in self._waiting.items() if due <= now])

    def flush(self) -> list[K]:
        """Take all keys, due or not, and return them in the same order."""
        with self._mutex:
            return self._take(list(self._waiting))

    def _take(self, keys: list[K]) -> list[K]:
        for key in keys:
            del self._waiting[key]
        return keys


log = logging.getLogger(__name__)

# Seconds. A callback follows a change within LOOK + QUIET without any event, and mostly within QUIET.
QUIET: Final = 0.05
LONGEST: Final = 0.2
LOOK: Final = 0.15


class Watcher:
    """Calls back when a path changes: a file, or anything in a directory, whether or not it exists yet.

    Each callback runs once after `start`, since nobody can know what its owner
    saw before, and then after changes: when it has been *quiet* for so many
    seconds, at the latest *longest* after the first. All of them run in one
    thread, never two at once. A MemsyncError is logged, and watching goes on.

    A directory is watched with all that is in it. So what has one of *trees* is passed over
    as long as a link leads out of that: a repository could have the whole disk watched.
    """

    def __init__(
        self,
        callbacks: Mapping[Path, Callable[[], object]],
        *,
        quiet: float = QUIET,
        longest: float = LONGEST,
        look: float = LOOK,
        observe: Callable[[], BaseObserver] | None = None,
        trees: Mapping[Path, Path | None] = MappingProxyType({}),
    ) -> None:
        self._callbacks = {os.path.abspath(path): callback for path, callback in callbacks.items()}
        self._trees = {os.path.abspath(path): tree for path, tree in trees.items()}
        self._real: Mapping[str, str] = {}  # path -> links followed
        self._last_seen: dict[str, Mapping[str, Stamp]] = {}  # path -> what it looked like when its callback last ran
        self._pending: Debouncer[str] = Debouncer(quiet=quiet, longest=longest)
        self._look_every = look
        self._events = _Events(self._take_hint, observe or _make_observer)
        self._logged: set[str] = set()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Watch from now on: what changes after this call is reported."""
        self._stopping.clear()
        self._events.open()
        self._look()
        self._thread = threading.Thread(target=self._run, name="memsync-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Call back for what has changed until now, and end all threads."""
        if self._thread is None:
            return
        self._stopping.set()
        self._wake.set()
        self._thread.join()
        self._thread = None

    def _take_hint(self, event: FileSystemEvent) -> None:
        for path in find_touched(event, self._real):
            if self._pending.add(path):
                self._wake.set()

    def _run(self) -> None:
        rest = self._look_every
        while not self._stopping.is_set():
            self._call_until(time.monotonic() + rest)
            begun = time.monotonic()
            self._look()
            rest = max(self._look_every, _REST * (time.monotonic() - begun))
        self._events.close()
        self._look()
        self._call_back(self._pending.flush())

    def _call_until(self, end: float) -> None:
        while not self._stopping.is_set() and (left := end - time.monotonic()) > 0:
            self._wake.wait(min(left, self._pending.wait()))
            self._wake.clear()
            self._call_back(self._pending.due())

    def _look(self) -> None:
        """Watch the right directories, then note what looks different; those watched whole are left to their events."""
        self._real = {path: real for path in self._callbacks if (real := self._follow(path))}
        posts = {path: _find_post(real) for path, real in self._real.items()}
        steady = self._events.watch({post for post in posts.values() if post})
        for path in self._callbacks:
            post = posts.get(path)
            is_last_seen = post is not None and post.is_whole and post in steady
            if not is_last_seen and self._last_seen.get(path) != self._look_at(path):
                self._pending.add(path)

    def _follow(self, path: str) -> str | None:
        """Return *path* with links followed; None where one leads out of its tree."""
        real, tree = os.path.realpath(path), self._trees.get(path)
        return real if tree is None or Path(real).is_relative_to(os.path.realpath(tree)) else None

    def _look_at(self, path: str) -> Mapping[str, Stamp]:
        return _read_appearance(self._real[path]) if path in self._real else {}

    def _call_back(self, paths: Iterable[str]) -> None:
        for path in paths:
            appearance = self._look_at(path)
            if self._last_seen.get(path) == appearance:
                continue
            self._last_seen[path] = appearance  # before the call: what changes during it is another change
            try:
                self._callbacks[path]()
            except (MemsyncError, OSError) as error:
                if str(error) not in self._logged:
                    self._logged.add(str(error))
                    log.warning("%s", error)


def find_touched(event: FileSystemEvent, real: Mapping[str, str]) -> list[str]:
    """Return which paths (path -> links followed) *event* may have changed: it or what is in it. Reading does not."""
    if event.event_type not in _CHANGES:
        return []
    names = [os.fsdecode(name) for name in (event.src_path, event.dest_path) if name]
    return [path for path, own in real.items() if any(name == own or name.startswith(own + os.sep) for name in names)]


def _read_appearance(path: str) -> dict[str, Stamp]:
    """Return the stamps of all files in a directory, else of *path* itself."""
    inside = [os.path.join(root, name) for root, _, names in os.walk(path) for name in names]
    found = dict.fromkeys(inside or [path], ABSENT)
    for name in found:
        with suppress(OSError):  # not allowed, or links in a circle
            found[name] = stamp(Path(name))
    return found


class _Post(NamedTuple):
    """A directory to watch, directly or whole. Another one in its place is another post."""

    directory: str
    is_whole: bool
    device: int
    inode: int


def _find_post(real: str) -> _Post | None:
    """Return from where changes of *real* are seen; None until there is such a directory."""
    for directory, is_whole in ((real, True), (os.path.dirname(real), False)):
        with suppress(OSError):
            status = os.stat(directory)
            if S_ISDIR(status.st_mode):
                return _Post(directory, is_whole, status.st_dev, status.st_ino)
    return None


class _Events:
    """What the system announces about a changing set of directories; nothing at all once it has failed."""

    def __init__(self, hear: Callable[[FileSystemEvent], None], observe: Callable[[], BaseObserver]) -> None:
        self.dispatch = hear
        self._handler = cast("FileSystemEventHandler", self)  # `dispatch` is all that an observer asks of one
        self._observe = observe
        self._observer: BaseObserver | None = None
        self._watches: dict[_Post, ObservedWatch] = {}

    def open(self) -> None:
        """Start to listen."""
        try:
            self._observer = self._observe()
            self._observer.start()
        except (ImportError, OSError, RuntimeError) as error:
            self._fail(error)

    def close(self) -> None:
        """End all threads."""
        observer, self._observer = self._observer, None
        self._watches.clear()
        if observer is not None:
            observer.stop()
            if observer.is_alive():
                observer.join()

    def watch(self, posts: set[_Post]) -> set[_Post]:
        """Watch *posts* and nothing else, and return those that were watched all the time since the last call."""
        observer = self._observer
        if observer is None:
            return set()
        living = {e.watch for e in observer.emitters if e.is_alive() and e.should_keep_running()}
        for post, watch in list(self._watches.items()):
            if post not in posts or watch not in living:  # not wanted, or the directory was deleted
                observer.unschedule(watch)  # else the observer takes the next watch for a repetition
                del self._watches[post]
        steady = set(self._watches)
        try:
            for post in posts - steady:
                with suppress(FileNotFoundError, NotADirectoryError):
                    self._watches[post] = observer.schedule(
                        self._handler, post.directory, recursive=post.is_whole, event_filter=_choose_events()
                    )
        except (OSError, RuntimeError) as error:
            self._fail(error)
        return steady & self._watches.keys()

    def _fail(self, error: Exception) -> None:
        log.warning("no file events (%s); polling the files instead, which takes a moment longer", error)
        self.close()


def _make_observer() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


def _choose_events() -> list[type[FileSystemEvent]]:
    """Return what to ask the system for: without opening and closing, which come with every read."""
    from watchdog import events

    names = "FileCreated FileModified FileMoved FileDeleted DirCreated DirMoved DirDeleted"
    return [getattr(events, f"{name}Event") for name in names.split()]
