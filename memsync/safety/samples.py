"""Made-up tokens of the shapes in issuers.tsv: to try an allow-list with, and the rules."""

from __future__ import annotations

import random
import re
import string
import uuid
from typing import Final

_ALNUM: Final = string.ascii_letters + string.digits
_LETTERS: Final = {
    "a": _ALNUM, "w": _ALNUM + "-_", "h": "0123456789abcdef", "H": "0123456789ABCDEF", "x": "0123456789abcdef",
    "d": string.digits, "l": string.ascii_lowercase, "u": string.ascii_uppercase, "n": string.ascii_lowercase + string.digits,
    "N": string.ascii_uppercase + string.digits, "b": _ALNUM + "+/", "B": _ALNUM + "+/", "2": string.ascii_uppercase + "234567",
}  # fmt: skip
_INNER: Final = re.compile(r"\(([^()]*)\)\??")
_PART: Final = re.compile(r"\{(?:U|([a-zA-Z2])(\d+)[^}]*)\}\??|\[([^\]])[^\]]*\]\??|([^{\[?])|\?")


def sample(shape: str, seed: int) -> str:
    """Return a token of *shape*; the same one for the same *seed*."""
    chance = random.Random(f"{shape} {seed}")  # noqa: S311 - a sample, not a secret

    def choose(group: re.Match[str]) -> str:
        chosen: str = chance.choice(group[1].split("|"))
        return chosen

    while (plain := _INNER.sub(choose, shape)) != shape:
        shape = plain

    def draw(part: re.Match[str]) -> str:
        if part[1]:
            value = "".join(chance.choices(_LETTERS[part[1]], k=int(part[2])))
            return value[:-1] + chance.choice(_ALNUM) if part[1] == "w" else value
        return part[3] or part[4] or ("" if part[0] == "?" else str(uuid.UUID(int=chance.getrandbits(128), version=4)))

    return _PART.sub(draw, shape)


def random_values() -> list[str]:
    """Return values as generators of keys and passwords make them."""
    chance = random.Random(1)  # noqa: S311
    alphabets = (*_LETTERS.values(), _ALNUM + "!#*+-_.")
    return [
        "".join(chance.choices(letters, k=size)) for letters in alphabets for size in (16, 32, 40) if len(letters) > 10
    ]
