"""Texts from outside: read as UTF-8, or shown on a terminal and in files of ours without steering anything."""

from __future__ import annotations

import unicodedata
from typing import Final

_STEERING: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def read_utf8(data: bytes, name: str, error: type[Exception], do: str = "save it as UTF-8") -> str:
    """Return the text of *data*, without a mark of its order of bytes.

    Raises:
        error: it is not UTF-8; the message has *name*, the place and what to *do*.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        raise error(f"{name}: not UTF-8 at byte {found.start + 1}; {do}") from None


def printable(text: str) -> str:
    """Return *text* with control and invisible characters made visible: a memory must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter == "\n" or unicodedata.category(letter) not in _STEERING else f"\\u{ord(letter):04x}"
        for letter in text.replace("\t", "    ")
    )


def one_line(text: str, most: int = 0) -> str:
    """Return *text* printable and on one line, cut after *most* characters if they are given."""
    line = printable(" ".join(text.split()))
    return f"{line[:most]} …" if 0 < most < len(line) else line
