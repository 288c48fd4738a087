"""Our lines in a .gitattributes: how git merges, shows and checks out what is ours. Works on bytes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from memsync.store.places import MEMORIES, SKILLS, STORE_DIR

# LF on every platform, so that a clone on Windows has the same bytes; and never folded away in a review.
_MEMORIES: Final = f"{STORE_DIR}/{MEMORIES} merge=memsync diff=memsync text eol=lf -linguist-generated".encode()
# Git converts the ends of lines in what a filter gave it, and so would take bytes out of what is encrypted.
_FILTERED: Final = _MEMORIES.replace(b"text eol=lf", b"-text")
_SKILLS: Final = f"{SKILLS}/*/SKILL.md merge=memsync-skill".encode()
LINES: Final = (_MEMORIES, _FILTERED, _SKILLS)
_EARLIER: Final = {f"{STORE_DIR}/{MEMORIES} text eol=lf".encode(): _MEMORIES}  # what older versions wrote


def add_lines(data: bytes, newline: bytes = b"\n", *, is_filtered: bool = False) -> bytes:
    """Return *data* with our lines, ended by *newline*, without what a user's own lines about the same files say of themselves.

    A rule for merging of the user's stays, and ours is left out. With *is_filtered* git is to take what a filter makes
    of the memories as bytes.
    """
    rows = update_lines(data, is_filtered=is_filtered).splitlines(keepends=True)
    said: dict[bytes, set[bytes]] = {}
    for name, *words in filter(None, map(bytes.split, rows)):
        said.setdefault(name, set()).update(map(_name_of, words))
    wanted = (_FILTERED if is_filtered else _MEMORIES, _SKILLS)
    missing = [_leave_out(line, said.get(line.split()[0], set())) + newline for line in wanted]
    missing = [line for line in missing if b" merge=" in line]
    gap = newline if missing and rows and not rows[-1].endswith(b"\n") else b""
    return b"".join([*rows, gap, *missing])


def _name_of(word: bytes) -> bytes:
    return word.lstrip(b"-!").partition(b"=")[0]


def _leave_out(line: bytes, names: Collection[bytes]) -> bytes:
    path, *words = line.split()
    return b" ".join([path, *(word for word in words if _name_of(word) not in names)])


def is_ours(row: bytes) -> bool:
    """Tell whether *row* is a line of ours, whole or without what a user's own says."""
    return row in _EARLIER or (b" merge=" in row and any({*row.split()} <= {*line.split()} for line in LINES))


def update_lines(data: bytes, *, is_filtered: bool) -> bytes:
    """Return *data* with those of our lines that are there as `add_lines` writes them."""
    new = dict.fromkeys((*_EARLIER, _MEMORIES), _FILTERED) if is_filtered else _EARLIER
    rows = data.splitlines(keepends=True)
    return b"".join(new.get(bare, bare) + row[len(bare) :] for row in rows for bare in [row.rstrip(b"\r\n")])


def remove_lines(data: bytes, committed: bytes) -> bytes:
    """Return *data* without our lines, but for those that are *committed*: these belong to everybody."""
    theirs = {*committed.splitlines()}
    rows = ((row, row.rstrip(b"\r\n")) for row in data.splitlines(keepends=True))
    return b"".join(row for row, bare in rows if bare in theirs or not is_ours(bare))
