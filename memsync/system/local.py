"""What lies below `.gobby/local` in a work tree: opened without following links, and for its owner alone.

A clone or a checkout can put anything there that git can hold, so no path below it is trusted: each
is opened step by step from the directory itself (docs/adr/0045). Elsewhere paths are what they are.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from memsync.errors import OutsideTree, StoreUnreadable

LOCAL: Final = os.path.join(".gobby", "local")
_MARK: Final = os.sep + LOCAL + os.sep
# Without these a path is compared with where it really leads (Windows).
_STEPWISE: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_STEP: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_FILE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LINK: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
_SHARED: Final = 0o660
UNREADABLE: Final = "may not be read by you"
_ABANDONED: Final = 600.0  # seconds after which nobody is still writing a file that is put


def open_file(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open the regular file *path* as `os.open` does; a pipe is not waited for.

    Raises:
        OSError
        OutsideTree: it is below `.gobby/local`, and a link stands on the way.
        StoreUnreadable: it is something else than a file.
    """
    base, parts = _split(path)
    if not parts:
        fd = os.open(path, flags | _FILE, mode)
    elif _STEPWISE:
        fd = _open_stepwise(path, base, parts, flags | _FILE | _NO_LINK, mode)
    else:
        refuse_links(path)
        fd = os.open(path, flags | _FILE, mode)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise StoreUnreadable(path, "not a regular file", "move it away")
    if (
        sys.platform != "win32"
        and mode == _SHARED
        and stat.S_IMODE(status.st_mode) != mode
        and status.st_uid == os.geteuid()
    ):
        os.fchmod(fd, mode)  # as git does, whatever the umask
    return fd


