"""The phrases of phrases.txt, and the letters and signs that stand for others. Data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memsync.poison import reasons

Row = tuple[str, str, str]  # why, what excuses a sentence, and the phrases, one a line


def _read_rows() -> Iterator[tuple[str, Row]]:
    text = Path(__file__).with_name("phrases.txt").read_text("utf-8")
    for section in text.split("\n== ")[1:]:
        head, _, lines = section.rstrip("\n").partition("\n")
        script, why, *excuse = head.split(" ")
        yield script, (getattr(reasons, why), getattr(reasons, excuse[0]) if excuse else "", f"\n{lines}\n")


_ROWS: Final = tuple(_read_rows())
LATIN: Final = tuple(row for script, row in _ROWS if script == "latin")
OTHER: Final = tuple(row for script, row in _ROWS if script == "other")

# Lower-case letters that look like a Latin one, and signs that stand for one.
LOOKALIKES: Final = {
    "a": "аαɑᴀ", "b": "ьʙ", "c": "сϲᴄ", "d": "ԁժᴅ", "e": "еєҽᴇ", "f": "ғք", "g": "ɡց", "h": "һհ", "i": "іιıɩӏ", "j": "јյᴊ",
    "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пոηɴ", "o": "оοօσᴏ", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ", "s": "ѕꜱ", "t": "тτᴛ",
    "u": "υսᴜ", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ",
}  # fmt: skip
LEET: Final = ("013457@$!", "oieastasi")
