"""Our regular expressions as an earlier process compiled them: what `__pycache__` is for modules (docs/adr/0084).

A short command compiles some fifty of them, which takes it longer than their use. They are kept in the user's own folder,
beside what made them, and read whole; where anything differs, or Python does not have what is used here of it, they are
compiled as ever. Imports next to nothing: hooks wait for it.
"""

from __future__ import annotations

import os
import sys
import zlib
from contextlib import suppress
from functools import cache

from memsync.system.home import find_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any, AnyStr, TypeVar

    # A pattern's flags, its code in words of four bytes, and its groups: how many, by name, and their names by number.
    Parts = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
    T = TypeVar("T")

_MOST = 1_000  # patterns, several times as many as there are: others come from older versions
_CRC = 4  # bytes
_NO_PATTERN = -1  # in the place of flags


class _Kept:
    """What is kept: read when the first pattern is asked for, and written if others were."""

    def __init__(self) -> None:
        self.table = _read()
        self.is_new = False


def compiled(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return `re.compile(text, flags)`. *text* is a rule of ours, nobody's words: it is written down.

    Raises:
        re.error: *text* is no regular expression.
    """
    try:
        made: re.Pattern[AnyStr] = _put_together(text, _find(text, int(flags)))
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError):
        import re

        return re.compile(text, flags)
    return made


def kept(name: str, make: Callable[[], T]) -> T:
    """Return what *make* returns, or did in an earlier process: texts, numbers, tuples, lists and dictionaries made of our rules alone.

    *name* tells them and their form from any others.
    """
    found = _kept()
    if (name, _NO_PATTERN) not in found.table:
        found.table[name, _NO_PATTERN], found.is_new = make(), True
    made: T = found.table[name, _NO_PATTERN]
    return made


def keep() -> None:
    """Keep what was compiled for other processes, if there is anything new and the user has a folder of ours."""
    if not (_kept.cache_info().currsize and _kept().is_new):
        return
    from marshal import dumps
    from pathlib import Path

    from memsync.errors import MemsyncError
    from memsync.system.local import put

    body = dumps((_made_by(), dict(list(_kept().table.items())[-_MOST:])))
    with suppress(OSError, MemsyncError):
        put(Path(_place()), (_sum(body), body), mode=0o600)
    _kept().is_new = False


@cache
def _kept() -> _Kept:
    return _Kept()


def _place() -> str:
    return os.path.join(find_own() or os.devnull, "local", f"patterns.{sys.implementation.cache_tag}")


def _read() -> dict[tuple[str | bytes, int], Any]:
    from marshal import loads

    with suppress(OSError, ValueError, EOFError, TypeError):
        with open(_place(), "rb") as file:
            data = file.read()
        if _sum(data[_CRC:]) == data[:_CRC]:
            made_by, table = loads(data[_CRC:])  # noqa: S302 - as private as what Python keeps of our modules
            if made_by == _made_by():
                found: dict[tuple[str | bytes, int], Any] = table
                return found
    return {}


def _sum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(_CRC, "little")


def _made_by() -> tuple[str, int, int]:
    sre = _sre()
    return sys.version, sre.MAGIC, sre.CODESIZE


def _sre() -> Any:
    return __import__("_sre")


def _find(text: str | bytes, flags: int) -> Parts:
    found = _kept()
    parts: Parts | None = found.table.get((text, flags))
    if parts is None:
        parts = found.table[text, flags] = _take_apart(text, flags)
        found.is_new = True
    return parts


def _take_apart(text: str | bytes, flags: int) -> Parts:
    """Return what `re.compile` would make a pattern of."""
    import re
    from array import array
    from importlib import import_module

    _ = re.error  # what may stand in for the package becomes it
    read: Any = import_module("re._parser").parse(text, flags)
    code = array("I", import_module("re._compiler")._code(read, flags))  # noqa: SLF001 - `re.compile` shows it to nobody
    names: list[str | None] = [None] * read.state.groups
    for name, number in read.state.groupdict.items():
        names[number] = name
    return flags | read.state.flags, code.tobytes(), read.state.groups - 1, dict(read.state.groupdict), tuple(names)


def _put_together(text: AnyStr, parts: Parts) -> re.Pattern[AnyStr]:
    flags, code, groups, by_name, names = parts
    made: re.Pattern[AnyStr] = _sre().compile(text, flags, memoryview(code).cast("I").tolist(), groups, by_name, names)
    return made
