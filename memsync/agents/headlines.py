"""Headlines: where nothing is sure enough to be given, the best matches in a dozen words each, which the agent may read whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from memsync.agents import context
from memsync.agents.injection import Injection, key_of
from memsync.index.tokens import EVERYDAY, Tokenizer
from memsync.memories.results import Hit, Recall
from memsync.records import short_id
from memsync.safety.guard import quoted
from memsync.store.settings import HEADLINE

MOST: Final = 3
_NEAR: Final = 0.5  # share of the least confidence of the surest that the others need
_WORDS: Final = 12
_CHARACTERS: Final = 120
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_LEAD: Final = "Weak matches, cut short. get_memory or `memsync show ID` reads one whole:"


def add_headlines(
    done: Injection,
    hits: Sequence[Hit],
    found: Recall,
    budget: int,
    shown: Mapping[str, str],
    is_withheld: Callable[[Hit], object],
) -> Injection:
    """Return *done*, which gives nothing, with headlines of the best of *hits*, if any answers likely enough to be read.

    Those that the session was *shown* as they are do not come again.
    """
    near = [hit for hit in hits[:MOST] if hit.confidence >= _NEAR * HEADLINE]
    if not any(hit.confidence >= HEADLINE and _is_about(found, hit) for hit in near):
        return done
    new = [hit for hit in near if shown.get(hit.id) != key_of(hit) and not is_withheld(hit)]
    while new:
        text = context.wrap(
            [_LEAD, *(f"- [{short_id(hit.id)}] {_cut(hit.content, _weigh(found, hit))}" for hit in new)]
        )
        if context.fits(text, budget):
            return done._replace(text=text, headlines=tuple(new))
        new.pop()
    return done


def _is_about(found: Recall, hit: Hit) -> bool:
    """Tell whether *hit* has, in some form, a word of the prompt that is not everyday: "make it shorter" is about nothing."""
    return any(one.by and one.term not in EVERYDAY for one in (found.account(hit.memory) if found.account else ()))


def _weigh(found: Recall, hit: Hit) -> dict[str, float]:
    """Return the words for which *hit* was found, each with what it counts."""
    return {word: one.counts for one in (found.account(hit.memory) if found.account else ()) for word in one.by}


def _cut(text: str, weights: Mapping[str, float]) -> str:
    """Return a dozen words of *text* as they may stand in a context: the first, or where none of them is what it was found for, those of the best sentence."""
    short = _shorten(text)
    if not weights or _say(short, weights):
        return short
    parts = _SENTENCE.split(text)
    best = max(range(len(parts)), key=lambda number: _say(parts[number], weights))
    return f"… {_shorten(' '.join(parts[best:]))}" if _say(parts[best], weights) else short


def _say(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in dict.fromkeys(Tokenizer().terms(text)))


def _shorten(text: str) -> str:
    words = quoted(text).split(" ")
    short = " ".join(words[:_WORDS])
    if len(words) <= _WORDS and len(short) <= _CHARACTERS:
        return short
    return f"{short[:_CHARACTERS].rstrip(' ,;:')} …"
