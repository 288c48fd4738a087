"""What a new text is to an old one: a copy, more of the same, another value, a contradiction, or something else. Pure."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from memsync.index.conflicts import find_conflict, find_negation, find_swapped_clause
from memsync.index.contradictions import SWAPPED, are_of_one_subject, find_contradiction, find_differences, is_one_frame
from memsync.index.likeness import REORDERED, holds_all, is_reworded, is_same, shared
from memsync.index.statements import Reading, read
from memsync.records import are_one_form

Relation = Literal["duplicate", "contains", "contained", "differs", "contradicts", "related", "different"]
Decision = Literal["hash_exact", "auto_reject", "subsumed", "gray", "keep"]

MERGED: Final[frozenset[Decision]] = frozenset({"hash_exact", "auto_reject", "subsumed"})
APART: Final[frozenset[Relation]] = frozenset({"differs", "contradicts"})  # neither text may stand for the other
UNRELATED: Final = 0.6
RELATED: Final = 0.64  # from here on two texts may have to do with each other
OPPOSED: Final = 0.7  # from here on they may contradict each other
ALIKE: Final = 0.76  # from here on they do
_MOST: Final = 0.6  # share of words from which a text may say all that the other says
_MORE: Final = 1.3  # times as many words, and it says more
_SHORT: Final = (
    12  # words of content up to which a text is one statement, where each doubt counts; in a longer one only values
)


class Thresholds(NamedTuple):
    """Similarities, 0 (as unrelated texts) to 1 (the same): above *auto_reject* a copy may be merged, above *gray_low* it is doubted."""

    auto_reject: float = 0.98
    gray_low: float = 0.88


DEFAULT: Final = Thresholds()


class Verdict(NamedTuple):
    """What the new text is to the old one (contains: it says all of the old one and more), and what to do about it.

    `may_replace`: it says another thing of the same subject, so that the newer of the two may be the one that is true.
    """

    relation: Relation
    decision: Decision
    similarity: float
    reason: str
    may_replace: bool = False


def on_scale(likeness: float) -> float:
    """Put *likeness* (0: as unrelated texts, 1: the same) on the scale of the thresholds, for every embedder.

    Seed 001's 0.98 and 0.88 are cosines of an embedder that gives unrelated texts about UNRELATED.
    """
    return UNRELATED + (1 - UNRELATED) * min(max(likeness, 0.0), 1.0)


def decide(new: str, old: str, similarity: float, *, thresholds: Thresholds = DEFAULT) -> Verdict:
    """Judge *new* against *old*, whose *similarity* nominated it but decides nothing.

    Only `hash_exact`, `auto_reject` and `subsumed` may be merged: then one text says all that the other says.
    """
    if are_one_form(new, old):
        return Verdict("duplicate", "hash_exact", 1.0, "the same text is already stored")
    one, other = read(new), read(old)
    if same := is_same(one, other):
        return _judge_copy(*same, thresholds)
    shares = shared(one, other)
    close = max(similarity, on_scale(sum(shares) / 2))
    sure = _judge_sure(one, other, close, (new, old), thresholds)
    return sure or _judge_unmerged(one, other, close, shares, (new, old), thresholds)


def may_replace(new: str, old: str) -> bool:
    """Tell whether `decide` says so of texts as near as can be, which takes a part of its time: most need no name for what they are."""
    one, other = read(new), read(old)
    if are_one_form(new, old) or is_same(one, other):
        return False
    if sure := _judge_sure(one, other, 1.0, (new, old), DEFAULT):
        return sure.may_replace
    if not _are_short(one, other, shares := shared(one, other)):
        return False
    return _judge_unmerged(one, other, 1.0, shares, (new, old), DEFAULT).may_replace


def may_merge(new: str, old: str) -> bool:
    """Tell whether `decide` may come to a merge, which takes a part of its time; True if it does."""
    if are_one_form(new, old):
        return True
    one, other = read(new), read(old)
    return holds_all(one, other) or holds_all(other, one) or bool(is_same(one, other)) or is_reworded(one, other)


def find_doubt(new: str, old: str) -> str:
    """Say why neither text may stand for the other; "" if one may, or if nothing speaks against it.

    A doubt holds back a merge or a fold; only what is surer is told as a contradiction.
    """
    one, other = read(new), read(old)
    return "" if is_same(one, other) else _find_doubt(one, other, (new, old))


def _judge_copy(level: float, why: str, thresholds: Thresholds) -> Verdict:
    return Verdict("duplicate", "auto_reject" if level >= thresholds.auto_reject else "gray", level, why)


def _judge_sure(
    one: Reading, other: Reading, close: float, texts: tuple[str, str], thresholds: Thresholds
) -> Verdict | None:
    """Return what is sure: a contradiction, a merge or another value; None where words alone are left to compare."""
    if close >= OPPOSED and (clash := find_contradiction(one, other, texts, close)):
        return Verdict("contradicts", "gray", close, clash, may_replace=True)
    if merged := _judge_merge(one, other, close, texts, thresholds):
        return merged
    if differences := find_differences(one, other):
        denied = find_negation(one, other) or find_negation(other, one)  # then both may be true
        what = ", ".join(f"{each.old} / {each.new}" for each in differences)
        is_one_subject = not denied and are_of_one_subject(differences)
        return Verdict("differs", "keep", close, denied or f"differs in: {what}", is_one_subject)
    return None


def _judge_merge(
    one: Reading, other: Reading, close: float, texts: tuple[str, str], thresholds: Thresholds
) -> Verdict | None:
    """Return what may be merged; None where something would be lost, or where a guard has its doubts."""
    if is_reworded(one, other):
        merged = _judge_copy(REORDERED, "the same words in another order", thresholds)
    elif holds_all(one, other):
        merged = Verdict("contains", "subsumed", close, "it says all that the stored text says, and more")
    elif holds_all(other, one):
        merged = Verdict("contained", "subsumed", close, "the stored text says all of it, and more")
    else:
        return None
    return None if _find_doubt(one, other, texts) else merged


def _judge_unmerged(
    one: Reading,
    other: Reading,
    close: float,
    shares: tuple[float, float],
    texts: tuple[str, str],
    thresholds: Thresholds,
) -> Verdict:
    if close < RELATED:
        return Verdict("different", "keep", close, "")
    relation, reason = _guess_relation(one, other, shares, is_gray=close >= thresholds.gray_low)
    if relation != "related" and (doubt := _find_doubt(one, other, texts)):
        is_short = doubt != SWAPPED and _are_short(one, other, shares)
        if min(shares) >= _MOST and (any(map(str.isdigit, doubt)) or (is_short and is_one_frame(one, other))):
            return Verdict("differs", "keep", close, doubt, is_short)
        return Verdict("related", "keep", close, f"about the same thing, but {doubt}", is_short)
    return Verdict(
        relation, "gray" if relation != "related" and close >= thresholds.gray_low else "keep", close, reason
    )


def _are_short(one: Reading, other: Reading, shares: tuple[float, float]) -> bool:
    """Tell whether both are one statement each, and most of one is in the other."""
    return max(len(one.content), len(other.content)) <= _SHORT and max(shares) >= _MOST


def _guess_relation(new: Reading, old: Reading, shares: tuple[float, float], *, is_gray: bool) -> tuple[Relation, str]:
    of_new, of_old = shares
    if of_old >= _MOST and len(new.content) > _MORE * len(old.content):
        return "contains", "it may say all that the stored text says, and more"
    if of_new >= _MOST and len(old.content) > _MORE * len(new.content):
        return "contained", "the stored text may say all of it, and more"
    if is_gray or min(of_new, of_old) >= _MOST:
        return "duplicate", "it may say the same in other words"
    return "related", "about the same thing"


def _find_doubt(one: Reading, other: Reading, texts: tuple[str, str]) -> str:
    """Say why two texts may not stand for each other, though that is not sure enough to tell a contradiction."""
    if find_swapped_clause(one, other):
        return SWAPPED
    return find_conflict(one, other, texts)
