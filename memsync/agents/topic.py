"""What a session is about, as the numbers of the words of its last prompts: by them it is chosen among what is anchored to one place.

No search runs before a tool, and no prompt is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, Final

from memsync.agents.prompts import find_gist
from memsync.index.query import parse
from memsync.index.terms import term_key
from memsync.index.tokens import EVERYDAY, Tokenizer

if TYPE_CHECKING:
    from memsync.memories.anchored import Match

MOST: Final = 120  # words of the last prompts, the latest first
_WRITTEN: Final = 4_000  # characters of what a call writes


def number_words(prompt: str, before: Sequence[int] = ()) -> list[int]:
    """Return the numbers of the words of *prompt* that are not everyday, then those of the prompts *before*."""
    terms = parse(find_gist(prompt), Tokenizer(), places=False).terms
    return list(dict.fromkeys([*(term_key(term) for term in terms if term not in EVERYDAY), *before]))[:MOST]


def rank_near(matches: Sequence[Match], topic: Collection[int], written: str) -> dict[str, float]:
    """Return by id how much each of *matches* says of the *topic* and of what is *written*: rare words count most, long texts less."""
    if len(matches) < 2:
        return {}
    read = Tokenizer(stop_words=False).record_terms
    asked = {*topic, *number_words(written[-_WRITTEN:])}
    said = {one.entry.id: {*map(term_key, read(one.entry.memory))} for one in matches}
    many = Counter(number for numbers in said.values() for number in numbers & asked)
    return {
        id_: sum(log(1 + len(said) / many[number]) for number in numbers & asked) / sqrt(len(numbers) or 1)
        for id_, numbers in said.items()
    }
