"""Training texts written here: notes and questions of developers and of daily life.

Owns the templates and word lists; everything is drawn from a seeded generator
and words that resembled items of the evaluation suites were taken out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tools.embedder.sources import Text
from tools.embedder.templates import DAILY, DEVELOPER, LISTS, REWORD

NAMES = (
    "Anna Ben Carla David Elena Felix Grace Hugo Irene Jonas Karin Leo Mona Nico Olga Paul Rita Otto "
    "Tara Victor Wendy Yusuf Zoe Priya Chen Diego Fatima Kenji Lars Aisha Tom Julia Mark Emily Peter "
    "Laura Kevin Sophie Daniel Nina Oscar Ruth Simon Clara Ivan Berta Owen Lucy Rahul Ingrid"
).split()
_GROUPS = [[(w, re.compile(rf"\b{re.escape(w)}\b")) for w in group] for group in REWORD]
_SLOT = re.compile(r"\{(\w+?)(\d?)\}")


def fill(template: str, values: dict[str, str], rng: random.Random) -> str:
    """Put one word into each slot; the same slot gets the same word in a pair."""

    def pick(match: re.Match[str]) -> str:
        key = match[0]
        if key not in values:
            choices = NAMES if match[1] == "name" else LISTS[match[1]]
            values[key] = rng.choice([c for c in choices if c not in values.values()] or choices)
        return values[key]

    done = _SLOT.sub(pick, template)
    return done[:1].upper() + done[1:]


def reword(text: str, rng: random.Random, share: float = 0.5) -> str:
    """Replace words by others that mean the same."""
    for group in _GROUPS:
        for word, pattern in group:
            if rng.random() < share and word in text and pattern.search(text):
                other = rng.choice([w for w, _ in group if w != word])
                text = pattern.sub(lambda _: other, text, count=1)  # noqa: B023
                break
    return text


def generate(count: int, seed: int) -> Iterator[Text]:
    """Draw question and statement pairs, half of them dialogue with its speaker."""
    rng = random.Random(seed)
    families = [("generated developer", f) for f in DEVELOPER] + [("generated daily", f) for f in DAILY]
    for i in range(count):
        source, (statements, questions) = families[i % len(families)]
        values: dict[str, str] = {}
        statement = fill(rng.choice(statements), values, rng)
        asked = fill(rng.choice(questions + statements), values, rng)
        asked = reword(asked, rng)
        if source == "generated daily" and rng.random() < 0.5:
            name = values.get("{name}", rng.choice(NAMES))
            statement = f"{name}: " + re.sub(rf"\b{name}\b", "I", statement)
        yield Text(source=source, text=statement, head=asked)
