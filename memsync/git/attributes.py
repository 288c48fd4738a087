"""Our lines in a .gitattributes: how git merges, shows and checks out what is ours. Works on bytes."""

from __future__ import annotations

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
    """Return *data* with our lines, ended by *newline*; a user's own line about the same files stays, and ours is left out.

    With *is_filtered* git is to take what a filter makes of the memories as bytes.
    """
    rows = update_lines(data, is_filtered=is_filtered).splitlines(keepends=True)
    there = {row.split()[0] for row in rows if row.split()}
    wanted = (_FILTERED if is_filtered else _MEMORIES, _SKILLS)
    missing = [line + newline for line in wanted if line.split()[0] not in there]
    gap = newline if missing and rows and not rows[-1].endswith(b"\n") else b""
    return b"".join([*rows, gap, *missing])


def update_lines(data: bytes, *, is_filtered: bool) -> bytes:
    """Return *data* with those of our lines that are there as `add_lines` writes them."""
    new = dict.fromkeys((*_EARLIER, _MEMORIES), _FILTERED) if is_filtered else _EARLIER
    rows = data.splitlines(keepends=True)
    return b"".join(new.get(bare, bare) + row[len(bare) :] for row in rows for bare in [row.rstrip(b"\r\n")])


def remove_lines(data: bytes, committed: bytes) -> bytes:
    """Return *data* without our lines, but for those that are *committed*: these belong to everybody."""
    ours = {*LINES, *_EARLIER}.difference(committed.splitlines())
    return b"".join(row for row in data.splitlines(keepends=True) if row.rstrip(b"\r\n") not in ours)
