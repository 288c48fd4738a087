"""What a new text is to an old one: a copy, more of the same, a contradiction, or something else. Pure."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from memsync.dedup.conflicts import find_conflict
from memsync.dedup.likeness import REORDERED, holds_all, is_reordered, is_same, keeps_values, shared
from memsync.dedup.reading import read
from memsync.records import normal_form

__all__ = ["ALIKE", "MERGED", "Decision", "Relation", "Thresholds", "Verdict", "decide", "keeps_values", "on_scale"]

Relation = Literal["duplicate", "contains", "contained", "contradicts", "related", "different"]
Decision = Literal["hash_exact", "auto_reject", "subsumed", "gray", "keep"]

MERGED: Final[frozenset[Decision]] = frozenset({"hash_exact", "auto_reject", "subsumed"})
UNRELATED: Final = 0.6
RELATED: Final = 0.64  # from here on two texts may have to do with each other
ALIKE: Final = 0.76  # from here on they do
_MOST: Final = 0.6  # share of words from which a text may say all that the other says
_MORE: Final = 1.3  # times as many words, and it says more


class Thresholds(NamedTuple):
    """Similarities, 0 (as unrelated texts) to 1 (the same): above *auto_reject* a copy may be merged, above *gray_low* it is doubted."""

    auto_reject: float = 0.98
    gray_low: float = 0.88


DEFAULT: Final = Thresholds()


class Verdict(NamedTuple):
    """What the new text is to the old one (contains: it says all of the old one and more), and what to do about it."""

    relation: Relation
    decision: Decision
    similarity: float
    reason: str


def on_scale(likeness: float) -> float:
    """Put *likeness* (0: as unrelated texts, 1: the same) on the scale of the thresholds, for every embedder.

    Seed 001's 0.98 and 0.88 are cosines of an embedder that gives unrelated texts about UNRELATED.
    """
    return UNRELATED + (1 - UNRELATED) * min(max(likeness, 0.0), 1.0)


def decide(new: str, old: str, similarity: float, *, thresholds: Thresholds = DEFAULT) -> Verdict:
    """Judge *new* against *old*, whose *similarity* nominated it but decides nothing.

    Only `hash_exact`, `auto_reject` and `subsumed` may be merged: then one text says all that the other says.
    """
    if normal_form(new) == normal_form(old):
        return Verdict("duplicate", "hash_exact", 1.0, "the same text is already stored")
    one, other = read(new), read(old)
    if same := is_same(one, other):
        return _judge_copy(*same, thresholds)
    clash = find_conflict(one, other, (new, old))
    if not clash and is_reordered(one, other):
        return _judge_copy(REORDERED, "the same words in another order", thresholds)
    if not clash and holds_all(one, other):
        return Verdict("contains", "subsumed", similarity, "it says all that the stored text says, and more")
    if not clash and holds_all(other, one):
        return Verdict("contained", "subsumed", similarity, "the stored text says all of it, and more")
    return _judge_unmerged(one.content, other.content, similarity, clash, thresholds)


def _judge_copy(level: float, why: str, thresholds: Thresholds) -> Verdict:
    return Verdict("duplicate", "auto_reject" if level >= thresholds.auto_reject else "gray", level, why)


def _judge_unmerged(
    new: tuple[str, ...], old: tuple[str, ...], similarity: float, clash: str, thresholds: Thresholds
) -> Verdict:
    of_new, of_old = shared(new, old), shared(old, new)
    similarity = max(similarity, on_scale((of_new + of_old) / 2))
    if similarity < RELATED:
        return Verdict("different", "keep", similarity, "")
    if clash:
        return Verdict("contradicts", "gray", similarity, clash)
    doubt: Decision = "gray" if similarity >= thresholds.gray_low else "keep"
    if of_old >= _MOST and len(new) > _MORE * len(old):
        return Verdict("contains", doubt, similarity, "it may say all that the stored text says, and more")
    if of_new >= _MOST and len(old) > _MORE * len(new):
        return Verdict("contained", doubt, similarity, "the stored text may say all of it, and more")
    if doubt == "gray" or min(of_new, of_old) >= _MOST:
        return Verdict("duplicate", doubt, similarity, "it may say the same in other words")
    return Verdict("related", "keep", similarity, "about the same thing")
