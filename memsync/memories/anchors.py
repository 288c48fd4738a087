"""What in the repository a memory is about: files, folders, symbols and commands, what a file contained, and where in it a symbol is defined.

An anchor is `path`, `path#symbol`, `folder/`, a glob (`src/**`) or `$ command`. A file or a symbol may be pinned by `@hash`: the
first 12 digits of git's name for the contents of the file, or for the lines of the symbol, with LF. A symbol is
found by its lines, without a parser, so that it is the same for every language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import InvalidMemory
from memsync.memories import commands, lookup

_KEYWORDS: Final = (
    "def|class|func|function|fn|fun|sub|module|struct|enum|trait|impl|interface|type|const|let|var|val|static|macro"
    "|define|namespace|record|object|resource|message|table|view|procedure"
)
_CLOSING: Final = re.compile(r"\s*(?:[)\]}]|end\b)")
_BLOB: Final = re.compile(r"@([0-9a-f]{12})$")
# Bytes of a file that is read; a larger one counts as unchanged.
_LARGEST: Final = 2_000_000
# Characters of a path, and bytes of a name in it: the system takes no more.
_LONGEST: Final = 4_000
_LONGEST_NAME: Final = 255
_DEEPEST: Final = 100  # folders, each of which is looked at for a link, by a path that grows with it
# Lines of an excerpt, those of them that come before the symbol, and characters of one.
_EXCERPT: Final = 12
_BEFORE: Final = 2
_WIDEST: Final = 200
_HINT: Final = "give PATH, PATH#SYMBOL, FOLDER/, a glob such as src/**, or '$ COMMAND'"


class Block(NamedTuple):
    """The lines of a symbol: from `first` (counted from 0) to before `end`."""

    first: int
    end: int


def find_block(rows: Sequence[str], symbol: str) -> Block | None:
    """Return where *symbol* is defined in *rows*; of `Class.method` the method in the class. None if it is not."""
    block = Block(0, len(rows))
    for part in re.split(r"\.|::|#", symbol):
        at = _find_definition(rows, part, block)
        if at is None:
            return None
        block = Block(at, _find_end(rows, at))
    return block


def _find_definition(rows: Sequence[str], name: str, within: Block) -> int | None:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    strong = re.compile(rf"\b(?:{_KEYWORDS})\b[^=({{;]{{0,80}}?(?:\([^)]*\)\s*)?{word}")
    # a name at the start of its line: an assignment, a key, a method, a setting and its value
    weak = re.compile(rf"\s*(?:[\w@$-]+\s+){{0,4}}{word}\s*(?:[:=(]|\s[\w\"'])")
    for pattern in (strong, weak):
        for at in range(within.first, within.end):
            if (
                name in rows[at]
                and len(rows[at]) < 2_000
                and pattern.match(rows[at].lstrip() if pattern is strong else rows[at])
            ):
                return at
    return None


def _find_end(rows: Sequence[str], first: int) -> int:
    """Return the line behind what is indented more than line *first*, with the line that closes it."""
    depth = _indent(rows[first])
    end = first + 1
    while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > depth):
        end += 1
    if end < len(rows) and _CLOSING.match(rows[end]) and _indent(rows[end]) == depth:
        is_signature = rows[end].rstrip().endswith((":", "{"))
        return _find_end(rows, end) if is_signature else end + 1
    while end > first + 1 and not rows[end - 1].strip():
        end -= 1
    return end


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


class Anchor(NamedTuple):
    """A place in the repository, or a command; `symbol` and `blob` are empty where only the file counts."""

    path: str
    symbol: str = ""
    blob: str = ""
    command: commands.Words = ()

    @property
    def is_glob(self) -> bool:
        """Whether it names files by a pattern."""
        return "*" in self.path or "?" in self.path

    @property
    def key(self) -> str:
        """Where it stands in the lookup file."""
        if self.command:
            return commands.key(self.command)
        return lookup.key_of_glob(self.path) if self.is_glob else self.path

    def __str__(self) -> str:
        if self.command:
            return f"$ {' '.join(self.command)}"
        return self.path + (f"#{self.symbol}" if self.symbol else "") + (f"@{self.blob}" if self.blob else "")


def parse(text: str) -> Anchor:
    """Return the anchor that *text* spells."""
    if text.startswith("$"):
        found = commands.split(text[1:])
        return Anchor("", command=commands.strip(found[0]) if found else ())
    pinned = _BLOB.search(text)
    rest = text[: pinned.start()] if pinned else text
    path, _, symbol = rest.partition("#")
    return Anchor(spell_path(path), symbol, pinned[1] if pinned else "")


def spell_path(path: str) -> str:
    """Return the *path* of an anchor as git has it, also where it was written on Windows."""
    return path.replace("\\", "/").removeprefix("./")


def pin(text: str, root: Path) -> str:
    """Return the anchor that a user gave; a file alone, or a symbol, is pinned to its present content.

    Raises:
        InvalidMemory: there is no such file, or no such symbol in it.
    """
    anchor = parse(text.strip())
    if anchor.command or (anchor.blob and not anchor.symbol):
        return str(anchor)
    path = fixed_path(anchor)
    why = explain_change(anchor, root) if is_inside(path, root) else f"{anchor.path!r} is not in the repository"
    if why and not (anchor.blob and is_inside(path, root)):
        raise InvalidMemory(
            f"no anchor there: {why}; {_HINT}, from {root}; of a name that is wrong give the trigger 'not: NAME'"
        )
    return str(pin_anchor(anchor, root))


def pin_anchor(anchor: Anchor, root: Path) -> Anchor:
    """Return *anchor* pinned to what is there now."""
    if anchor.command or anchor.is_glob or anchor.path.endswith("/"):
        return anchor
    if (root / anchor.path).is_dir():
        return Anchor(f"{anchor.path}/")
    blob = hash_symbol(root / anchor.path, anchor.symbol) if anchor.symbol else _hash_blob(root / anchor.path)
    return anchor._replace(blob=blob)


class Excerpt(NamedTuple):
    """Some lines of a file as they are now, and the number of the first."""

    first: int
    text: str


def read_excerpt(text: str, root: Path) -> Excerpt | None:
    """Return the lines around the symbol of the anchor *text*, else the first of its file; None if there are none to show."""
    anchor = parse(text)
    rows = read_rows(root / anchor.path) if is_inside(anchor.path, root) else None
    if rows is None:
        return None
    at = 0
    if anchor.symbol:
        block, named = find_block(rows, anchor.symbol), re.compile(_whole_word(anchor.symbol))
        at = block.first if block else next((number for number, row in enumerate(rows) if named.search(row)), 0)
    first = max(at - _BEFORE, 0)
    return Excerpt(first + 1, "\n".join(row[:_WIDEST] for row in rows[first : first + _EXCERPT]))


def explain_change(anchor: Anchor, root: Path) -> str:
    """Return what is different from what *anchor* says; "" if nothing is."""
    path = root / fixed_path(anchor)
    if not path.exists():
        return f"{anchor.path or fixed_path(anchor)} is gone"
    if anchor.symbol:
        rows = read_rows(path)
        if rows is not None and not has_symbol(rows, anchor.symbol):
            return f"{anchor.path} no longer has {anchor.symbol}"
        if anchor.blob and (now := hash_symbol(path, anchor.symbol)) and now != anchor.blob:
            return f"{anchor.symbol} in {anchor.path} has changed"
        return ""
    if anchor.blob and (now := _hash_blob(path)) and now != anchor.blob:
        return f"{anchor.path} has changed"
    return ""


def has_symbol(rows: list[str], symbol: str) -> bool:
    """Tell whether *rows* define *symbol*, or have it as a word."""
    return find_block(rows, symbol) is not None or any(re.search(_whole_word(symbol), row) for row in rows)


def _whole_word(symbol: str) -> str:
    return rf"(?<!\w){re.escape(symbol)}(?!\w)"


def fixed_path(anchor: Anchor) -> str:
    """Return the path that must be there: of a pattern its first folders. A command is always there: it may be built or installed."""
    if anchor.is_glob:
        return "." if anchor.key.startswith("*") else anchor.key
    return "." if anchor.command else anchor.path


def is_inside(path: str, root: Path) -> bool:
    """Tell whether *path* is in the repository, links followed; what is elsewhere is not looked at."""
    parts = path.split("/")
    if not path or path.startswith(("/", "~")) or ".." in parts or "\0" in path or len(path) > _LONGEST:
        return False
    if len(parts) > _DEEPEST:
        return False
    try:
        if any(len(os.fsencode(part)) > _LONGEST_NAME for part in parts):
            return False
    except UnicodeEncodeError:  # half a character, as JSON can spell it: no file is called so
        return False
    return Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root))


def read_rows(path: Path) -> list[str] | None:
    """Return the lines of a text; None where there is none to be read."""
    data = _read(path)
    return None if data is None or b"\0" in data else data.decode("utf-8", "replace").splitlines()


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None where it cannot be read, and then counts as unchanged."""
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def hash_symbol(path: Path, symbol: str) -> str:
    """Return the name of the lines that define *symbol* in the file at *path*; "" if there are none."""
    rows = read_rows(path)
    return hash_lines(rows, symbol) if rows is not None else ""


def hash_lines(rows: list[str], symbol: str) -> str:
    """Return the name of the lines of *rows* that define *symbol*; "" if there are none."""
    block = find_block(rows, symbol)
    return name_of("\n".join(map(str.rstrip, rows[block.first : block.end])).encode()) if block else ""


def _hash_blob(path: Path) -> str:
    data = _read(path)
    return "" if data is None else name_of(data.replace(b"\r\n", b"\n"))


def name_of(data: bytes) -> str:
    """Return the first digits of git's name for *data*."""
    from memsync.system.digests import sha1

    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()[:12]