def sync_dir(path: Path) -> None:
    """Have the names in the directory *path* on the disk; on Windows they are."""
    if sys.platform == "win32":
        return
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def put(path: Path, parts: Iterable[bytes | memoryview], *, mode: int = 0o666, durable: bool = False) -> None:
    """Put *parts* in the place of *path* in one step. Without *durable* it waits for no disk, for what can be made again.

    Raises:
        OSError, OutsideTree, StoreUnreadable: nothing was changed.
    """
    temp = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(open_file(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as out:
            out.writelines(parts)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        os.replace(temp, path)
        if durable:
            sync_dir(path.parent)
    finally:
        with suppress(OSError):
            temp.unlink(missing_ok=True)
    with suppress(OSError):
        _remove_left_behind(path)


def _remove_left_behind(path: Path) -> None:
    """Remove what a process that was killed in `put` left of *path*, as large as an index."""
    with os.scandir(path.parent) as found:
        for one in found:
            name, _, pid = one.name.rpartition(".")
            if name == path.name and pid.isdecimal() and time.time() - one.stat().st_mtime > _ABANDONED:
                os.unlink(one.path)


def _open_stepwise(path: Path, base: str, parts: list[str], flags: int, mode: int) -> int:
    at = -1
    try:
        at = os.open(base, _STEP)
        for part in parts[:-1]:
            before, at = at, os.open(part, _STEP, dir_fd=at)
            os.close(before)
        return os.open(parts[-1], flags, mode, dir_fd=at)
    except OSError as error:
        if error.errno in _LINK:
            raise _link_error(path) from None
        raise
    finally:
        if at >= 0:
            os.close(at)


def _split(path: Path) -> tuple[str, list[str]]:
    """Return the directory `.gobby/local` that *path* is in, and the names from there on; none if it is in none."""
    head, mark, rest = f"{path}{os.sep}".rpartition(_MARK)
    return (head + mark[:-1], [part for part in rest.split(os.sep) if part]) if mark else ("", [])


def refuse_links(path: Path) -> None:
    """Do nothing unless *path* is `.gobby/local` or below it, and leads through a link.

    Raises:
        OutsideTree: it does.
    """
    base, parts = _split(path)
    if not base:
        return
    if os.name == "nt":  # a junction is no link to lstat
        parent = os.path.realpath(os.path.dirname(base))
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(os.path.join(parent, "local", *parts)):
            raise _link_error(path)
        return
    step = base
    for part in ("", *parts):
        step = os.path.join(step, part) if part else step
        try:
            if stat.S_ISLNK(os.lstat(step).st_mode):
                raise _link_error(path)
        except (FileNotFoundError, NotADirectoryError):
            return


def _link_error(path: Path) -> OutsideTree:
    why = f"leads through a link, and links below {LOCAL} are not followed"
    return OutsideTree(path, why, "remove the link; memsync recreates what it needs")


def file_mode(path: Path, *, private: bool) -> int:
    """Return the mode of a new file at *path*: below `.gobby/local` its owner's alone, or the group's if the directory is."""
    base, parts = _split(path)
    if not parts:
        return 0o600 if private else 0o666
    return _SHARED if is_shared(Path(base)) else 0o600


def dir_mode(path: Path, *, private: bool) -> int:
    """Return the mode of a new directory at *path*, as `file_mode` does for files."""
    base, parts = _split(path)
    if not base:
        return 0o700 if private else 0o777
    return 0o770 if parts and is_shared(Path(base)) else 0o700


def is_shared(directory: Path) -> bool:
    """Tell whether the group of *directory* may write there."""
    try:
        return bool(os.lstat(directory).st_mode & stat.S_IWGRP)
    except OSError:
        return False


def explain_distrust(local: Path) -> str:
    """Return why nothing in the directory *local* may be used; "" if it may, or is not there."""
    try:
        status = os.lstat(local)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if not stat.S_ISDIR(status.st_mode):
        return "is a link" if stat.S_ISLNK(status.st_mode) else "is not a directory"
    try:
        with os.scandir(local) as entries:
            return next(filter(None, (_explain_entry(one, status) for one in entries)), "")
    except PermissionError:  # as where somebody was root, or in a container, when memsync was first used
        return UNREADABLE


def _explain_entry(entry: os.DirEntry[str], holder: os.stat_result) -> str:
    """Return why the directory of *entry*, with the status *holder*, may not be used; "" if it may.

    What may not be read, as after `sudo memsync`, is a reason. What a group writes at the same time is its writer's alone
    until it is whole, and what comes and goes, as SQLite's log does, is none.
    """
    if entry.is_symlink():
        return f"holds {entry.name}, which is a link"
    if not (entry.is_file() or entry.is_dir()):
        return f"holds {entry.name}, which is neither a regular file nor a directory"
    wanted = os.R_OK | (os.X_OK if entry.is_dir() else 0)
    if holder.st_mode & stat.S_IWGRP or os.access(entry.path, wanted):
        return ""
    is_there = os.path.lexists(entry.path) and not os.access(entry.path, wanted)
    return f"holds {entry.name}, which {UNREADABLE}" if is_there else ""


def is_tracked(local: Path, top: Path, git_dir: Path) -> bool:
    """Tell whether git tracks *local* or anything in it, in the work tree *top*.

    Looks into git's index for the name, because to start git costs more than a recall;
    git is asked where the name is found or the index spells no whole names.
    """
    name = os.path.relpath(os.path.join(os.path.realpath(local.parent), local.name), os.path.realpath(top))
    index = os.path.join(git_dir, "index")
    try:
        seen = os.stat(index)
        state = seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
        may_be = _may_name(index, os.fsencode(name.replace(os.sep, "/")).lower(), state)
    except FileNotFoundError:
        return False
    is_split = any(name.startswith("sharedindex.") for name in os.listdir(git_dir))
    return (may_be or is_split) and _git_tracks(name, top)


@lru_cache(maxsize=8)
def _may_name(index: str, name: bytes, _state: tuple[int, ...]) -> bool:
    """Tell whether git's *index* has *name*, or may have it because it spells no whole names.

    Read once for each state: of 10,000 files it is a megabyte, and a server asks at each call.
    """
    with open(index, "rb") as file:
        data = file.read()
    return data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or name in data.lower()


def _git_tracks(name: str, top: Path) -> bool:
    import subprocess

    from memsync.system import programs

    env = programs.git_env({key: value for key, value in os.environ.items() if not key.startswith("GIT_")})
    words = ["ls-files", "-z", "--", f":(icase,literal){name}"]
    try:
        done = subprocess.run([programs.find("git"), *words], cwd=top, env=env, capture_output=True, check=False)
    except OSError:
        return True
    return done.returncode != 0 or bool(done.stdout)


def move_into(old: Path, new: Path) -> None:
    """Move what is in the directory *old* to *new*; what is there already stays, and so does its like in *old*."""
    import shutil

    if not new.exists():
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(old, new)
        return
    for path in sorted(old.iterdir()):
        target = new / path.name
        if not os.path.lexists(target):
            shutil.move(path, target)
        elif path.is_dir() and target.is_dir():
            move_into(path, target)
    with suppress(OSError):  # something stays
        old.rmdir()
