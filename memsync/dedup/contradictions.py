"""What two texts contradict each other in: another value of the same slot, a denial, a change, roles swapped.

Stricter than `find_conflict`, which holds back a merge: what is told must be probably true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

from memsync.dedup.conflicts import BESIDE, CONDITIONS, are_alike, find_change, find_negation, find_opposite
from memsync.dedup.lexicon import MODALS
from memsync.dedup.likeness import shared
from memsync.dedup.reading import CONTENT, Reading, Token, split_clauses
from memsync.dedup.swaps import find_swap

SWAPPED: Final = "the same words in other roles, or in another order"
_BRIEF: Final = 14  # words of content of a text that only tells of a change
_PLAIN: Final = 20  # words of content of a text that a mere "now" changes
_SHORT: Final = 16  # words of content up to which a text says one thing
_MANY: Final = 200  # words of content from which a text says too much to be set right by another
_NEAR: Final = 0.88  # likeness from which two long texts are compared
_NEARLY: Final = 0.7  # share of words from which another name in one place is another value, and no other subject
_ONE_THING: Final = 30  # words of content up to which a change of the subject changes the whole text
_SURELY: Final = 0.8  # likeness from which a change is told to a longer one
_WEAK: Final = re.compile(
    r"'(?:now|nowadays|changed|deprecated|upgraded|bumped|previously|formerly|used to|dropped|lifted|jetzt|maintenant|ahora)'"
)  # who tells of these may correct nothing: a number must have changed too
_UNDONE: Final = re.compile(
    r"\b(?:be|not)(?: \w+){0,3} (?:replaced|moved|removed|retired|renamed|dropped|changed|rewritten)\b"
)
_ALIKE: Final = 0.76  # likeness from which a text may tell of a change in what it names last
_AGREE_SHORT: Final = 0.5  # share of equal words from which two statements are about the same
_AGREE_LONG: Final = 0.75  # in long texts, where every other negation is about something else
_SHARED: Final = 2  # words that two statements on one subject have in common, in long texts one more
_HYPOTHETIC: Final = CONDITIONS | frozenset(
    {"if", "when", "whenever", "unless", "until", "wenn", "falls", "si", "cuando", "quand"}
)
_LOOSE: Final = frozenset({*MODALS.values(), *MODALS, "always", "immer", "toujours", "siempre"})
_VERBAL: Final = frozenset(
    {*MODALS, *"do does did is are was were be been has have had ist sind wird est sont es son".split()}
)
_SEEN: Final = frozenset({"turn", "session", "task", "issu", "commit", "pr"})
_EXACT: Final = frozenset({"value", "name"})


def find_contradiction(new: Reading, old: Reading, texts: tuple[str, str], similarity: float) -> str:
    """Say what *new* contradicts *old* in; "" if nothing was found that is probably true."""
    if find_swap(new, old):
        return SWAPPED
    if len(new.content) <= _BRIEF and (found := _find_change(new, old, texts, similarity)):
        return found
    longest = max(len(new.content), len(old.content))
    is_short = longest <= _SHORT
    if longest > _MANY or (not is_short and similarity < _NEAR):
        return ""
    is_near = is_short and _is_near(new, old)
    return next(filter(None, (_compare(*pair, is_short, is_near) for pair in _pair_statements(new, old, is_short))), "")


def _is_near(new: Reading, old: Reading) -> bool:
    """Tell whether two short texts have the same words but one, or nearly the same."""
    here, there = set(new.content), set(old.content)
    nearly = min(shared(new.content, old.content), shared(old.content, new.content)) >= _NEARLY
    return nearly or max(len(here - there), len(there - here)) == 1


def _find_change(new: Reading, old: Reading, texts: tuple[str, str], similarity: float) -> str:
    """Find a statement of *new* that tells of a change in what *old*, which tells of none, speaks of."""
    if not find_change(*texts) or find_change(texts[1], ""):
        return ""
    return next(filter(None, (_find_told(each, old, similarity) for each in split_clauses(new) if each.content)), "")


def _find_told(statement: Reading, old: Reading, similarity: float) -> str:
    """Find the word by which *statement* changes what *old* says: its subject, or of a short text what it names last."""
    raws = [token.raw for token in statement.tokens]
    told = find_change(" ".join(raws), "")
    if not told or "as of" in told or not _HYPOTHETIC.isdisjoint(raws) or _UNDONE.search(" ".join(raws)):
        return ""
    known = [word in old.content for word in statement.content]
    is_plain = len(old.content) <= _PLAIN
    if _WEAK.search(told) and not (is_plain and _list_numbers(statement) - _list_numbers(old) and _list_numbers(old)):
        return ""
    if len(old.content) > _ONE_THING:
        return told if similarity >= _SURELY and all(known[:2]) else ""
    return told if known[0] or (is_plain and similarity >= _ALIKE and 3 * sum(known) > len(known)) else ""


def _list_numbers(reading: Reading) -> set[str]:
    return {token.form for token in reading.tokens if token.kind == "value" and token.form[:1].isdigit()}


def _pair_statements(new: Reading, old: Reading, is_short: bool) -> Iterator[tuple[Reading, Reading]]:
    """Yield the statements of both that are about the same."""
    least = _AGREE_SHORT if is_short else _AGREE_LONG
    theirs = [(each, set(each.content)) for each in split_clauses(old)]
    for mine in split_clauses(new):
        words = set(mine.content)
        for other, others in theirs:
            common = len(words & others)
            is_enough = common >= (_SHARED if min(len(words), len(others)) > 2 else 1) + (not is_short)
            if is_enough and 2 * common >= least * (len(words) + len(others)):
                yield mine, other


def _compare(mine: Reading, other: Reading, is_short: bool, is_near: bool) -> str:
    ahead = 2 if is_short else 1
    has_subject = _has_any(other, mine.content[:ahead]) and _has_any(mine, other.content[:ahead])
    if not has_subject or _list_conditions(mine) != _list_conditions(other):
        return ""
    if denied := _find_denial(mine, other, is_short) or _find_denial(other, mine, is_short):
        return denied
    if is_short and (opposed := find_opposite(mine, other)) and _is_one_slot(mine, other, 1):
        return opposed
    value = _find_value(mine, other)
    return value if is_near or value.strip("'")[:1].isdigit() else ""


def _has_any(reading: Reading, words: tuple[str, ...]) -> bool:
    return not set(words).isdisjoint(reading.content)


def _list_conditions(statement: Reading) -> set[str]:
    return {token.raw for token in statement.tokens} & _HYPOTHETIC


def _is_one_slot(mine: Reading, other: Reading, allowed: int) -> bool:
    """Tell whether at least one of them has no more than *allowed* words besides those that both have: one slot."""
    here, there = (set(reading.content) - _LOOSE for reading in (mine, other))
    return min(len(here - there), len(there - here)) <= allowed


def _find_denial(one: Reading, other: Reading, is_short: bool) -> str:
    """Find what *one* denies and *other* says; by a verb, "does not need", and not as an aside, ", not a flag"."""
    is_denied = any(token.kind == "not" and token.raw not in CONDITIONS for token in other.tokens)
    if is_denied or one.tokens[0].raw == "not" or not _is_one_slot(one, other, 0):
        return ""
    before = (token.raw for token, ahead in pairwise(one.tokens) if ahead.kind == "not")
    is_verbal = is_short or any(raw in _VERBAL for raw in before)
    return find_negation(one, other) if is_verbal and _list_denied(one) & set(other.content) else ""


def _list_denied(statement: Reading) -> set[str]:
    """Return the word that each negation stands before; behind it, at the end."""
    denied, ahead, is_open = set[str](), "", False
    for token in reversed(statement.tokens):
        if token.kind == "not":
            denied.add(ahead)
            is_open = not ahead
        elif token.kind in CONTENT and token.form not in BESIDE:
            denied.update({token.form} if is_open else ())
            ahead, is_open = token.form, False
    return denied


def _find_value(mine: Reading, other: Reading) -> str:
    """Find a value in the place of another one, where the rest of one statement is in the other."""
    here, there = set(mine.content), set(other.content)
    a = [(before, token) for before, token in _list_slots(mine) if token.form not in there]
    b = [(before, token) for before, token in _list_slots(other) if token.form not in here]
    one, two = ([slot for slot in slots if slot[1].kind in _EXACT] for slots in (a, b))
    if not one or not two or (len(a) > 1 and len(b) > 1):
        return ""
    is_only = len(one) == len(two) == 1
    for (before, value), (other_before, other_value) in product(one, two):
        is_slot = (is_only or before == other_before) and before not in _SEEN
        if is_slot and are_alike(value.form, other_value.form):
            return f"{value.raw!r} against {other_value.raw!r}"
    return ""


def _list_slots(reading: Reading) -> list[tuple[str, Token]]:
    """Return each word of content with the form before it."""
    tokens = [token for token in reading.tokens if token.kind != "article"]
    pairs = zip(["", *(token.form for token in tokens)], tokens, strict=False)
    return [(before, token) for before, token in pairs if token.kind in CONTENT]
