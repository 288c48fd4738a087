"""The shapes of issuers' tokens, read from issuers.tsv: a line for each, in a notation that needs no regular expressions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple


class Rule(NamedTuple):
    """One line of issuers.tsv. One of `hints` is in every text that fits; without hints any text may."""

    name: str
    shape: str
    hints: tuple[str, ...]

    def pattern(self) -> re.Pattern[str]:
        """Return the regular expression for a token that stands alone."""
        return _compile(self.shape)


_CLASSES: Final = {
    "a": "[A-Za-z0-9]", "w": "[A-Za-z0-9_-]", "h": "[a-f0-9]", "H": "[A-F0-9]", "x": "[A-Fa-f0-9]", "d": "[0-9]",
    "l": "[a-z]", "u": "[A-Z]", "n": "[a-z0-9]", "N": "[A-Z0-9]", "b": "[A-Za-z0-9+/]", "B": "[A-Za-z0-9+/]", "2": "[A-Z2-7]",
}  # fmt: skip
_UUID: Final = "[A-Fa-f0-9]{8}(?:-[A-Fa-f0-9]{4}){3}-[A-Fa-f0-9]{12}"
SHORTEST: Final = 18  # characters of a token
_VARIES: Final = re.compile(r"\d|[a-z][A-Z]")
_MOST: Final = 400  # characters of a part without an upper bound
_PART: Final = re.compile(
    r"\{(?:(U)|([a-zA-Z2])(\d+)(?:(\+)|-(\d+))?)\}|(\[[^\]]+\])|([(|])|(\)\??|\?)|([^{}\[\]()|?]+)"
)


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules, in the order of the file."""
    text = Path(__file__).with_name("issuers.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Rule(name, shape, _hints(shape)) for name, shape, _ in rows)


def may_hold_token(word: str) -> bool:
    """Tell whether *word* is long enough for an issuer's token, and no plain word."""
    return len(word) >= SHORTEST and _VARIES.search(word) is not None


@cache
def hinted() -> tuple[tuple[str, Rule], ...]:
    """Return each rule beside each of its hints, or beside an empty one."""
    return tuple((hint, rule) for rule in rules() for hint in rule.hints or ("",))


def _hints(shape: str) -> tuple[str, ...]:
    """Return the longest text that every token of *shape* holds; where that is short, its ways to begin."""
    outside = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)\??|\{[^}]*\}\??|\[[^\]]*\]", " ", shape)
    longest = max(outside.split(" "), key=len, default="")
    if first := re.match(r"\(([^(){}\[\]]+)\)", shape):
        return tuple(first[1].split("|"))
    return (longest,) if len(longest) > 1 else ()


@cache
def _compile(shape: str) -> re.Pattern[str]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{expression(shape)})(?![A-Za-z0-9])")


def expression(shape: str) -> str:
    """Return *shape* as a regular expression."""
    return "".join(map(_expression, _PART.finditer(shape)))


def _expression(part: re.Match[str]) -> str:
    uuid, letter, least, more, most, one_of, opening, closing, literal = part.groups()
    if uuid:
        return _UUID
    if letter:
        size = f"{least},{_MOST}" if more else f"{least},{most}" if most else least
        return f"{_CLASSES[letter]}{{{size}}}" + ("={0,2}" if letter == "B" else "")
    return one_of or ({"(": "(?:", "|": "|"}[opening] if opening else closing or re.escape(literal))
