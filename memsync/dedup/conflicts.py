"""What makes two texts on one subject disagree: negation, opposites, values, roles, a change that one tells of."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

from memsync.dedup.lexicon import CHANGES, DIRECTIONS, LATIN_CHANGES, OPPOSITES
from memsync.dedup.likeness import is_swapped
from memsync.dedup.reading import CONTENT, Reading, Token, hold, kept, list_words, stem

BESIDE: Final = frozenset({"longer", "more", "any", "anymore", "just", "yet", "only", "really", "even"})
_CLOSE: Final = 0.6  # share of equal words from which what differs is compared word by word
_LONG: Final = 400


@cache
def _change_pattern() -> re.Pattern[str]:
    return re.compile(CHANGES, re.IGNORECASE)


@cache
def _plain_change_pattern() -> re.Pattern[str]:
    return re.compile(LATIN_CHANGES)  # the same in lower case, which is found in a third of the time


_EXACT: Final = frozenset({"value", "name"})
_SPOKEN: Final = CONTENT | {"light", "not"}
_STEMS: Final[defaultdict[str, set[str]]] = defaultdict(set)
for _word, _others in OPPOSITES.items():
    _STEMS[stem(_word)].update(map(stem, _others))
CONDITIONS: Final = frozenset(
    {"without", "ohne", "sans", "sin", "senza", "sem", "zonder", "utan"}
)  # what fails without it, needs it


def find_conflict(new: Reading, old: Reading, texts: tuple[str, str]) -> str:
    """Say what the two texts may disagree in, so that neither stands for the other; "" if nothing was found."""
    return (
        find_negation(new, old)
        or find_negation(old, new)
        or find_opposite(new, old)
        or _find_values(new, old)
        or _compare_in_order(new, old)
        or find_change(*texts)
    )


def find_negation(one: Reading, other: Reading) -> str:
    """Find a word that *one* negates and *other* does not."""
    negated = _list_negated(one)
    if not negated or hold(other).isdisjoint(negated):
        return ""
    plain = hold(other).difference(_list_negated(other))
    word = next((word for word in negated if word in plain), None)
    raw = next((token.raw for token in one.tokens if token.form == word), "")
    return f"only one of them says 'not {raw}'" if word else ""


@kept
def _list_negated(reading: Reading) -> tuple[str, ...]:
    """Return the words that a negation stands before; behind it, if its clause ends there."""
    found: list[str] = []
    for clause in reading.clauses if any(token.kind == "not" for token in reading.tokens) else ():
        ahead: tuple[str, ...] = ()
        is_open, following = False, ""
        for token in reversed(clause):
            if token.kind == "not":
                if token.raw not in CONDITIONS and following != "only":
                    found += ahead
                    is_open = is_open or not ahead
            elif token.kind in CONTENT:
                found += (token.form,) if is_open else ()
                is_open = False
                ahead = ahead if token.form in BESIDE else (token.form, *ahead[:1])
            following = token.form
    return tuple(found)


def find_opposite(new: Reading, old: Reading) -> str:
    """Find a word whose opposite the other text has in its place: beside the same word, or in nearly the same text."""
    if _list_opposites(new).isdisjoint(_list_stems(old)):
        return ""
    here, there = (_list_plain_words(reading) for reading in (new, old))
    for word, (raw, beside) in here.items():
        for other in sorted(_STEMS.get(word, ())):
            if other in there and word not in there and other not in here:
                raw_other, beside_other = there[other]
                if beside & beside_other or _measure_overlap(new, old) >= _CLOSE:
                    return f"{raw!r} against {raw_other!r}"
    return ""


@kept
def _list_stems(reading: Reading) -> frozenset[str]:
    """Return the stems of what may be spoken of, negated or not."""
    return frozenset([stem(token.raw) for token in reading.tokens if token.kind in _SPOKEN])


@kept
def _list_opposites(reading: Reading) -> frozenset[str]:
    """Return the opposites of what may be spoken of."""
    return frozenset().union(*(_STEMS[word] for word in _list_stems(reading) & _STEMS.keys()))


def _measure_overlap(one: Reading, other: Reading) -> float:
    here, there = hold(one), hold(other)
    return 2 * len(here & there) / (len(here) + len(there) or 1)


@kept
def _list_plain_words(reading: Reading) -> Mapping[str, tuple[str, set[str]]]:
    """Return each word that is not negated, as written, with the words of content beside it."""
    negated = set(_list_negated(reading))
    found: dict[str, tuple[str, set[str]]] = {}
    for tokens in (reading.tokens, reading.tokens[::-1]):
        before = ""
        for token in tokens:
            if token.kind in _SPOKEN and token.form not in negated and token.form not in DIRECTIONS:
                beside = found.setdefault(stem(token.raw), (token.raw, set()))[1]
                beside.update({before} - {""})
            before = token.form if token.kind in CONTENT else before
    return found


def _find_values(new: Reading, old: Reading) -> str:
    """Find a number, date or identifier that stands in the other text's place of another one."""
    mine, theirs = _list_values(new), _list_values(old)
    if not mine or not theirs:
        return ""
    there = _map_slots(old)
    for slot, value in _map_slots(new).items():
        other = there.get(slot)
        if other and value not in theirs and other not in mine and are_alike(value, other):
            return f"{value!r} against {other!r}"
    return ""


