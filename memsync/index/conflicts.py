"""What makes two texts on one subject disagree: negation, opposites, values, roles, a change that one tells of."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from memsync.index.likeness import count_shared, is_reordered, is_reworded, is_swapped, list_frame
from memsync.index.statements import (
    CHANGES,
    CONTENT,
    DIRECTIONS,
    LATIN_CHANGES,
    OPPOSITES,
    TEMPORAL,
    Reading,
    Token,
    count_words,
    hold,
    kept,
    list_raws,
    list_words,
    split_clauses,
    stem,
)

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


_LONGEST_ORDER: Final = 60  # words from which another order says little
_SHORT: Final = 16  # words up to which two that changed places among others are looked for
_NEARLY: Final = 0.9  # share of equal words from which two words that changed places are looked for
_PHRASE: Final = 4  # words of a phrase that may change places around "and"
_JOINS: Final = frozenset({"and", "or", "und", "oder", "et", "ou", "y", "o", "e"})
_FRONTED: Final = DIRECTIONS | {"in", "on", "at", "for", "with", "by", "im", "bei", "für", "mit", "en", "dans", "pour"}
_SEQUENCE: Final = TEMPORAL - {"before", "after", "until"}


def find_swap(one: Reading, other: Reading) -> bool:
    """Tell whether two texts have the same words, or nearly, in other roles or in another order."""
    a, b = one.content, other.content
    if _is_turned(one, other):
        return True
    if not 3 <= min(len(a), len(b)) <= max(len(a), len(b)) <= _SHORT:
        return False
    is_near = 2 * count_shared(one, other) >= _NEARLY * (len(a) + len(b))
    return is_near and is_swapped(a, b) and not _is_neutral(one, other)


def find_swapped_clause(one: Reading, other: Reading) -> bool:
    """Tell whether a clause of each has the same words in another order."""
    mine, theirs = _map_clauses(one), _map_clauses(other)
    both = [(place, theirs[words][-1]) for words in mine.keys() & theirs.keys() for place in mine[words]]
    if not both:
        return False
    here, there = split_clauses(one), split_clauses(other)
    return any(len(here[place].content) > 2 and _is_turned(here[place], there[last]) for place, last in both)


@kept
def _map_clauses(reading: Reading) -> dict[frozenset[str], list[int]]:
    """Return the places of the clauses by their words of content, of which each has some."""
    found: dict[frozenset[str], list[int]] = {}
    for place, clause in enumerate(reading.clauses):
        if words := frozenset([token.form for token in clause if token.kind in CONTENT]):
            found.setdefault(words, []).append(place)
    return found


def _is_turned(one: Reading, other: Reading) -> bool:
    """Tell whether the very same words mean another thing by their order."""
    a, b = len(one.tokens), len(other.tokens)
    if not 3 <= min(a, b) <= max(a, b) <= _LONGEST_ORDER:
        return False
    if a == b and list_raws(one) != list_raws(other) and _sort_raws(one) == _sort_raws(other):
        return not _is_neutral(one, other)
    mine, theirs = one.content, other.content
    is_same_set = len(theirs) == len(mine) > 2 and mine != theirs and count_words(one) == count_words(other)
    return is_same_set and list_frame(one) == list_frame(other) and not _is_neutral(one, other)


@kept
def _sort_raws(reading: Reading) -> list[str]:
    return sorted(list_raws(reading))


def _is_neutral(one: Reading, other: Reading) -> bool:
    """Tell whether only the order of whole clauses, of a fronted phrase or of what "and" joins is another."""
    if is_reordered(one, other) or is_reworded(one, other):
        return True
    here, there = (sorted(_list_forms(clause.tokens) for clause in split_clauses(reading)) for reading in (one, other))
    if here == there:
        return not any(token.form in _SEQUENCE for token in one.tokens) or len(here) == 1
    a, b = _list_forms(_unfront(one)), _list_forms(_unfront(other))
    return a == b or any(turned == b for turned in _turn_joined(a))


def _list_forms(tokens: Sequence[Token]) -> list[str]:
    return [token.form for token in tokens if token.kind != "article"]


def _unfront(reading: Reading) -> tuple[Token, ...]:
    """Return the tokens with a phrase before the first comma, "before the import, …", at the end."""
    tokens = reading.tokens
    behind = len(reading.clauses[0])
    is_fronted = tokens[0].raw in _FRONTED and sum(t.kind in CONTENT for t in tokens[behind:]) > 0
    return (*tokens[behind:], *tokens[:behind]) if is_fronted else tokens


def _turn_joined(words: list[str]) -> Iterator[list[str]]:
    """Yield *words* with the two phrases around each "and" in the other order."""
    for place, word in enumerate(words):
        if word in _JOINS:
            for left in range(1, min(_PHRASE, place) + 1):
                for right in range(1, min(_PHRASE, len(words) - place - 1) + 1):
                    before, ahead = words[: place - left], words[place + right + 1 :]
                    yield [*before, *words[place + 1 : place + right + 1], word, *words[place - left : place], *ahead]
