"""Whether one text says what another says: the same words in the same order, and nothing that turns it round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from memsync.dedup.reading import Reading, read

IN_ORDER: Final = 0.99  # as sure as one can be without the very same text
REORDERED: Final = 0.98


def is_same(one: Reading, other: Reading) -> tuple[float, str] | None:
    """Say how sure it is that the two texts are copies (0-1), and why; None if they are not."""
    if one.words and one.words == other.words:
        return IN_ORDER, "the same words in the same order"
    return None


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


def keeps_values(kept: str, dropped: str) -> bool:
    """Tell whether *kept* has every number, path and identifier of *dropped*."""
    here, there = ({token.form for token in read(text).tokens if token.kind == "value"} for text in (kept, dropped))
    return there <= here