@kept
def _list_values(reading: Reading) -> frozenset[str]:
    return frozenset([token.form for token in reading.tokens if token.kind == "value"])


@kept
def _map_slots(reading: Reading) -> dict[tuple[str, str], str]:
    return dict(_list_slots(reading))


def _list_slots(reading: Reading) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield each value with the word before it and with the one behind it."""
    content = [token for token in reading.tokens if token.kind in CONTENT]
    for place, token in enumerate(content):
        if token.kind == "value":
            if place:
                yield ("after", content[place - 1].form), token.form
            if place + 1 < len(content):
                yield ("before", content[place + 1].form), token.form


def are_alike(one: str, other: str) -> bool:
    """Tell whether two values are of one kind: both numbers, or two names of which neither is part of the other."""
    has_digits = one[:1].isdigit()
    return has_digits == other[:1].isdigit() and (has_digits or (one not in other and other not in one))


def _compare_in_order(new: Reading, old: Reading) -> str:
    """Compare nearly equal texts word by word: another name or value in one place, or two that changed places."""
    one, other = list_words(new), list_words(old)
    if not one or not other or max(len(one), len(other)) > _LONG or not _may_be_close(new, old):
        return ""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < _CLOSE:
        return ""
    a = [token for token in new.tokens if token.kind != "article"]
    b = [token for token in old.tokens if token.kind != "article"]
    for what, i, j, k, m in matcher.get_opcodes():
        if what == "replace" and (found := _find_replaced(a[i:j], b[k:m])):
            return found
    if sorted(one) == sorted(other) or is_swapped(new.content, old.content):
        return "the same words in other roles, or in another order"
    return ""


def _may_be_close(one: Reading, other: Reading) -> bool:
    """Tell whether enough words are equal, in whichever order."""
    here, there = _count_forms(one), _count_forms(other)
    both = sum([min(count, there[form]) for form, count in here.items() if form in there])
    return 2 * both / (len(list_words(one)) + len(list_words(other))) >= _CLOSE


@kept
def _count_forms(reading: Reading) -> Counter[str]:
    return Counter(list_words(reading))


def _find_replaced(mine: list[Token], theirs: list[Token]) -> str:
    one, other = ([t for t in tokens if t.kind in _EXACT] for tokens in (mine, theirs))
    if one and other and {t.form for t in one}.isdisjoint(t.form for t in other):
        return f"{one[0].raw!r} against {other[0].raw!r}"
    return ""


def find_change(new: str, old: str) -> str:
    """Find words in *new* that tell of a change, and that *old* does not have."""
    if not (told := list_changes(new)):
        return ""
    known = list_changes(old)
    return next((f"it tells of a change ({word!r})" for word in told if word not in known), "")


@lru_cache(maxsize=2048)
def list_changes(text: str) -> tuple[str, ...]:
    """Return the words in *text* that tell of a change, in order."""
    if text.isascii():
        return tuple(_plain_change_pattern().findall(text.lower()))
    return tuple([match[0].lower() for match in _change_pattern().finditer(text)])
