"""What a new text is to an old one: a copy, more of the same, a contradiction, or something else. Pure."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from memsync.dedup.conflicts import conflict
from memsync.dedup.likeness import holds_all, is_same, shared
from memsync.dedup.reading import read
from memsync.records import normal_form

Relation = Literal["duplicate", "contains", "contained", "contradicts", "related", "different"]
Decision = Literal["hash_exact", "auto_reject", "subsumed", "gray", "keep"]


class Thresholds(NamedTuple):
    """Similarities, 0 (as unrelated texts) to 1 (the same): above *auto_reject* a copy may be merged, above *gray_low* it is doubted."""

    auto_reject: float = 0.6
    gray_low: float = 0.45


DEFAULT: Final = Thresholds()


class Verdict(NamedTuple):
    """What the new text is to the old one (contains: it says all of the old one and more), and what to do about it."""

    relation: Relation
    decision: Decision
    similarity: float
    reason: str


def decide(new: str, old: str, similarity: float, *, thresholds: Thresholds = DEFAULT) -> Verdict:
    """Judge *new* against *old*, whose *similarity* nominated it but decides nothing.

    Only `hash_exact`, `auto_reject` and `subsumed` may be merged: then one text says all that the other says.
    """
    if normal_form(new) == normal_form(old):
        return Verdict("duplicate", "hash_exact", 1.0, "the same text")
    one, other = read(new), read(old)
    if why := is_same(one, other):
        return Verdict("duplicate", "auto_reject" if similarity >= thresholds.auto_reject else "gray", similarity, why)
    clash = conflict(one, other)
    if not clash and holds_all(one, other):
        return Verdict("contains", "subsumed", similarity, "it says all that the stored text says, and more")
    if not clash and holds_all(other, one):
        return Verdict("contained", "subsumed", similarity, "the stored text says all of it, and more")
    return _unmerged(one.content, other.content, similarity, clash, thresholds)


def _unmerged(
    new: tuple[str, ...], old: tuple[str, ...], similarity: float, clash: str, thresholds: Thresholds
) -> Verdict:
    of_new, of_old = shared(new, old), shared(old, new)
    near = max(similarity, of_new, of_old)
    if near < thresholds.gray_low:
        return Verdict("different", "keep", similarity, "")
    if clash:
        return Verdict("contradicts", "gray", similarity, clash)
    if of_old >= 0.6 and len(new) > 1.3 * len(old):
        return Verdict("contains", "gray", similarity, "it may say all that the stored text says, and more")
    if of_new >= 0.6 and len(old) > 1.3 * len(new):
        return Verdict("contained", "gray", similarity, "the stored text may say all of it, and more")
    if similarity >= thresholds.auto_reject or min(of_new, of_old) >= 0.6:
        return Verdict("duplicate", "gray", similarity, "it may say the same in other words")
    return Verdict("related", "keep", similarity, "about the same thing")
