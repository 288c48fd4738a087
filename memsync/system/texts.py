"""Texts from outside: read as UTF-8, shown on a terminal and in files of ours without steering anything; what is kept of their pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from functools import cache
from typing import Final, Generic, TypeVar

# What nobody sees, as the inside of a class of letters: everything that Unicode calls default-ignorable (a test
# holds it), other controls, bidi marks and blank letters. U+FE0F stays: it only colours emoji.
INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
# Scripts whose letters join, and emoji: between two of one kind a single joiner is spelling, not hidden text.
_JOINING: Final = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17d3\u1820-\u18aa"
_EMOJI: Final = "\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_STEERING: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
K = TypeVar("K", bound=Sized)
T = TypeVar("T")

_PIECES: Final = 65_536  # pieces
_LONGEST: Final = 256  # characters of one that is kept


def read_utf8(data: bytes, name: str, error: type[Exception], do: str = "save it as UTF-8") -> str:
    """Return the text of *data*, without a mark of its order of bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        raise error(f"{name}: not UTF-8 at byte {found.start + 1}; {do}") from None


def printable(text: str) -> str:
    """Return *text* with control and invisible characters made visible: a memory must not steer a terminal."""
    if text.isprintable():
        return text
    from unicodedata import category  # hooks import this module, and show nothing on a terminal

    text = text.replace("\t", "    ")
    spelled = {found.start() for found in re.finditer(_joiner(), text)}
    return "".join(
        letter if letter == "\n" or category(letter) not in _STEERING or place in spelled else f"\\u{ord(letter):04x}"
        for place, letter in enumerate(text)
    )


def drop_invisible(text: str) -> str:
    """Return *text* without control, bidi and invisible characters, but for joiners where a language or an emoji needs them."""
    return _invisible_pattern().sub("", text)


@cache
def _invisible_pattern() -> re.Pattern[str]:
    return re.compile(f"(?!{_joiner()})[{INVISIBLE}]")


def _joiner() -> str:
    """Return the pattern of a joiner that spells: see RFC 5892, appendix A (CONTEXTJ), and UTS #51, emoji ZWJ sequences."""
    return f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])"


def escape_json(text: str) -> str:
    """Return the JSON *text* with its control and invisible characters as escapes: the same values, and nothing that steers a terminal."""
    from unicodedata import category

    steering = [letter for letter in set(text) if letter != "\n" and category(letter) in _STEERING]
    return text.translate({ord(letter): _escape(ord(letter)) for letter in steering})


def _escape(code: int) -> str:
    units = [code] if code < 0x10000 else [0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF)]
    return "".join(f"\\u{unit:04x}" for unit in units)


def count(number: int, noun: str) -> str:
    """Return *number* with the English *noun* in the form that goes with it: "1 memory", "2,000 guesses"."""
    if number == 1:
        return f"1 {noun}"
    is_y = noun.endswith("y") and noun[-2] not in "aeiou"
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun[:-1]}ies" if is_y else f"{number:,} {noun}{ending}"


def one_line(text: str, most: int = 0) -> str:
    """Return *text* printable and on one line, cut before *most* characters if they are given: between words, where one ends in the second half."""
    line = printable(" ".join(text.split()))
    if not 0 < most < len(line):
        return line
    words, _, _ = line[: most + 1].rpartition(" ")
    return f"{words if len(words) > most // 2 else line[:most]} …"


class Memo(dict[K, T], Generic[K, T]):
    """What *make* finds in each piece, found once: `map(memo.__getitem__, pieces)` asks no Python for what is known.

    A piece is a text or several. Of more than *most* all are forgotten, and a long one is not kept.
    """

    def __init__(self, make: Callable[[K], T], most: int = _PIECES) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, piece: K) -> T:
        found = self._make(piece)
        if len(piece) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[piece] = found
        return found
