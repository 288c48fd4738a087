"""What a query asks for: terms, identifiers, quoted phrases. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memsync.index.scale import EXACT, LED_BY, PLACE, PLACED
from memsync.index.tokens import word_parts

if TYPE_CHECKING:
    from memsync.index.places import Named
    from memsync.index.tokens import Tokenizer

_QUOTES = frozenset("\"`'")
_QUOTED = r"\"([^\"]{4,})\"|`([^`]{4,})`|(?<!\w)'([^']{4,})'(?!\w)"


class Query(NamedTuple):
    """A parsed query; *led* says that identifiers make up most of it.

    *chunks* are the terms of each word as it was written, without exact forms where there are others; *pairs* are the
    terms that follow each other. *coded* is what may name a place in a repository, as it was written; *spelled* has the words of terms.
    """

    terms: tuple[str, ...]
    chunks: tuple[tuple[str, ...], ...]
    identifiers: frozenset[str]
    led: bool
    phrases: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    coded: tuple[str, ...] = ()
    spelled: Mapping[str, str] = MappingProxyType({})

    @property
    def named(self) -> Named:
        """The places of a repository that the query names."""
        from memsync.index.places import read_places

        return read_places(self.coded)

    def find_placed(self, frequency: Callable[[str], int], having: Callable[[str], Iterable[int]]) -> dict[int, float]:
        """Return what the records gain that are anchored to what is named, by slot. *having* says which live slots have a term."""
        if not (self.coded and frequency(PLACE)):
            return {}
        from memsync.index.places import find_placed  # few prompts name a place

        return {slot: PLACED * share for slot, share in find_placed(self.named, having).items()}


def parse(text: str, tokenizer: Tokenizer, *, places: bool = True) -> Query:
    """Return the terms of *text*, each once, and what in it must match exactly; with *places*, what may name one."""
    terms: dict[str, None] = {}
    identifiers: set[str] = set()
    chunks: dict[tuple[str, ...], None] = {}
    said: list[str] = []
    coded: dict[str, None] = {}
    spelled: dict[str, str] = {}
    plain = 0
    for chunk in text.split():
        found = tokenizer.chunk_terms(chunk)
        if len(found) == 1 and not found[0].startswith(EXACT):  # as of most
            if "/" in chunk or "()" in chunk:
                coded[chunk] = None
            plain += 1
            said += found
            terms[found[0]] = None
            chunks[found] = None
            spelled[found[0]] = chunk
            continue
        for part in word_parts(chunk):
            spelled |= dict.fromkeys(tokenizer.terms(part), part)
        exact = [t for t in found if t.startswith(EXACT)]
        identifiers.update(exact)
        if exact or len(found) > 1 or "/" in chunk or "()" in chunk:
            coded[chunk] = None
        plain += 0 if exact else len(found)
        said += [t for t in found if not t.startswith(EXACT)]
        terms |= dict.fromkeys(found)
        if words := tuple(dict.fromkeys(t for t in found if not t.startswith(EXACT))) or tuple(exact):
            chunks[words] = None
    quoted = () if _QUOTES.isdisjoint(text) else re.finditer(_QUOTED, text)
    phrases = tuple(folded(next(filter(None, match.groups()))) for match in quoted)
    return Query(
        terms=tuple(terms),
        chunks=tuple(chunks),
        identifiers=frozenset(identifiers),
        led=bool(identifiers) and plain <= LED_BY,
        phrases=tuple(p for p in phrases if " " in p),
        pairs=tuple(dict.fromkeys(pair for pair in pairwise(said) if pair[0] != pair[1])),
        coded=tuple(coded) if places else (),
        spelled=spelled,
    )


def folded(text: str) -> str:
    """Return *text* in lower case with single spaces."""
    return " ".join(text.casefold().split())
