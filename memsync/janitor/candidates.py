"""Which records may say the same: those that share rare words. About linear in the number of records.

Nominates only; knows neither verdicts nor files.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from memsync.records import normal_form

if TYPE_CHECKING:
    from memsync.index.tokens import Tokenizer

# Goes through items and tells somebody how far it is; the label says what is done.
Track = Callable[[Sequence[Any], str], Iterable[Any]]

PER_RECORD: Final = 30
# A word in more records than this tells little, and looking through all of them would cost the square.
_RARE: Final = 40
_FALLBACK: Final = 3


def untracked(items: Sequence[Any], label: str) -> Iterable[Any]:  # noqa: ARG001
    """Go through *items* without telling anybody."""
    return items


def pairs(texts: Sequence[str], tokenizer: Tokenizer, track: Track = untracked) -> Iterator[tuple[int, int]]:
    """Yield the pairs of *texts* (by place, the smaller first) that share rare words, each once.

    Of each text the 30 likeliest, by the rarity of what they share: words, and two words in a row.
    Texts are gone through in the order of their normal form, so that where a word is common, the
    texts that begin alike are still compared.
    """
    order = sorted(range(len(texts)), key=lambda place: (normal_form(texts[place]), place))
    terms = [_list_terms(texts[place], tokenizer) for place in order]
    postings: dict[str, list[int]] = defaultdict(list)
    for rank, found in enumerate(terms):
        for term in found:
            postings[term].append(rank)
    for rank, found in track(list(enumerate(terms)), "looking"):
        for other in _find_likeliest(rank, found, postings):
            first, second = sorted((order[rank], order[other]))
            yield first, second


def _list_terms(text: str, tokenizer: Tokenizer) -> list[str]:
    words = tokenizer.terms(text)
    return sorted({*words, *(f"{one} {two}" for one, two in pairwise(words))})


def _find_likeliest(rank: int, terms: Iterable[str], postings: dict[str, list[int]]) -> Iterator[int]:
    """Yield the later texts that share the most with the one at *rank*, likeliest first."""
    shared: dict[int, float] = defaultdict(float)
    known = sorted((len(postings[term]), term) for term in terms if len(postings[term]) > 1)
    rare = [(count, term) for count, term in known if count <= _RARE]
    for count, term in rare if len(rare) >= _FALLBACK else known[:_FALLBACK]:
        found = postings[term]
        start = bisect_right(found, rank)
        weight = 1 / math.log2(1 + count)
        for other in found[start : start + _RARE]:
            shared[other] += weight
    ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
    yield from (other for other, _ in ranked[:PER_RECORD])
