"""Files that survive a crash: stamps, append with fsync, atomic replace.

Knows nothing of what is in them. Every write either happens whole or leaves the file as it was.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from memsync.errors import OutsideTree, StoreNotWritable, StoreUnreadable, blaming, write_failed
from memsync.store import places
from memsync.system import local as below


class Stamp(NamedTuple):
    """What a file looked like; equal stamps mean that nobody wrote it in between."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


ABSENT: Final = Stamp(0, -1, 0, 0)
_UNKNOWN: Final = Stamp(0, -2, 0, 0)  # matches no file's stamp
_BLOCK: Final = 1 << 16  # bytes that are read at once


def stamp(path: Path) -> Stamp:
    """Return the stamp of *path*, ABSENT if there is no file."""
    try:
        return _stamp(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read(path: Path) -> tuple[bytes, Stamp]:
    """Return the bytes of *path* and their stamp; no bytes and ABSENT if there is no file.

    Raises:
        StoreUnreadable: it is a directory, a device or a pipe, or may not be read.
        OutsideTree: it is below `.gobby/local`, and a link stands on the way.
    """
    with open_to_read(path) as (file, before):
        data = file.read(max(before.size, 0)) + file.read()
    # A writer in the middle of an append: what was read is what counts, and the next look sees the rest.
    return data, before if before == ABSENT else before._replace(size=len(data))


@contextmanager
def open_to_read(path: Path) -> Iterator[tuple[BinaryIO, Stamp]]:
    """Open *path*, and give it with its stamp; what is empty and ABSENT if there is no file."""
    try:
        file: BinaryIO = open(below.open_file(path, os.O_RDONLY), "rb", _BLOCK)  # noqa: SIM115 - closed below
    except (FileNotFoundError, NotADirectoryError):
        yield BytesIO(), ABSENT
        return
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        try:
            yield file, _stamp(os.fstat(file.fileno()))
        except OSError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StoreUnreadable:
    return StoreUnreadable(path, error.strerror or str(error), "check its owner and mode")


def begins_with(file: BinaryIO, data: bytes) -> bool:
    """Tell whether *file* goes on with *data*; it is read in small blocks, because the memory for a second copy takes longer than comparing."""
    starts = range(0, len(data), _BLOCK)
    return all(file.read(min(_BLOCK, len(data) - at)) == data[at : at + _BLOCK] for at in starts)


def resolve_inside(path: Path, tree: Path | None) -> Path:
    """Return *path* with symbolic links followed.

    Raises:
        OutsideTree: a link leads out of *tree*, or to git's own files in it; no repository may make an agent read or write elsewhere.
    """
    if (where := os.path.realpath(path)) == os.fspath(path):
        return path
    real = Path(where)
    if tree is not None and real != path:
        top = os.path.realpath(tree)
        is_gits = ".git" in map(str.casefold, real.parts) and ".git" not in Path(top, *path.parts).parts
        if is_gits or not real.is_relative_to(top):
            raise OutsideTree(path, f"leads out of the repository, to {real}", "replace the link by a file")
    return real


def resolve_named(path: Path, tree: Path | None) -> Path:
    """Return *path*, which the user has named; if it is in the repository *tree*, no link may lead out of that."""
    named = Path(os.path.abspath(path))
    return resolve_inside(named, tree) if tree is not None and named.is_relative_to(tree) else path


def make_dirs(path: Path, *, private: bool) -> None:
    """Create *path* and its missing parents; the new ones are 0700 if *private* or `.gobby/local`.

    Raises:
        OutsideTree: a link stands on the way below `.gobby/local`.
        StoreNotWritable, StoreFull
    """
    below.refuse_links(path)
    if path.is_dir():
        return
    with blaming(path):
        if not path.parent.is_dir():
            make_dirs(path.parent, private=private)
        with suppress(FileExistsError):
            path.mkdir(mode=below.dir_mode(path, private=private))
            below.sync_dir(path.parent)  # else what is written there may be gone with its directory


def prepare(place: places.Place) -> None:
    """Make the directory of local files of *place*, as `make_local` does, where its project still is.

    Raises:
        StoreError: the project's folder was moved, or another is there; as `make_local`.
    """
    place.refuse_another_tree()
    make_local(place.local, private=place.private, tree=place.tree)


def make_local(local: Path, *, private: bool, tree: Path | None = None) -> None:
    """Make the directory *local* of files that git ignores wherever it is; it is its owner's alone, or its group's as git's are.

    Raises:
        OutsideTree: a link leads out of *tree*, or is in the way.
        StoreNotWritable, StoreFull
    """
    if tree is not None and local.is_relative_to(tree):
        resolve_inside(local, tree)
    below.refuse_links(local)
    ignore = local / ".gitignore"
    mode = None
    with suppress(FileNotFoundError):  # somebody may remove it just now
        mode = os.lstat(local).st_mode if stamp(ignore).size > 0 else None  # left empty by a crash
    if mode is None:
        make_dirs(local, private=private)
        if tree is not None:
            _share(local)
        append(ignore, b"*\n", private=private)
    elif tree is not None and mode & 0o077:
        _share(local)


def _share(local: Path) -> None:
    """Give *local* the mode that it should have, also where an older memsync made it."""
    git = places.find_git(local)
    bits = 0o770 if git and places.is_shared(git) else 0o700
    with suppress(OSError):  # somebody else's, a disk without modes, or just removed: the next write makes it again
        mode = stat.S_IMODE(os.lstat(local).st_mode)
        if mode != (wanted := mode & stat.S_ISGID | bits):
            os.chmod(local, wanted)


def create(path: Path, data: bytes, *, private: bool) -> bool:
    """Write a small new file; do nothing and return False if there is one already."""
    make_dirs(path.parent, private=private)
    with blaming(path):
        try:
            fd = below.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, below.file_mode(path, private=private))
        except FileExistsError:
            return False
        try:
            _write_or_undo(fd, data, 0)
            below.sync_dir(path.parent)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
    return True


