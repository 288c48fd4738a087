"""One file that holds an index's arrays, mapped into memory when opened.

Layout: magic, size and checksum of the header, the header as JSON, arrays
aligned to 64 bytes. A file that is missing, torn or made otherwise is None to
the caller, who builds anew.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import StoreError
from memsync.system import local
from memsync.system.dataclass import dataclass

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray

MAGIC: Final = b"MSIDX005"
_ALIGN: Final = 64
_LARGE: Final = 1 << 22  # bytes of a file that is large
_BLOCK: Final = 1 << 22  # bytes of one that are looked at, and in memory, at once
_HEAD: Final = len(MAGIC) + 8
_MARKED: Final = 1 << 20  # bytes of a file from which on looking at all of it takes longer than a mark
_LONGEST_MARK: Final = 1_000  # bytes
_CODES: Final = {"<i8": "q", "<u8": "Q", "<i4": "i", "<f4": "f", "<f8": "d", "|i1": "b", "|u1": "B"}
_KINDS: Final = {code: kind for kind, code in _CODES.items()}


@dataclass(frozen=True, slots=True)
class Cached:
    """An opened cache: its checksum, what its maker said about it, and its arrays as flat views."""

    check: int
    about: Mapping[str, Any]
    views: Mapping[str, memoryview]
    shapes: Mapping[str, list[int]]
    mapped: mmap.mmap
    file: tuple[int, ...]  # which file it is

    def let_go(self, large: int = _LARGE) -> None:
        """Have the pages of a file of *large* bytes that were read count as this process's memory no longer, until somebody reads them again."""
        _let_go(self.mapped, large)

    def array(self, name: str) -> NDArray[Any]:
        """Return one array as numpy sees it; read-only."""
        import numpy as np

        return np.asarray(self.views[name]).reshape(self.shapes[name])


def save(
    path: Path, arrays: Mapping[str, NDArray[Any] | array[Any]], about: Mapping[str, Any], *, private: bool
) -> None:
    """Write *arrays* and what is said *about* them in one atomic step.

    Raises:
        OSError: nothing was changed.
    """
    from array import array

    table, place, check = [], 0, 1
    blocks: list[bytes | memoryview] = []
    for name, one in arrays.items():
        raw = _read_bytes(one)
        gap = bytes(-len(raw) % _ALIGN)
        kind, shape = (_KINDS[one.typecode], [len(one)]) if isinstance(one, array) else (one.dtype.str, list(one.shape))
        table.append([name, kind, shape, place, len(raw)])
        place, check = place + len(raw) + len(gap), zlib.adler32(gap, zlib.adler32(raw, check))
        blocks += (raw, gap)
    header = json.dumps({"about": about, "table": table, "bytes": place, "check": check}).encode()
    head = MAGIC + len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little") + header
    local.put(path, [head, bytes(-len(head) % _ALIGN), *blocks], mode=local.file_mode(path, private=private))


def _read_bytes(one: NDArray[Any] | array[Any]) -> bytes | memoryview:
    """Return the bytes of *one*; they are not copied where they stand one after the other."""
    view = memoryview(one)  # type: ignore[arg-type]  # which numpy tells only newer Pythons
    return view.cast("B") if view.nbytes and view.c_contiguous else one.tobytes()


def load(path: Path, known: Cached | None = None) -> Cached | None:
    """Map the cache at *path*; None when it is missing, torn, damaged or not of our making. If that is *known*, it is not mapped again."""
    try:
        with open(local.open_file(path, os.O_RDONLY), "rb") as source:
            status = os.fstat(source.fileno())
            file = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if known and known.file == file:
                return known
            mapped = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        mark = _Mark(path, status)
        found = _read(mapped, memoryview(mapped), file, is_checked=mark.is_there())
    except Exception:  # noqa: BLE001 - whatever somebody wrote there, it is made anew
        return None
    if found:
        mark.leave()
    return found


class _Mark:
    """What says that a process looked at all of a file as it is, so that the next one need not: a small file beside it.

    A file with these times and this number was not written since, and what the system has of it in memory is what was
    looked at, or comes from the same disk; after a crash it may not be, so the mark names the start of the system.
    """

    def __init__(self, path: Path, status: os.stat_result) -> None:
        self._path = path.with_suffix(".checked")
        self._said = b""
        if status.st_size >= _MARKED and (boot := _read_boot()):
            seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            self._said = json.dumps(seen).encode() + boot
        self._is_there = False

    def is_there(self) -> bool:
        """Tell whether somebody left it."""
        with suppress(OSError, StoreError):
            if self._said:
                with open(local.open_file(self._path, os.O_RDONLY), "rb") as file:
                    self._is_there = file.read(_LONGEST_MARK) == self._said
        return self._is_there

    def leave(self) -> None:
        """Leave it, where that can be, and where it is of use."""
        if self._said and not self._is_there:
            with suppress(OSError, StoreError):
                local.put(self._path, [self._said], mode=local.file_mode(self._path, private=True))


def _read_boot() -> bytes:
    """Return what names the present start of the system; nothing where it does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(_LONGEST_MARK)
    except OSError:
        return b""


def _sum_up(file: mmap.mmap, body: memoryview) -> int:
    check = 1
    for start in range(0, len(body), _BLOCK):
        check = zlib.adler32(body[start : start + _BLOCK], check)
        _let_go(file)  # or all of it is this process's memory at once
    return check


def _let_go(file: mmap.mmap, large: int = _LARGE) -> None:
    if sys.platform != "win32" and len(file) > large:
        file.madvise(mmap.MADV_DONTNEED)


def _read(file: mmap.mmap, mapped: memoryview, which: tuple[int, ...], *, is_checked: bool) -> Cached | None:
    size = int.from_bytes(mapped[8:12], "little")
    raw = bytes(mapped[_HEAD : _HEAD + size])
    if (
        bytes(mapped[:8]) != MAGIC
        or not raw
        or len(raw) != size
        or zlib.crc32(raw) != int.from_bytes(mapped[12:16], "little")
    ):
        return None
    header = json.loads(raw)
    body = mapped[-(-(_HEAD + size) // _ALIGN) * _ALIGN :]
    if len(body) != header["bytes"]:
        return None
    if not is_checked and _sum_up(file, body) != header["check"]:
        return None
    views, shapes = {}, {}
    for name, kind, shape, place, length in header["table"]:
        if place < 0 or length < 0 or place + length > len(body):
            return None
        views[name] = body[place : place + length].cast(_CODES[kind])  # type: ignore[call-overload]
        shapes[name] = shape
    return Cached(zlib.crc32(raw), header["about"], views, shapes, file, which)
