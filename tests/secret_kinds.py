"""Made-up texts of many kinds, with secrets in them and without, and the halves that rules were written with and without.

The kinds are in secret_kinds.txt and innocent_kinds.txt. Each was drawn into a
half before a rule was written: the open one was looked at, the other one kept back.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_ALNUM: Final = string.ascii_letters + string.digits
_ALPHABETS: Final = {
    "a": _ALNUM, "w": _ALNUM + "-_", "h": "0123456789abcdef", "H": "0123456789ABCDEF", "d": string.digits,
    "l": string.ascii_lowercase, "u": string.ascii_uppercase, "n": string.ascii_lowercase + string.digits,
    "N": string.ascii_uppercase + string.digits, "b": _ALNUM + "+/",
}  # fmt: skip
_HOLE: Final = re.compile(r"\{(?:([awhHdlunNbB])(\d+)|([Upq]))\}")
_WORDS: Final = (
    "maple River your Falcon sample tiger Insert copper fake Window harbor test Quartz my winter Example".split()
)
HALVES: Final = ("open", "kept back")


def _fill(hole: re.Match[str], chance: random.Random) -> str:
    letter, size = hole[1] or hole[3], int(hole[2] or 0)
    if letter == "U":
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if letter in "pq":
        return _password(chance, "!#*+%^~?=@$(" if letter == "p" else "!*+._-")
    if letter == "B":
        return base64.b64encode(chance.randbytes(size)).decode()
    return "".join(chance.choices(_ALPHABETS[letter], k=size))


def _password(chance: random.Random, signs: str) -> str:
    """Return a password as people and generators make them; some hold a word that placeholders hold too."""
    draw, sign = chance.choice, chance.choice(signs)
    kinds = (
        lambda: draw(_WORDS).capitalize() + sign + draw(_WORDS) + str(chance.randrange(10, 9999)),
        lambda: "".join(chance.choices(_ALNUM, k=8)) + sign + draw(string.digits) + draw(string.ascii_uppercase) + draw("kqz"),
        lambda: draw(string.ascii_uppercase) + "".join(chance.choices(string.ascii_lowercase, k=6)) + draw(string.digits) + sign + draw(string.digits),
        lambda: "".join(chance.choices(_ALNUM + signs, k=14)) + draw(string.digits) + draw("Kx"),
    )  # fmt: skip
    return draw(kinds)()


def _kinds(name: str) -> Mapping[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if line.startswith("= "):
            kinds[line[2:]] = shapes = []
        elif line and not line.startswith("#"):
            shapes.append(line)
    return kinds


SECRETS: Final = _kinds("secret_kinds.txt")
INNOCENT: Final = _kinds("innocent_kinds.txt")


def half_of(kind: str, kinds: Mapping[str, list[str]]) -> str:
    """Return the half that *kind* was drawn into; of innocent lines, whether they were written after the rules."""
    if kinds is INNOCENT:
        return HALVES[kind.startswith("later: ")]
    return HALVES[random.Random(f"{kind} 4711").random() < 0.5]


def texts(kinds: Mapping[str, list[str]], half: str, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield each text of one *half*, with its kind; the same ones for the same *seed*."""
    for kind, shapes in kinds.items():
        for number, shape in enumerate(shapes):
            if half_of(kind, kinds) == half:
                chance = random.Random(f"{kind} {number} {seed}")
                plain = shape.replace("\\n", "\n")
                if kinds is SECRETS:
                    plain = re.sub(r"(?<=\S)[|]|[|](?=\S)", "", plain)
                yield kind, _HOLE.sub(lambda hole, chance=chance: _fill(hole, chance), plain)