def append(path: Path, data: bytes, *, private: bool, durable: bool = True) -> tuple[Stamp, Stamp]:
    """Add *data* (whole lines) to the end of *path*, fsync if *durable*, and return the stamps before and after.

    The caller holds the lock. A last line without its newline gets one first. If an editor swaps the file, the data goes to the new one.

    Raises:
        StoreFull, StoreNotWritable: nothing was added.
    """
    while True:
        with blaming(path):
            before, after = _append_once(path, data, below.file_mode(path, private=private), durable=durable)
        if stamp(path).inode == after.inode:
            return before, after


def _append_once(path: Path, data: bytes, mode: int, *, durable: bool = True) -> tuple[Stamp, Stamp]:
    is_new = not path.exists()
    fd = below.open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
    try:
        before = _stamp(os.fstat(fd))
        if before.size and _byte_at(fd, before.size - 1) != b"\n":
            data = b"\n" + data
        try:
            _write_or_undo(fd, data, before.size, durable=durable)
        except OSError:
            if is_new and os.fstat(fd).st_size == 0:
                path.unlink(missing_ok=True)
            raise
        if is_new and durable:
            below.sync_dir(path.parent)
        after = _stamp(os.fstat(fd))
        if after.size != before.size + len(data):
            return _UNKNOWN, after  # somebody else wrote too
        return (ABSENT if is_new and not before.size else before), after
    finally:
        os.close(fd)


def _byte_at(fd: int, at: int) -> bytes:
    os.lseek(fd, at, os.SEEK_SET)
    return os.read(fd, 1)


def _write_or_undo(fd: int, data: bytes, size: int, *, durable: bool = True) -> None:
    """Write, and fsync if *durable*; on failure cut the file back to *size*, unless others wrote since."""
    done = 0
    try:
        while done < len(data):
            done += os.write(fd, data[done:])
        if durable:
            os.fsync(fd)
    except OSError:
        if os.fstat(fd).st_size == size + done:
            os.ftruncate(fd, size)
        raise


def replace(path: Path, data: bytes, *, was: bytes, temp: Path, private: bool, may_grow: bool = False) -> bytes | None:
    """Put *data* in the place of *path*, as `replace_blocks` does."""
    return replace_blocks(path, [data], was=[was], temp=temp, private=private, may_grow=may_grow)


