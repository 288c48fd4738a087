"""What else a rare word of a query is called, by a table of what every engineer knows (ADR 90).

A line of `synonyms.txt` is a group: `429, throttle, rate limit, quota`. A member of several words stands for all of them,
one after the other in a query, anywhere in a record. The table is searched as text: a query has few rare words, and making a
dictionary of all of it takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Final

from memsync.index.query import Query
from memsync.index.scale import EXACT, SYNONYM
from memsync.system.texts import Memo

TABLE: Final = Path(__file__).with_name("synonyms.txt")

_MEMO_LIMIT: Final = 4096
_SHORTEST: Final = 4  # letters of a stem of which the last may be another in a word
_PUNCTUATION: Final = "`'\",;:!?()[]{}<>*."

Words = tuple[str, ...]


class Synonyms:
    """The table, its members read as *terms*."""

    def __init__(self, terms: Callable[[str], Sequence[str]]) -> None:
        self._terms = terms
        self._groups = Memo(self._find_groups, _MEMO_LIMIT)

    def find(self, term: str, query: Query, frequency: Callable[[str], int]) -> list[tuple[Words, float]]:
        """Return what else *term* of *query* is called, as words that records have, and what each counts of the rarity of *term*.

        The more there are, the less each counts: a word that is called by ten others means none of them for sure.
        """
        others: dict[Words, None] = {}
        for group in self._groups[term]:
            if any(term in own and all(pair in query.pairs for pair in pairwise(own)) for own in group):
                others |= dict.fromkeys(words for words in group if term not in words)
        found = [words for words in others if all(map(frequency, words)) and not set(words).issubset(query.terms)]
        return [(words, SYNONYM / sqrt(len(found))) for words in found]

    def _find_groups(self, term: str) -> tuple[tuple[Words, ...], ...]:
        groups = [tuple(map(self._read, line.split(", "))) for line in _find_lines(stem_start(term))]
        return tuple(group for group in groups if any(term in own for own in group))

    def _read(self, member: str) -> Words:
        return tuple(term for term in self._terms(member) if not term.startswith(EXACT))


def stem_start(term: str) -> str:
    """Return how each word with the stem *term* begins: `retri` is that of retry."""
    return term[:-1] if term.endswith("i") and len(term) > 2 else term


def find_word(term: str, text: str) -> str:
    """Return the word of *text* that *term* is the stem of, or else *term*."""
    words = [word.strip(_PUNCTUATION) for word in text.split()]
    starts = (stem_start(term), *((term[:-1],) if len(term) > _SHORTEST else ()))  # "stage" is the stem of staging
    spelled = [
        (word, word.lower(), "".join(filter(str.isalnum, word.lower()))) for word in words
    ]  # a whole name is a term, too
    found = (word for start in starts for word, *forms in spelled if any(form.startswith(start) for form in forms))
    return next(found, term)


@cache
def _read_table() -> str:
    return " " + TABLE.read_text(encoding="utf-8").replace("\n", "\n ")


def _find_lines(start: str) -> Iterator[str]:
    """Yield the lines in which a word begins with *start*."""
    table = _read_table()
    at = table.find(f" {start}")
    while at >= 0:
        end = table.find("\n", at)
        yield table[table.rfind("\n", 0, at) + 1 : end].lstrip()
        at = table.find(f" {start}", end + 1)
