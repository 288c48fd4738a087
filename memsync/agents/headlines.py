"""Headlines: where nothing is sure enough to be given, the best matches in a dozen words each, which the agent may read whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from memsync.agents import context
from memsync.agents.injection import Injection, key_of
from memsync.index.tokens import EVERYDAY
from memsync.memories.results import Hit, Recall
from memsync.poison.guard import quoted
from memsync.records import short_id
from memsync.store.settings import HEADLINE

MOST: Final = 3
_NEAR: Final = 0.5  # share of the least confidence of the surest that the others need
_WORDS: Final = 12
_CHARACTERS: Final = 120
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
        text = context.wrap([_LEAD, *(f"- [{short_id(hit.id)}] {cut(hit.content)}" for hit in new)])
        if context.fits(text, budget):
            return done._replace(text=text, headlines=tuple(new))
        new.pop()
    return done


def _is_about(found: Recall, hit: Hit) -> bool:
    """Tell whether *hit* has, in some form, a word of the prompt that is not everyday: "make it shorter" is about nothing."""
    return any(one.by and one.term not in EVERYDAY for one in (found.account(hit.memory) if found.account else ()))


def cut(text: str) -> str:
    """Return the first dozen words of *text* as they may stand in a context."""
    words = quoted(text).split(" ")
    short = " ".join(words[:_WORDS])
    if len(words) <= _WORDS and len(short) <= _CHARACTERS:
        return short
    return f"{short[:_CHARACTERS].rstrip(' ,;:')} …"
