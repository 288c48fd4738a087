"""The markers that git puts around a conflict: telling one, and writing a conflict."""

from __future__ import annotations

import re
from typing import Final

# git's default marker has 7 characters; nested merges write longer ones.
SIZE: Final = 7
_MARKER: Final = re.compile(rb"(<{7,}|\|{7,}|={7,}|>{7,})(?: |\r*$)")


def read_marker(raw: bytes) -> tuple[str, int] | None:
    """Return the kind of the conflict marker *raw*, a line, one of `<|=>`, and its size; None if it is not one."""
    found = _MARKER.match(raw)
    return (found[1][:1].decode(), len(found[1])) if found else None


def spell_conflict(
    ours: bytes, theirs: bytes, *, size: int = SIZE, labels: tuple[bytes, bytes] = (b"ours", b"theirs")
) -> bytes:
    """Return *ours* and *theirs*, whole lines, between markers of *size* letters."""
    begin, middle, end = (letter * size for letter in (b"<", b"=", b">"))
    return b"%s %s\n%s%s\n%s%s %s\n" % (begin, labels[0], ours, middle, theirs, end, labels[1])
