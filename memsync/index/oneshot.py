"""One query over a cached index, without numpy: for a process that answers once.

Computes what `core.Index` computes, in the same order, so that the scores are
equal to the last bit; importing numpy alone would take longer than all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from math import log1p, sqrt
from operator import mul
from typing import Any, Final

from memsync.index.cache import Cached
from memsync.index.damping import damping_of
from memsync.index.embed import Meaning
from memsync.index.gate import Lens
from memsync.index.query import Query, parse
from memsync.index.rank import Allow, Candidates, Parts, Ranking, Record, rank
from memsync.index.scale import (
    ALIKE,
    EXACT,
    GRAM_BITS,
    IDENTIFIER,
    KEPT,
    NOMINATED,
    PATIENCE,
    SIEVED,
    TYPO,
    TYPO_LETTERS,
    UNSEEN,
    WEIGHED,
    WIDENED,
    WORDLESS,
)
from memsync.index.terms import term_key
from memsync.index.tokens import Tokenizer
from memsync.records import Memory

_TINY: Final = 1e-12


class OneShot:
    """The scores of the warm index, computed term by term from the mapped arrays."""

    def __init__(
        self, cached: Cached, record: Callable[[int], Record | None], meaning: Meaning | None, *, stop_words: bool
    ) -> None:
        self._a: Any = cached.views
        self._record = record
        self._meaning = meaning if "vectors.numbers" in cached.views else None
        self._lengths = self._a["base.lengths"].tolist()
        self._live = len(self._lengths)
        self._offset, self._scale = damping_of(
            self._live, sum(self._lengths), sum(map(mul, self._lengths, self._lengths))
        )
        self._tokenizer = Tokenizer(stop_words=stop_words)

    def search(
        self, text: str, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool], weighed: int = WEIGHED
    ) -> Ranking:
        """Return what the warm index would."""
        query = parse(text, self._tokenizer)
        candidates = self._candidates(text, query)
        return rank(query, candidates, limit=limit, allow=allow, is_mine=is_mine, weighed=weighed)

    def _candidates(self, text: str, query: Query) -> Candidates:
        alike: dict[str, list[tuple[str, float]]] = {}
        lexical, exact = self._lexical(query, alike)
        identifier = {slot: IDENTIFIER * share for slot, share in exact.items()} if query.led else {}
        wordy = {slot: x + identifier.get(slot, 0.0) for slot, x in lexical.items()}
        asked = self._meaning.query(text) if self._meaning else None
        weight = self._meaning.weight(len(query.chunks)) if asked and self._meaning else 0.0
        semantic = self._semantic(asked, wordy, weight) if asked else {}
        total = {slot: wordy.get(slot, 0.0) + semantic.get(slot, 0.0) for slot in wordy.keys() | semantic.keys()}
        return Candidates(
            ordered=iter(sorted(((x, slot) for slot, x in total.items() if x > 0), reverse=True)),
            record=self._record,
            parts=lambda slot: Parts(lexical.get(slot, 0.0), semantic.get(slot, 0.0), identifier.get(slot, 0.0)),
            lens=Lens(
                weight=lambda term: self._weight(self._frequency(term)),
                frequency=self._frequency,
                ceiling=self._weight(0),
                alike=alike,
                terms=self._tokenizer.record_terms,
                hidden=self._tokenizer.hidden_terms,
                live=self._live,
                weight_of_meaning=weight,
            ),
            degraded=self._meaning.failed if self._meaning else "",
        )

    def _lexical(
        self, query: Query, alike: dict[str, list[tuple[str, float]]]
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Return the lexical score and the share of identifiers by slot, and add the words that were widened to *alike*."""
        scores: dict[int, float] = {}
        exact: dict[int, float] = {}
        asked, names = 0.0, 0
        for term in query.terms:
            low, high = self._range(term)
            weight = self._weight(high - low)
            asked += weight
            gains = dict(self._gains(low, high, weight))
            if term.startswith(EXACT):
                names += 1
                for slot in gains:
                    exact[slot] = exact.get(slot, 0.0) + weight
            elif high - low <= WIDENED:
                alike[term] = self._alike(term, known=high > low)
                for word, likeness in alike[term]:
                    a, b = self._range(word)
                    for slot, gain in self._gains(a, b, likeness * min(weight, self._weight(b - a))):
                        gains[slot] = max(gain, gains.get(slot, 0.0))
            for slot, gain in gains.items():
                scores[slot] = scores.get(slot, 0.0) + gain
        whole = asked + PATIENCE * self._weight(0)
        return {s: x / whole for s, x in scores.items()}, {s: x / (names * self._weight(0)) for s, x in exact.items()}

    def _weight(self, seen: int) -> float:
        return log1p((self._live + UNSEEN - seen + 0.5) / (seen + 0.5))

    def _frequency(self, term: str) -> int:
        low, high = self._range(term)
        return high - low

    def _range(self, term: str) -> tuple[int, int]:
        keys, starts, key = self._a["base.keys"], self._a["base.starts"], term_key(term)
        at = bisect_left(keys, key)
        return (starts[at], starts[at + 1]) if at < len(keys) and keys[at] == key else (0, 0)

    def _gains(self, low: int, high: int, weight: float) -> Iterator[tuple[int, float]]:
        slots, counts = self._a["base.slots"][low:high].tolist(), self._a["base.counts"][low:high].tolist()
        for slot, count in zip(slots, counts, strict=True):
            yield slot, weight * (count / (count + (self._offset + self._scale * self._lengths[slot])))

    def _alike(self, word: str, *, known: bool) -> list[tuple[str, float]]:
        keys, starts, places = (self._a[f"grams.{name}"] for name in ("keys", "starts", "places"))
        points = [32, *map(ord, word), 32]
        grams = {
            (a << 2 * GRAM_BITS) + (b << GRAM_BITS) + c for a, b, c in zip(points, points[1:], points[2:], strict=False)
        }
        shared: Counter[int] = Counter()
        for gram in grams:
            at = bisect_left(keys, gram)
            if at < len(keys) and keys[at] == gram:
                shared.update(places[starts[at] : starts[at + 1]].tolist())
        sizes = self._a["grams.sizes"]
        likeness = {place: count / sqrt(sizes[place] * len(grams)) for place, count in shared.items()}
        found = {self._word(place): x for place, x in likeness.items() if x >= ALIKE}
        if len(word) >= TYPO_LETTERS and not known:
            self._add_typos(word, likeness, found)
        ranked = sorted((-x, other) for other, x in found.items() if other != word)
        return [(other, -x) for x, other in ranked[:KEPT]]

    def _add_typos(self, word: str, likeness: dict[int, float], found: dict[str, float]) -> None:
        from rapidfuzz.distance import OSA  # 15 ms to import; most queries have no unknown word

        for place, x in likeness.items():
            if x >= NOMINATED:
                other = self._word(place)
                nearness = OSA.normalized_similarity(word, other, score_cutoff=TYPO)
                if nearness:
                    found[other] = max(nearness, found.get(other, 0.0))

    def _word(self, place: int) -> str:
        ends = self._a["grams.ends"]
        return bytes(self._a["grams.letters"][ends[place - 1] if place else 0 : ends[place]]).decode()

    def _semantic(self, asked: tuple[list[int], float], wordy: dict[int, float], weight: float) -> dict[int, float]:
        assert self._meaning is not None
        vector, scale = asked
        unrelated, width = self._meaning.unrelated, len(vector)
        numbers, scales = self._a["vectors.numbers"], self._a["vectors.scales"]
        best = max(min(nlargest(SIEVED, wordy.values()), default=0.0), _TINY)
        chosen = self._near(vector).union(slot for slot, x in wordy.items() if x >= best)
        found = {}
        for slot in chosen:
            dot = sum(map(mul, vector, numbers[slot * width : (slot + 1) * width].tolist()))
            like = max((dot * scales[slot] * scale - unrelated) / (1 - unrelated), 0.0)
            if like > 0 and (wordy.get(slot, 0.0) or like >= WORDLESS):
                found[slot] = weight * like
        return found

    def _near(self, vector: Sequence[int]) -> set[int]:
        """Return the slots that are among the SIEVED nearest by sign bits, ties included."""
        step, scales = -(-len(vector) // 8), self._a["vectors.scales"]
        wanted = int("".join("1" if x > 0 else "0" for x in vector).ljust(8 * step, "0"), 2)
        raw, read = bytes(self._a["vectors.signs"]), int.from_bytes
        far = [(read(raw[at : at + step], "big") ^ wanted).bit_count() for at in range(0, len(raw), step)]
        live = sorted(x for slot, x in enumerate(far) if scales[slot])
        if not live:
            return set()
        cut = live[min(SIEVED, len(live)) - 1]
        return {slot for slot, x in enumerate(far) if x <= cut and scales[slot]}
