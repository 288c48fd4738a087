"""What in the repository a memory is about: files, symbols in them, and what a file contained.

An anchor is `path`, `path#symbol` or `path@blob`: the file is there, the symbol is in it,
or it is byte for byte as it was (the first 12 digits of git's name for its contents, with LF).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import InvalidMemory

_BLOB: Final = re.compile(r"@([0-9a-f]{12})$")
_PATH: Final = re.compile(r"(?<![\w/.:@~$-])((?:[\w.@-]+/)+[\w.@-]*\w|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,5})(?![\w/])")
_MOST: Final = 5
# Bytes of a file that is read; a larger one counts as unchanged.
_LARGEST: Final = 2_000_000
# Lines of an excerpt, those of them that come before the symbol, and characters of one.
_EXCERPT: Final = 12
_BEFORE: Final = 2
_WIDEST: Final = 200


class Anchor(NamedTuple):
    """A place in the repository; `symbol` and `blob` are empty where only the file counts."""

    path: str
    symbol: str = ""
    blob: str = ""


def parse(text: str) -> Anchor:
    """Return the anchor that *text* spells."""
    found = _BLOB.search(text)
    rest = text[: found.start()] if found else text
    path, _, symbol = rest.partition("#")
    return Anchor(path, symbol, found[1] if found else "")


def find_named(content: str, root: Path) -> tuple[str, ...]:
    """Return the files under *root* that *content* names, as anchors, at most five."""
    found: dict[str, None] = {}
    for match in _PATH.finditer(content):
        path = match[1].removeprefix("./")
        if len(found) < _MOST and _is_inside(path, root) and (root / path).exists():
            found[path] = None
    return tuple(found)


def pin(text: str, root: Path) -> str:
    """Return the anchor that a user gave as PATH or PATH#SYMBOL; a file alone is pinned to its present content.

    Raises:
        InvalidMemory: there is no such file, or no such symbol in it.
    """
    anchor = parse(text.strip().removeprefix("./"))
    if anchor.blob:
        return text.strip()
    why = (
        _explain_change(anchor, root) if _is_inside(anchor.path, root) else f"{anchor.path!r} is not in the repository"
    )
    if why:
        raise InvalidMemory(f"no anchor there: {why}; give PATH or PATH#SYMBOL, from {root}")
    if anchor.symbol:
        return f"{anchor.path}#{anchor.symbol}"
    blob = _hash_blob(root / anchor.path)
    return f"{anchor.path}@{blob}" if blob else anchor.path


def anchors_of(content: str, given: Collection[str], root: Path) -> tuple[str, ...]:
    """Return the anchors of a new memory: those *given*, pinned, and the files that *content* names.

    Raises:
        InvalidMemory: one of those given is not there.
    """
    pins = [pin(text, root) for text in given]
    known = {parse(text).path for text in pins}
    return tuple(dict.fromkeys((*pins, *(path for path in find_named(content, root) if path not in known))))


def pin_now(texts: Iterable[str], root: Path) -> tuple[str, ...]:
    """Return the anchors *texts* as they fit the repository now: files pinned to their content, without what is gone."""
    found: dict[str, None] = {}
    for text in texts:
        anchor = parse(text)
        if not _is_inside(anchor.path, root) or not (root / anchor.path).exists():
            continue
        if not _explain_change(anchor, root):
            found[text] = None
        else:
            found[pin(anchor.path, root)] = None
    return tuple(found)


def find_stale(texts: Iterable[str], root: Path) -> tuple[str, ...]:
    """Return what has changed in the repository since the anchors *texts* were set."""
    inside = (anchor for anchor in map(parse, texts) if _is_inside(anchor.path, root))
    return tuple(filter(None, (_explain_change(anchor, root) for anchor in inside)))


class Excerpt(NamedTuple):
    """Some lines of a file as they are now, and the number of the first."""

    first: int
    text: str


def read_excerpt(text: str, root: Path) -> Excerpt | None:
    """Return the lines around the symbol of the anchor *text*, else the first of its file; None if there are none to show."""
    anchor = parse(text)
    data = _read(root / anchor.path) if _is_inside(anchor.path, root) else None
    if data is None or b"\0" in data:
        return None
    rows = data.decode("utf-8", "replace").splitlines()
    named = re.compile(_whole_word(anchor.symbol)) if anchor.symbol else None
    at = next((number for number, row in enumerate(rows) if named.search(row)), 0) if named else 0
    first = max(at - _BEFORE, 0)
    return Excerpt(first + 1, "\n".join(row[:_WIDEST] for row in rows[first : first + _EXCERPT]))


def _whole_word(symbol: str) -> str:
    return rf"(?<!\w){re.escape(symbol)}(?!\w)"


def _explain_change(anchor: Anchor, root: Path) -> str:
    path = root / anchor.path
    if not path.exists():
        return f"{anchor.path} is gone"
    data = _read(path) if anchor.symbol else None
    if data is not None and not re.search(_whole_word(anchor.symbol), data.decode("utf-8", "replace")):
        return f"{anchor.path} no longer has {anchor.symbol}"
    if anchor.blob and (now := _hash_blob(path)) and now != anchor.blob:
        return f"{anchor.path} has changed"
    return ""


def _is_inside(path: str, root: Path) -> bool:
    """Tell whether *path* is in the repository, links followed; what is elsewhere is not looked at."""
    if not path or path.startswith(("/", "~")) or ".." in path.split("/") or "\0" in path:
        return False
    return Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root))


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None where it cannot be read, and then counts as unchanged."""
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def _hash_blob(path: Path) -> str:
    from hashlib import sha1

    data = _read(path)
    if data is None:
        return ""
    data = data.replace(b"\r\n", b"\n")
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:12]