def replace_blocks(
    path: Path,
    data: Iterable[bytes],
    *,
    was: Iterable[bytes],
    temp: Path,
    private: bool,
    may_grow: bool = False,
    durable: bool = True,
) -> bytes | None:
    """Put all of *data* in the place of *path* atomically, mode kept; readers see the old or the new file.

    Returns None, having done nothing, if the file is no longer what *data* was made from: *was*, which is read more than once,
    or where it *may_grow* that with lines appended, which are taken over. Else returns the lines that somebody without the lock
    wrote to the old file in the very last moment, which the caller must add again (mostly none). *temp* is overwritten; one on
    another disk, as git's directory may be, is not used, but one beside *path*. Not *durable*: without fsync, so that after a power cut there may be the old file, or an empty one.

    Raises:
        StoreFull, StoreNotWritable: nothing was changed.
    """
    make_dirs(path.parent, private=private)
    try:
        if os.stat(temp.parent).st_dev != os.stat(path.parent).st_dev:
            temp = _temp_of(path)
        _write_new(temp, data, _mode(path, private=private), durable=durable)
        with open(below.open_file(path, os.O_RDONLY) if path.exists() else os.devnull, "rb") as old:
            seen, late = _stamp(os.fstat(old.fileno())), _read_beyond(old, was)
            if late is None or (late and not may_grow):
                return None
            if late:
                _append_once(temp, late, 0o600)
            if seen.size and stamp(path).inode != seen.inode:
                return None  # an editor has just put another file there
            os.replace(temp, path)
            if durable:
                below.sync_dir(path.parent)
            return _find_late_lines(old.fileno(), chain(was, [late]), seen)
    except OSError as error:
        raise write_failed(path, error) from error
    finally:
        with suppress(OSError):
            temp.unlink(missing_ok=True)


def rewrite(
    path: Path, data: bytes, *, was: bytes, private: bool = False, temp: Path | None = None, durable: bool = True
) -> None:
    """Put *data* in the place of *path*, a small file, by way of *temp*, unless it is no longer what it *was*; with fsync if *durable*.

    Raises:
        StoreNotWritable: somebody else changed it in this moment; nothing was changed.
        StoreFull
    """
    if replace_blocks(path, [data], was=[was], temp=temp or _temp_of(path), private=private, durable=durable) is None:
        raise StoreNotWritable(path, "changed while it was written", "try again")


def drop_temp(path: Path) -> None:
    """Remove what a `rewrite` of *path* leaves when its process is killed."""
    with blaming(path):
        _temp_of(path).unlink(missing_ok=True)


def _temp_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.memsync-new")


def _mode(path: Path, *, private: bool) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = below.file_mode(path, private=private)
        return None if mode == 0o666 else mode


def _write_new(temp: Path, data: Iterable[bytes], mode: int | None, *, durable: bool) -> None:
    temp.unlink(missing_ok=True)
    fd = below.open_file(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    try:
        size = 0
        for block in data:
            _write_or_undo(fd, block, size, durable=False)
            size += len(block)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    if mode is not None:
        os.chmod(temp, mode)


def _read_beyond(file: BinaryIO, was: Iterable[bytes]) -> bytes | None:
    """Return what *file* has after *was*; None if it does not begin with that, or goes on in the middle of its last line."""
    last = b"\n"
    for block in filter(None, was):
        if not begins_with(file, block):
            return None
        last = block[-1:]
    late = file.read()
    return None if late and last != b"\n" else late


def _find_late_lines(fd: int, before: Iterable[bytes], seen: Stamp) -> bytes:
    now = _stamp(os.fstat(fd))
    if (now.size, now.mtime_ns) == (seen.size, seen.mtime_ns):
        return b""
    os.lseek(fd, 0, os.SEEK_SET)
    known = {*_split_lines(before)}
    with open(fd, "rb", closefd=False) as old:
        late = [line for line in old.read().split(b"\n") if line not in known]
    return b"".join(line + b"\n" for line in late if line)


def _split_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield rest
