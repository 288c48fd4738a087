"""The lock between processes: who had it has it again after all who wait, and the kernel drops what a dead process held."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from memsync.errors import LockTimeout, write_failed
from memsync.system import local as below
from memsync.system.logs import Log

log = Log(__name__)

WAIT: Final = 60.0  # seconds: eight writers of 200,000 records on a busy machine
_SILENCE: Final = 2.0  # after which whoever waits is told
_TRIES: Final = 100  # to lock what is at a path; somebody may remove it meanwhile, but not so often
_PAUSE: Final = 0.02  # seconds between two of them
_DIGITS: Final = 10  # at most in the process id of the holder, which the file has


@contextmanager
def lock(path: Path, *, wait: float = WAIT, is_told: bool = True) -> Iterator[None]:
    """Hold the inter-process lock *path* (a file of its own, made when missing).

    The user is told of a long wait, if *is_told*.

    Raises:
        LockTimeout: another process held it for *wait* seconds, or it is another file each time.
        StoreNotWritable: the lock file cannot be made.
        OutsideTree: a link stands on the way below `.gobby/local`.
    """
    with _hold(path, wait, is_told=is_told):
        yield


def _refuse(path: Path, holder: str, wait: float) -> LockTimeout:
    why = f"another process{holder} held the lock for {wait:g} s"
    return LockTimeout(path, why, "try again, or look for a stopped memsync process")


if sys.platform == "win32":

    @contextmanager
    def _hold(path: Path, wait: float, *, is_told: bool) -> Iterator[None]:
        from filelock import FileLock, Timeout

        below.refuse_links(path)
        held = FileLock(path, poll_interval=0.002)
        try:
            try:
                held.acquire(timeout=min(wait, _SILENCE))
            except Timeout:
                if is_told and wait > _SILENCE:
                    log.warning("waiting for another memsync that is writing")
                held.acquire(timeout=max(0.0, wait - _SILENCE))
        except Timeout:
            raise _refuse(path, "", wait) from None
        except OSError as error:
            raise write_failed(path, error) from error
        try:
            yield
        finally:
            held.release()
else:
    import fcntl

    @contextmanager
    def _hold(path: Path, wait: float, *, is_told: bool) -> Iterator[None]:
        start, is_held, tries = time.monotonic(), False, 0
        while not is_held:
            if tries:
                _pause(path, tries, start + wait)
            tries += 1
            # One alone waits for the lock, and the others behind it: who had it cannot take it again before that one.
            with _opened(path.with_name(f"{path.name}.queue")) as queue, _opened(path) as fd:
                if not (_take(queue, fd, start, wait, is_told=is_told) and _take(fd, fd, start, wait, is_told=is_told)):
                    raise _refuse(path, _name_holder(fd), wait)
                fcntl.flock(queue, fcntl.LOCK_UN)
                if is_held := _is_there(fd, path):
                    _note_holder(fd)
                    yield

    @contextmanager
    def _opened(path: Path) -> Iterator[int]:
        fd = _open(path)
        try:
            yield fd
        finally:
            try:
                fcntl.flock(fd, fcntl.LOCK_UN)  # even where a child has a copy of it
            finally:  # Ctrl-C
                os.close(fd)

    def _open(path: Path) -> int:
        try:
            return below.open_file(path, os.O_RDWR | os.O_CREAT, below.file_mode(path, private=True))
        except OSError as error:
            raise write_failed(path, error) from error

    def _pause(path: Path, tries: int, end: float) -> None:
        """Let a moment pass after so many *tries* found another file at *path* than they had locked, until *end* at most."""
        if tries >= _TRIES or time.monotonic() >= end:
            why = "another file is there each time it is locked"
            raise LockTimeout(path, why, "use a file system on which files keep their numbers, or try again")
        time.sleep(_PAUSE)

    def _is_there(fd: int, path: Path) -> bool:
        """Tell whether *path* is still the file *fd*: somebody may remove `.gobby/local` while we wait."""
        with suppress(OSError):
            return os.path.samestat(os.fstat(fd), os.stat(path))
        return False

    def _take(fd: int, held: int, start: float, wait: float, *, is_told: bool) -> bool:
        """Lock the file *fd* until *wait* seconds after *start*; False if others had it all the time, or what it is for: the file *held*."""
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        # A Ctrl-C may come at any moment: a bare lock takes it, an Event would let go of its own lock twice.
        own, turn, is_wanted = os.dup(fd), threading.Lock(), True
        turn.acquire()

        def stand_in_line() -> None:
            fcntl.flock(own, fcntl.LOCK_EX)
            turn.release()
            if not is_wanted:
                fcntl.flock(own, fcntl.LOCK_UN)  # even where a child has a copy of it
            os.close(own)

        def is_mine(seconds: float) -> bool:
            return turn.acquire(timeout=max(0.0, start + min(seconds, wait) - time.monotonic()))

        is_silent, is_taken = time.monotonic() < start + _SILENCE < start + wait, False
        try:
            # The queue is the kernel's, and knows no time limit. A Ctrl-C may come before this returns, with the thread at work.
            threading.Thread(target=stand_in_line, daemon=True).start()
            is_taken = is_mine(_SILENCE)
            if not is_taken:
                if is_told and is_silent:
                    log.warning("waiting for another memsync that is writing%s", _name_holder(held))
                is_taken = is_mine(wait)
            return is_taken
        finally:
            is_wanted = is_taken

    def _note_holder(fd: int) -> None:
        with suppress(OSError):  # the disk is full, and only who waits would read it
            os.pwrite(fd, str(os.getpid()).ljust(_DIGITS).encode(), 0)

    def _name_holder(fd: int) -> str:
        with suppress(OSError, ValueError):
            return f" (pid {int(os.pread(fd, _DIGITS, 0))})"
        return ""
