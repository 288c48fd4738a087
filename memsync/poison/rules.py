"""The rules about texts that want to steer an agent, from shapes.tsv and phrases.txt, and letters that stand for others. Data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple


class Shape(NamedTuple):
    """One row of shapes.tsv, which says what its columns mean."""

    why: str
    words: tuple[str, ...]
    excuse: str
    pattern: str


class Phrases(NamedTuple):
    """One section of phrases.txt: why, what excuses a sentence, and the phrases, one a line."""

    why: str
    excuse: str
    lines: str


def _read_shapes() -> tuple[dict[str, str], list[Shape]]:
    """Return what each name stands for, and the shapes."""
    names: dict[str, str] = {}
    shapes = []
    for row in Path(__file__).with_name("shapes.tsv").read_text("utf-8").splitlines():
        if not row.startswith("#"):
            name, *words, pattern = re.sub(r"\{([A-Z]+)\}", lambda found: names[found[1]], row).split("\t")
            if words:
                shapes.append(Shape(names[name], tuple(words[0].split()), words[1], pattern))
            else:
                names[name] = pattern
    return names, shapes


def _read_phrases(script: str) -> tuple[Phrases, ...]:
    """Return the phrases in the letters of *script*, "latin" or "other"."""
    sections = Path(__file__).with_name("phrases.txt").read_text("utf-8").split("\n== ")[1:]
    found = []
    for head, _, lines in (section.partition("\n") for section in sections):
        letters, why, *excuse = head.split()
        if letters == script:
            found.append(Phrases(_NAMES[why], _NAMES[excuse[0]] if excuse else "", lines))
    return tuple(found)


_NAMES, _SHAPES = _read_shapes()
SEND: Final = _NAMES["SEND"]
TAG: Final = _NAMES["TAG"]
SHAPES: Final = tuple(shape for shape in _SHAPES if shape.why != TAG)
TAGS: Final = tuple(shape for shape in _SHAPES if shape.why == TAG)
LATIN: Final = _read_phrases("latin")
OTHER: Final = _read_phrases("other")

# Lower-case letters that look like a Latin one, and signs that stand for one.
LOOKALIKES: Final = {
    "a": "аαɑᴀ", "b": "ьʙ", "c": "сϲᴄ", "d": "ԁժᴅ", "e": "еєҽᴇ", "f": "ғք", "g": "ɡց", "h": "һհ", "i": "іιıɩӏ", "j": "јյᴊ",
    "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пոηɴ", "o": "оοօσᴏ", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ", "s": "ѕꜱ", "t": "тτᴛ",
    "u": "υսᴜ", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ",
}  # fmt: skip
LEET: Final = ("013457@$!", "oieastasi")
