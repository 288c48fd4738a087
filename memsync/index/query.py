"""What a query asks for: terms, identifiers, quoted phrases. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsync.index.scale import EXACT, LED_BY
from memsync.system.dataclass import dataclass
from memsync.system.late import late_pattern

if TYPE_CHECKING:
    from memsync.index.tokens import Tokenizer

_QUOTED = late_pattern(r"\"([^\"]{4,})\"|`([^`]{4,})`|(?<!\w)'([^']{4,})'(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query; *led* says that identifiers make up most of it.

    *chunks* are the terms of each word as it was written, without exact forms where there are others.
    """

    terms: tuple[str, ...]
    chunks: tuple[tuple[str, ...], ...]
    identifiers: frozenset[str]
    led: bool
    phrases: tuple[str, ...]


def parse(text: str, tokenizer: Tokenizer) -> Query:
    """Return the terms of *text*, each once, and what in it must match exactly."""
    terms: dict[str, None] = {}
    identifiers: set[str] = set()
    chunks: dict[tuple[str, ...], None] = {}
    plain = 0
    for chunk in text.split():
        found = tokenizer.terms(chunk)
        exact = [t for t in found if t.startswith(EXACT)]
        identifiers.update(exact)
        plain += 0 if exact else len(found)
        terms |= dict.fromkeys(found)
        if words := tuple(dict.fromkeys(t for t in found if not t.startswith(EXACT))) or tuple(exact):
            chunks[words] = None
    phrases = tuple(folded(next(filter(None, m.groups()))) for m in _QUOTED.finditer(text))
    return Query(
        terms=tuple(terms),
        chunks=tuple(chunks),
        identifiers=frozenset(identifiers),
        led=bool(identifiers) and plain <= LED_BY,
        phrases=tuple(p for p in phrases if " " in p),
    )


def folded(text: str) -> str:
    """Return *text* in lower case with single spaces."""
    return " ".join(text.casefold().split())
