"""How a record says the words of a query: side by side as they were asked, and early. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Final

from memsync.index.query import Query
from memsync.index.scale import ASIDE, FADING, HALF_SAID, LATE, PATIENCE, REVERSED, TOGETHER
from memsync.index.terms import number_of

_SHARES: Final = [0.0, *((apart + 1) ** -FADING for apart in range(ASIDE))]  # by how far two words are apart


class Wording:
    """Reads records for one query (ADR 80): what is said apart, or far down, is worth less than its words alone."""

    def __init__(self, query: Query, weights: Mapping[str, float], ceiling: float) -> None:
        self._weights = {number_of(term): weight for term, weight in weights.items()}
        self._whole = sum(weights.values()) + PATIENCE * ceiling
        self._pairs = [min(weights[one], weights[other]) for one, other in query.pairs]
        self._beside: dict[int, list[tuple[int, int, float]]] = {}
        for number, (one, other) in enumerate(map(number_of, pair) for pair in query.pairs):
            self._beside.setdefault(other, []).append((one, number, 1.0))
            self._beside.setdefault(one, []).append((other, number, REVERSED))

    def score(self, terms: Sequence[int], lexical: float) -> float:
        """Return what a record of these *terms*, their numbers in order, and this *lexical* score gains or loses by its wording."""
        weights, beside = self._weights, self._beside
        found = early = 0.0
        last: dict[int, int] = {}
        near: dict[int, float] = {}
        for place in compress(range(len(terms)), map(weights.__contains__, terms)):  # each hit is read so
            term = terms[place]
            if term not in last:
                found += weights[term]
                early += weights[term] * 2 ** (-place / HALF_SAID)
            for other, pair, share in beside.get(term, ()):
                if other in last and (apart := place - last[other]) <= ASIDE:
                    gain = share * _SHARES[apart]
                    if gain > near.get(pair, 0.0):
                        near[pair] = gain
            last[term] = place
        if not found:
            return 0.0
        together = sum([share * self._pairs[pair] for pair, share in near.items()])
        return TOGETHER * together / self._whole - LATE * lexical * (1 - early / found)
