"""How many distinct facts a list of memories holds, where somebody has named those of the relevant ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

FIGURES: Final = ("facts", "repeats", "off", "fact recall")
_FIRST: Final = 5


def count_facts(
    shown: Sequence[str], facts: Mapping[str, Collection[str]], rels: Mapping[str, int]
) -> dict[str, float | None]:
    """Return the distinct facts of the list, the shares of it that only repeat or are off, and its share of the facts.

    An empty list has no shares; of more than five facts five are enough.
    """
    seen: set[str] = set()
    repeats = 0
    for id_ in shown:
        own = set(facts.get(id_, ()))
        repeats += bool(own) and own <= seen
        seen |= own
    off = sum(id_ not in facts and rels.get(id_, 0) < 1 for id_ in shown)
    first = {fact for id_ in shown[:_FIRST] for fact in facts.get(id_, ())}
    exist = {fact for own in facts.values() for fact in own}
    shares = (repeats / len(shown), off / len(shown)) if shown else (None, None)
    return dict(zip(FIGURES, (len(seen), *shares, min(1.0, len(first) / max(1, min(_FIRST, len(exist))))), strict=True))
