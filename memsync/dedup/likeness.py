"""Whether one text says what another says: the same words in the same order, and nothing that turns it round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memsync.dedup.reading import Reading


def is_same(one: Reading, other: Reading) -> str:
    """Say why the two texts are copies; "" if they are not."""
    if one.words and one.words == other.words:
        return "the same words in the same order"
    return ""


def holds_all(rich: Reading, poor: Reading) -> bool:
    """Tell whether *rich* has every word of *poor* in its order, and more."""
    words = poor.words
    return len(poor.content) >= 3 and len(rich.words) > len(words) and _in_order(words, rich.words)


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


def shared(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of *one*'s words that *other* has too, 0 to 1."""
    return (Counter(one) & Counter(other)).total() / len(one) if one else 0.0
