"""Whether the same words say another thing because they changed places: who does it, which way it goes, what comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from memsync.dedup.lexicon import DIRECTIONS, TEMPORAL
from memsync.dedup.likeness import count_shared, is_reordered, is_reworded, is_swapped, list_frame
from memsync.dedup.reading import CONTENT, Reading, Token, count_words, kept, list_raws, split_clauses

_LONG: Final = 60  # words from which another order says little
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
    if not 3 <= min(a, b) <= max(a, b) <= _LONG:
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
    here, there = (sorted(_list_plain_clauses(reading)) for reading in (one, other))
    if here == there:
        return not any(token.form in _SEQUENCE for token in one.tokens) or len(here) == 1
    a, b = _list_forms(_unfront(one)), _list_forms(_unfront(other))
    return a == b or any(turned == b for turned in _turn_joined(a))


def _list_plain_clauses(reading: Reading) -> Iterator[list[str]]:
    for clause in split_clauses(reading):
        yield _list_forms(clause.tokens)


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
