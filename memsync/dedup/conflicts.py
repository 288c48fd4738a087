"""What makes two texts on one subject disagree: negation, opposites, values, order."""

from __future__ import annotations

from collections import Counter

from memsync.dedup.lexicon import OPPOSITES
from memsync.dedup.reading import Reading


def conflict(new: Reading, old: Reading) -> str:
    """Say what the two texts disagree in; "" if nothing was found."""
    return _negation(new, old) or _opposite(new, old) or _values(new, old)


def _negation(new: Reading, old: Reading) -> str:
    here, there = (Counter(token.form for token in reading.tokens if token.kind == "not") for reading in (new, old))
    if here.total() != there.total():
        word = next(iter((here - there) or (there - here)))
        return f"only one of them says {word!r}"
    return ""


def _opposite(new: Reading, old: Reading) -> str:
    here, there = ({token.raw for token in reading.tokens} for reading in (new, old))
    for word in sorted(here - there):
        if other := OPPOSITES.get(word, frozenset()) & (there - here):
            return f"{word!r} against {min(other)!r}"
    return ""


def _values(new: Reading, old: Reading) -> str:
    here, there = ({token.form for token in reading.tokens if token.kind == "value"} for reading in (new, old))
    if (mine := here - there) and (theirs := there - here):
        return f"{min(mine)!r} against {min(theirs)!r}"
    return ""
