"""What two texts contradict each other in: another value of the same slot, a denial, a change, roles swapped.

Stricter than `find_conflict`, which holds back a merge: what is told must be probably true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from memsync.index.conflicts import (
    BESIDE,
    CONDITIONS,
    are_alike,
    find_change,
    find_negation,
    find_opposite,
    find_swap,
    list_changes,
)
from memsync.index.statements import (
    CONTENT,
    MODALS,
    SAME_QUANTIFIERS,
    Reading,
    Token,
    hold,
    kept,
    list_raws,
    list_words,
    read,
    split_clauses,
    strip_questions,
)

SWAPPED: Final = "the same words in other roles, or in another order"
_SHORT: Final = 14  # words of content up to which a text says one thing
_PLAIN: Final = 20  # words of content up to which a change of one thing changes the whole text
_FEW: Final = 2  # words by which two texts that say nearly the same differ
_SURELY: Final = 0.8  # likeness from which a change is told of what is not the subject, or of a longer text
_AGREE: Final = 0.5  # share of equal words from which two statements are about the same
_SHARED: Final = 2  # words that two statements on one subject have in common
_WEAK: Final = re.compile(
    r"'(?:now|nowadays|changed|deprecated|upgraded|bumped|previously|formerly|used to|dropped|lifted|jetzt|maintenant|ahora)'"
)  # who tells of these may correct nothing: a number must have changed too
_UNDONE: Final = re.compile(
    r"\b(?:be|not)(?: \w+){0,3} (?:replaced|moved|removed|retired|renamed|dropped|changed|rewritten)\b"
)
_REPLACED: Final = frozenset({"replaced", "moved", "migrated", "switched", "renamed", "changed"})
_NO_MORE: Final = frozenset({"longer", "more", "anymore"})
_ENDED: Final = frozenset({"replaced", "removed", "retired", "dropped", "discontinued", "abandoned", "obsolete"}) | {
    "gone", "over", "dead", "sold", "closed", "superseded",
}  # fmt: skip
_MOVED: Final = _REPLACED | {"replaces", "rewritten", "rewrote", "reverted"}
_BE: Final = frozenset({"is", "are", "was", "were", "been", "being", "got", "has", "have", "had"})
_USED: Final = frozenset(
    {"used", "needed", "required", "supported", "available", "there", "maintained", "in", "exists"}
)
_BY: Final = frozenset({"by", "to", "with", "into"})
_HYPOTHETIC: Final = CONDITIONS | frozenset(
    {"if", "when", "whenever", "unless", "until", "wenn", "falls", "si", "cuando", "quand"}
)
_LOOSE: Final = frozenset({*MODALS.values(), *MODALS, "always", "immer", "toujours", "siempre"})
_SEEN: Final = frozenset({"turn", "session", "task", "issu", "commit", "pr"})
_EXACT: Final = frozenset({"value", "name"})


def find_contradiction(new: Reading, old: Reading, texts: tuple[str, str], similarity: float) -> str:
    """Say what *new* contradicts *old* in; "" if nothing was found that is probably true."""
    if find_swap(new, old):
        return SWAPPED
    if "?" in texts[0] or "?" in texts[1]:
        said, held = map(strip_questions, texts)
        new, old, texts = read(said), read(held), (said, held)
        if not new.content or not old.content:
            return ""
    if len(new.content) <= _SHORT and (told := _find_change(new, old, texts, similarity)):
        return told
    is_near, is_short = _is_near(new, old), max(len(new.content), len(old.content)) <= _SHORT
    if not is_near and not is_short:
        return ""
    has_slots = is_near and is_short  # where another name is another value, and no other subject
    return next(filter(None, (_compare(*pair, has_slots) for pair in _pair_statements(new, old))), "")


def _is_near(new: Reading, old: Reading) -> bool:
    here, there = hold(new), hold(old)
    most = max(len(here), len(there))
    return most - min(len(here), len(there)) <= _FEW and most - len(here & there) <= _FEW


def _find_change(new: Reading, old: Reading, texts: tuple[str, str], similarity: float) -> str:
    """Find a statement of *new* that tells of a change in what *old*, which tells of none, speaks of."""
    if not find_change(*texts) or find_change(texts[1], ""):
        return ""
    return next(filter(None, (_find_told(each, old, similarity) for each in split_clauses(new) if each.content)), "")


def _find_told(statement: Reading, old: Reading, similarity: float) -> str:
    """Find the word by which *statement* changes what *old* says: its subject, or of a short text what it names last."""
    raws = list_raws(statement)
    told = find_change(" ".join(raws), "")
    if not told or "as of" in told or not _HYPOTHETIC.isdisjoint(raws) or _UNDONE.search(" ".join(raws)):
        return ""
    if _is_outcome(statement, old):
        return ""
    known = [word in old.content for word in statement.content]
    is_plain = len(old.content) <= _PLAIN
    if _WEAK.search(told) and not (is_plain and _list_numbers(statement) - _list_numbers(old) and _list_numbers(old)):
        return ""
    if not _WEAK.search(told) and not _is_of_it(statement, old):
        return ""
    if not is_plain:
        return told if similarity >= _SURELY and all(known[:2]) else ""
    return told if known[0] or (similarity >= _SURELY and 3 * sum(known) > len(known)) else ""


def _is_of_it(statement: Reading, old: Reading) -> bool:
    """Tell whether what *statement* says has changed is what *old* says, and not something else about the same subject."""
    before, changed, after = _split_change(statement)
    words = {token.raw for token in changed}
    if words.isdisjoint(_NO_MORE | _ENDED | _MOVED):  # also in other languages
        return True
    subject = {token.form for token in before if token.kind in CONTENT and token.raw not in _BE}
    values = {token.form for token in before if token.kind == "value"}
    is_known, rest = subject <= hold(old) or not values.isdisjoint(hold(old)), hold(old) - subject
    if not words.isdisjoint(_NO_MORE):
        said = [t for t in (*changed, *after) if t.kind in CONTENT and t.form not in BESIDE]
        return not said or said[0].form in rest or (is_known and said[0].raw in _USED)
    if any(token.kind in CONTENT and token.form in rest for token in after):
        return True
    if not is_known or any(token.raw == "from" for token in (*changed, *after)):
        return False
    if not words.isdisjoint(_ENDED):  # and not what it has replaced or removed
        return not _BE.isdisjoint(token.raw for token in (*before[-1:], *changed))
    has_exact = any(t.kind in _EXACT for t in after)  # what may stand for what the rest names
    return len(rest) <= _FEW or (has_exact and any(t.kind in _EXACT and t.form in rest for t in old.tokens))


def _split_change(statement: Reading) -> tuple[tuple[Token, ...], tuple[Token, ...], tuple[Token, ...]]:
    """Return what stands before the first words that tell of a change, these, and what stands behind."""
    raws, tokens = list_raws(statement), statement.tokens
    told = tuple(next(iter(list_changes(" ".join(raws))), "").split())
    start = next((at for at in range(len(raws)) if raws[at : at + len(told)] == told), len(raws))
    return tokens[:start], tokens[start : start + len(told)], tokens[start + len(told) :]


def _is_outcome(statement: Reading, old: Reading) -> bool:
    """Tell whether what *statement* says took the place of something is what *old* speaks of: "replaced by MongoDB"."""
    rest = iter(statement.tokens)
    if not any(token.raw in _REPLACED for token in rest) or not any(token.raw in _BY for token in rest):
        return False
    return next((token.form for token in rest if token.kind in CONTENT), "") in old.content


def _list_numbers(reading: Reading) -> set[str]:
    return {token.form for token in reading.tokens if token.kind == "value" and token.form[:1].isdigit()}


def _pair_statements(new: Reading, old: Reading) -> Iterator[tuple[Reading, Reading]]:
    for mine in split_clauses(new):
        words = hold(mine)
        for other in split_clauses(old):
            others = hold(other)
            common = len(words & others)
            is_enough = common >= (_SHARED if min(len(words), len(others)) > 2 else 1)
            if is_enough and 2 * common >= _AGREE * (len(words) + len(others)):
                yield mine, other


def _compare(mine: Reading, other: Reading, has_slots: bool) -> str:
    has_subject = _has_any(other, mine.content[:2]) and _has_any(mine, other.content[:2])
    if not has_subject or _list_conditions(mine) != _list_conditions(other):
        return ""
    if denied := _find_denial(mine, other) or _find_denial(other, mine):
        return denied
    if (opposed := find_opposite(mine, other)) and _is_one_slot(mine, other, 1):
        return opposed
    value = _find_value(mine, other)
    return value if has_slots or value.strip("'")[:1].isdigit() else ""


def _has_any(reading: Reading, words: tuple[str, ...]) -> bool:
    return not hold(reading).isdisjoint(words)


def _list_conditions(statement: Reading) -> frozenset[str]:
    return _HYPOTHETIC.intersection(list_raws(statement))


def _is_one_slot(mine: Reading, other: Reading, allowed: int) -> bool:
    """Tell whether at least one of them has no more than *allowed* words besides those that both have: one slot."""
    here, there = (hold(reading) - _LOOSE for reading in (mine, other))
    return min(len(here - there), len(there - here)) <= allowed


def _find_denial(one: Reading, other: Reading) -> str:
    if _is_denied(other) or one.tokens[0].raw == "not" or not _is_one_slot(one, other, 0):
        return ""
    return find_negation(one, other) if _list_denied(one) & hold(other) else ""


@kept
def _is_denied(statement: Reading) -> bool:
    return any(token.kind == "not" and token.raw not in CONDITIONS for token in statement.tokens)


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
    """Find a value in the place of another one, where the rest of one statement is in the other and both say or deny it."""
    if _is_denied(mine) != _is_denied(other):
        return ""
    here, there = hold(mine), hold(other)
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


@kept
def _list_slots(reading: Reading) -> list[tuple[str, Token]]:
    tokens = [token for token in reading.tokens if token.kind != "article"]
    pairs = zip(["", *(token.form for token in tokens)], tokens, strict=False)
    return [(before, token) for before, token in pairs if token.kind in CONTENT]


_FRAME: Final = 0.5  # share of the shorter text's words that both have in the same order
_LONG_FRAME: Final = 0.75  # the same, where it has more than _SHORT_FRAME
_SHORT_FRAME: Final = 12
_PLACES: Final = 2  # in which they may differ: more, and one says another thing, or the same in other words
_MOST: Final = 3  # words of content in such a place
_SUBJECT: Final = 2  # words of content that say what a text is about
_LONG: Final = 400


class Difference(NamedTuple):
    """What the new text has in the place of what the old one has."""

    new: str
    old: str
    place: int  # how many words of content the new text has before it


def are_of_one_subject(found: Sequence[Difference]) -> bool:
    """Tell whether two texts that differ in what was *found* speak of the same: else they are like "server a has 2 disks" and "server b has 4"."""
    return len(found) == 1 or found[0].place >= _SUBJECT


def is_one_frame(new: Reading, old: Reading) -> bool:
    """Tell whether two texts have most words in common, in one order."""
    return bool(_align(new, old))


def find_differences(new: Reading, old: Reading) -> tuple[Difference, ...]:
    """Return where *new* has something else than *old*, with which it has the rest in common; nothing if it is no such text."""
    if hold(new) == hold(old) or not (steps := _align(new, old)):
        return ()
    a, b = (_list_tokens(reading) for reading in (new, old))
    same = {token.form for what, i, j, _, _ in steps if what == "equal" for token in a[i:j] if token.kind in CONTENT}
    moved = (hold(new) & hold(old)) - same
    found, named = list[Difference](), set[str]()
    for what, i, j, k, m in steps:
        mine, theirs = _list_content(a[i:j], b[k:m]), _list_content(b[k:m], a[i:j])
        if what == "replace" and mine and theirs and not _say_alike(mine, theirs):
            if max(len(mine), len(theirs)) > _MOST:
                return ()  # in other words
            place = sum(token.kind in CONTENT for token in a[:i])
            found.append(Difference(_spell(mine), _spell(theirs), place))
            named |= {theirs[0].form} if len(theirs) == 1 else set()
    is_in_order = moved <= named  # but for what is named as replaced: "pnpm, because yarn was slow"
    return tuple(found) if is_in_order and len(found) <= min(_PLACES, len(same)) else ()


def _say_alike(mine: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Tell whether both are words for the same quantity, as "each" and "every"."""
    said = {SAME_QUANTIFIERS.get(token.form, token.form) for token in (*mine, *theirs)}
    return len(said) == 1


def _align(new: Reading, old: Reading) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the steps that make the words of *new* those of *old*; none if they are not of one frame."""
    one, other = list_words(new), list_words(old)
    least = (_FRAME if (shorter := min(len(one), len(other))) <= _SHORT_FRAME else _LONG_FRAME) * shorter
    if max(len(one), len(other)) > _LONG or len({*one} & {*other}) < _FRAME * shorter:
        return []
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.get_opcodes() if sum(block.size for block in matcher.get_matching_blocks()) >= least else []


@kept
def _list_tokens(reading: Reading) -> tuple[Token, ...]:
    return tuple([token for token in reading.tokens if token.kind != "article"])


def _list_content(tokens: Sequence[Token], beside: Sequence[Token]) -> list[Token]:
    """Return those of *tokens* that carry meaning, or all of them in the place of a number, as "one" is in that of two."""
    is_number = any(token.kind == "value" for token in beside)
    return [token for token in tokens if token.kind in CONTENT] or [*(tokens if is_number else ())]


def _spell(tokens: list[Token]) -> str:
    return ("" if all(token.kind == "letter" for token in tokens) else " ").join(token.raw for token in tokens)
