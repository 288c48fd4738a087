"""Our lines in a .gitattributes: how git merges, shows and checks out what is ours. Works on bytes."""

from __future__ import annotations

from typing import Final

from memsync.store.places import MEMORIES, SKILLS, STORE_DIR

# LF on every platform, so that a clone on Windows has the same bytes; and never folded away in a review.
_MEMORIES: Final = f"{STORE_DIR}/{MEMORIES} merge=memsync diff=memsync text eol=lf -linguist-generated".encode()
_SKILLS: Final = f"{SKILLS}/*/SKILL.md merge=memsync-skill".encode()
LINES: Final = (_MEMORIES, _SKILLS)
_EARLIER: Final = {f"{STORE_DIR}/{MEMORIES} text eol=lf".encode(): _MEMORIES}  # what older versions wrote


def add_lines(data: bytes, newline: bytes = b"\n") -> bytes:
    """Return *data* with our lines, ended by *newline*; a user's own line about the same files stays, and ours is left out."""
    rows = data.splitlines(keepends=True)
    rows = [_EARLIER.get(bare, bare) + row[len(bare) :] for row in rows for bare in [row.rstrip(b"\r\n")]]
    there = {row.split()[0] for row in rows if row.split()}
    missing = [line + newline for line in LINES if line.split()[0] not in there]
    gap = newline if missing and rows and not rows[-1].endswith(b"\n") else b""
    return b"".join([*rows, gap, *missing])


def remove_lines(data: bytes, committed: bytes) -> bytes:
    """Return *data* without our lines, but for those that are *committed*: these belong to everybody."""
    ours = {*LINES, *_EARLIER}.difference(committed.splitlines())
    return b"".join(row for row in data.splitlines(keepends=True) if row.rstrip(b"\r\n") not in ours)
