"""One query over a cached index, without numpy: for a process that answers once.

Computes what `core.Index` computes, in the same order, so that the scores are
equal to the last bit; importing numpy alone would take longer than all of it.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress
from math import sqrt
from operator import mul
from typing import Any, Final

from memsync.index.cache import Cached
from memsync.index.damping import Damping, damping_of, weigh_term
from memsync.index.delta import UNCHANGED, Delta, postings_of
from memsync.index.embed import Meaning
from memsync.index.gate import Lens
from memsync.index.nearness import find_nearness, take_alike
from memsync.index.query import Query, parse
from memsync.index.rank import Allow, Candidates, Parts, Ranking, Record, can_reach, rank
from memsync.index.scale import (
    ALIKE,
    EXACT,
    IDENTIFIER,
    NOMINATED,
    PATIENCE,
    SIEVED,
    TYPO_LETTERS,
    WEIGHED,
    WIDENED,
    WORDLESS,
)
from memsync.index.synonyms import Synonyms, Words
from memsync.index.terms import term_key, trigrams
from memsync.index.tokens import Said, Tokenizer, say
from memsync.records import Memory

_TINY: Final = 1e-12
_TEXTS: Final = 4  # that are kept for a second question: a prompt and its parts
_RAISED: Final = bytes((byte + 128) % 256 for byte in range(256))  # a signed byte, by 128


class OneShot:
    """The scores of the warm index, computed term by term from the mapped arrays."""

    def __init__(
        self,
        cached: Cached,
        meaning: Meaning | None,
        *,
        stop_words: bool,
        delta: Delta = UNCHANGED,
    ) -> None:
        self._a: Any = cached.views
        self._let_go = cached.let_go
        self.record: Callable[[int], Record | None] = lambda _: None  # reads the record of a slot; whoever asks sets it
        self._meaning = meaning if "vectors.numbers" in cached.views else None
        self._lengths: list[float] = list(self._a["base.lengths"])
        self._first, self._late, self._dead = len(self._lengths), delta.late, set(delta.dead)
        self._late_postings = postings_of(delta, self._first)
        self._lengths += [float(one.length) for one in delta.late]
        for slot in self._dead:
            self._lengths[slot] = 0.0
        self._live = len(self._lengths) - len(self._dead)
        self._sizes = self._live, sum(self._lengths), sum(map(mul, self._lengths, self._lengths))
        self._tokenizer = Tokenizer(stop_words=stop_words)
        self._synonyms = Synonyms(self._tokenizer.terms)
        self._found: dict[tuple[str, bool], tuple[Query, Candidates]] = {}

    def search(
        self, text: str, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool], weighed: int = WEIGHED
    ) -> Ranking:
        """Return what the warm index would."""
        return rank(*self._find(text, places=weighed > 0), limit=limit, allow=allow, is_mine=is_mine, weighed=weighed)

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any record answers *text* with a confidence of *floor*; True in doubt."""
        return can_reach(*self._find(text), floor, lambda key: (slot for slot, _ in self._postings(key)))

    def _find(self, text: str, *, places: bool = True) -> tuple[Query, Candidates]:
        """Return what was found for *text*, which may be asked for twice."""
        if (text, places) not in self._found:
            if len(self._found) == _TEXTS:
                self._found.clear()
            query = parse(text, self._tokenizer, places=places)
            self._found[text, places] = query, self._candidates(text, query)
        return self._found[text, places]

    def _candidates(self, text: str, query: Query) -> Candidates:
        alike: dict[str, list[tuple[str, float]]] = {}
        called: dict[str, list[tuple[Words, float]]] = {}
        lexical, exact = self._lexical(query, alike, called)
        self._let_go()  # of what was read of a large file, part by part, as the warm index does
        identifier = {slot: IDENTIFIER * share for slot, share in exact.items()} if query.led else {}
        wordy = {slot: x + identifier.get(slot, 0.0) for slot, x in lexical.items()}
        asked = self._meaning.query(text) if self._meaning else None
        weight = self._meaning.weight(len(query.chunks)) if asked and self._meaning else 0.0
        semantic = self._semantic(asked, wordy, weight) if asked else {}
        placed = query.find_placed(self._frequency, self._list_live)
        self._let_go()
        total = {slot: wordy.get(slot, 0.0) + semantic.get(slot, 0.0) for slot in wordy.keys() | semantic.keys()}
        total |= {slot: total.get(slot, 0.0) + gain for slot, gain in placed.items()}
        return Candidates(
            ordered=sorted(((x, slot) for slot, x in total.items() if x > 0), reverse=True),
            record=self._read,
            parts=lambda slot: Parts(
                lexical.get(slot, 0.0),
                semantic.get(slot, 0.0),
                identifier.get(slot, 0.0),
                place=placed.get(slot, 0.0),
            ),
            lens=Lens(
                weight=lambda term: weigh_term(self._frequency(term), self._live),
                frequency=self._frequency,
                ceiling=weigh_term(0, self._live),
                alike=alike,
                called=called,
                said=self._say,
                read=self._tokenizer.read,
                live=self._live,
                weight_of_meaning=weight,
            ),
            degraded=self._meaning.failed if self._meaning else "",
            nearest=max(placed.values(), default=0.0),
        )

    def _lexical(
        self, query: Query, alike: dict[str, list[tuple[str, float]]], called: dict[str, list[tuple[Words, float]]]
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Return the lexical score and the share of identifiers by slot, and add how words were widened to *alike* and *called*."""
        scores: dict[int, float] = {}
        exact: dict[int, float] = {}
        asked, names = 0.0, 0
        damping = damping_of(*self._sizes, len(query.chunks))
        for term in query.terms:
            seen = self._frequency(term)
            weight = weigh_term(seen, self._live)
            asked += weight
            gains = dict(self._gains(term, weight, damping))
            if term.startswith(EXACT):
                names += 1
                for slot in gains:
                    exact[slot] = exact.get(slot, 0.0) + weight
            elif seen <= WIDENED:
                alike[term] = self._alike(term, known=seen > 0)
                called[term] = self._synonyms.find(term, query, self._frequency)
                for words, share in (*(((word,), share) for word, share in alike[term]), *called[term]):
                    rarity = min(weigh_term(self._frequency(word), self._live) for word in words)
                    for slot, gain in self._gains_of_all(words, share * min(weight, rarity), damping):
                        gains[slot] = max(gain, gains.get(slot, 0.0))
            for slot, gain in gains.items():
                scores[slot] = scores.get(slot, 0.0) + gain
        ceiling = weigh_term(0, self._live)
        whole = asked + PATIENCE * ceiling
        return {s: x / whole for s, x in scores.items()}, {s: x / (names * ceiling) for s, x in exact.items()}

    def _list_live(self, term: str) -> list[int]:
        return [slot for slot, _ in self._postings(term_key(term)) if slot not in self._dead]

    def _say(self, slot: int, memory: Memory) -> Said:
        """Return what *memory*, that of *slot*, says, which is read if it came after the cache."""
        if slot >= self._first:
            return self._tokenizer.read(memory)
        start, middle, end = self._a["forward.starts"][2 * slot : 2 * slot + 3]
        keys, places = self._a["base.keys"], self._a["forward.terms"][start:end].tolist()
        return say(list(map(keys.__getitem__, places)), middle - start)

    def _read(self, slot: int) -> Record | None:
        return self.record(slot)

    def _frequency(self, term: str) -> int:
        key = term_key(term)
        low, high = self._range(key)
        return high - low - self._count_dead(low, high) + len(self._late_postings.get(key, ()))

    def _count_dead(self, low: int, high: int) -> int:
        if not self._dead or low == high:
            return 0
        slots = self._a["base.slots"]
        places = ((slot, bisect_left(slots, slot, low, high)) for slot in self._dead)
        return sum(at < high and slots[at] == slot for slot, at in places)

    def _range(self, key: int) -> tuple[int, int]:
        keys, starts = self._a["base.keys"], self._a["base.starts"]
        at = bisect_left(keys, key)
        return (starts[at], starts[at + 1]) if at < len(keys) and keys[at] == key else (0, 0)

    def _gains_of_all(self, words: Words, weight: float, damping: Damping) -> Iterator[tuple[int, float]]:
        """Yield the slots that have all of *words*, and what the rarest of them gains there."""
        if len(words) == 1:
            return self._gains(words[0], weight, damping)
        first, *others = (dict(self._gains(word, weight, damping)) for word in words)
        return (
            (slot, min(gain, *(other[slot] for other in others)))
            for slot, gain in first.items()
            if all(slot in other for other in others)
        )

    def _gains(self, term: str, weight: float, damping: Damping) -> Iterator[tuple[int, float]]:
        offset, scale = damping
        for slot, count in self._postings(term_key(term)):
            if slot not in self._dead:
                yield slot, weight * (count / (count + (offset + scale * self._lengths[slot])))

    def _postings(self, key: int) -> Iterator[tuple[int, float]]:
        low, high = self._range(key)
        slots, counts = self._a["base.slots"][low:high].tolist(), self._a["base.counts"][low:high].tolist()
        return chain(zip(slots, counts, strict=True), self._late_postings.get(key, ()))

    def _alike(self, word: str, *, known: bool) -> list[tuple[str, float]]:
        keys, starts, places = (self._a[f"grams.{name}"] for name in ("keys", "starts", "places"))
        grams = trigrams(word)
        shared: dict[int, int] = {}
        for gram in grams:
            at = bisect_left(keys, gram)
            if at < len(keys) and keys[at] == gram:
                for place in places[starts[at] : starts[at + 1]].tolist():
                    shared[place] = shared.get(place, 0) + 1
        sizes = self._a["grams.sizes"]
        likeness = {place: count / sqrt(sizes[place] * len(grams)) for place, count in shared.items()}
        may_be_typo = len(word) >= TYPO_LETTERS and not known
        late = self._late_alike(grams, NOMINATED if may_be_typo else ALIKE)
        typos = dict[str, float]()
        if may_be_typo:
            near = {self._word(place) for place, x in likeness.items() if x >= NOMINATED} | late.keys()
            typos = {other: nearness for other in near if (nearness := find_nearness(word, other))}

        def read(most: int) -> tuple[float, dict[str, float]]:
            high = sorted(x for x in likeness.values() if x > ALIKE)
            edge = high[-most] if most < len(high) else 0.0
            least = max(edge, ALIKE)
            found = {self._word(place): x for place, x in likeness.items() if x >= least}
            return edge, found | {other: x for other, x in late.items() if x >= ALIKE}

        return take_alike(word, read, typos, self._frequency if self._dead else bool)

    def _late_alike(self, grams: set[int], least: float) -> dict[str, float]:
        """Return the words that only late records have and that have at *least* that likeness to the word of *grams*."""
        found = {}
        for word in {word for one in self._late for word in one.words}:
            own = trigrams(word)
            if shared := len(own & grams):
                found[word] = shared / sqrt(len(own) * len(grams))
        return {word: x for word, x in found.items() if x >= least}

    def _word(self, place: int) -> str:
        ends = self._a["grams.ends"]
        return bytes(self._a["grams.letters"][ends[place - 1] if place else 0 : ends[place]]).decode()

    def _semantic(self, asked: tuple[list[int], float], wordy: dict[int, float], weight: float) -> dict[int, float]:
        assert self._meaning is not None
        vector, scale = asked
        unrelated, width = self._meaning.unrelated, len(vector)
        scales = self._scales()
        best = max(min(sorted(wordy.values())[-SIEVED:], default=0.0), _TINY)
        chosen = self._near(vector, scales).union(slot for slot, x in wordy.items() if x >= best)
        found = {}
        for slot, dot in zip(
            chosen, multiply(vector, b"".join(self._row(slot, width) for slot in chosen)), strict=True
        ):
            like = max((dot * scales[slot] * scale - unrelated) / (1 - unrelated), 0.0)
            if like > 0 and (wordy.get(slot, 0.0) or like >= WORDLESS):
                found[slot] = weight * like
        return found

    def _scales(self) -> list[float]:
        """Return the scale of each slot; 0 of what is dead, or has no vector."""
        scales: list[float] = self._a["vectors.scales"].tolist() + [one.scale for one in self._late]
        for slot in self._dead:
            scales[slot] = 0.0
        return scales

    def _row(self, slot: int, width: int) -> bytes:
        if slot < self._first:
            return bytes(self._a["vectors.numbers"][slot * width : (slot + 1) * width])
        return self._late[slot - self._first].numbers

    def _near(self, vector: Sequence[int], scales: Sequence[float]) -> set[int]:
        """Return the slots that are among the SIEVED nearest by sign bits, ties included."""
        step = -(-len(vector) // 8)
        wanted = int("".join("1" if x > 0 else "0" for x in vector).ljust(8 * step, "0"), 2)
        nothing = bytes(step)  # where the embedder had none
        late = b"".join(one.signs or nothing for one in self._late)
        raw, read = bytes(self._a["vectors.signs"]) + late, int.from_bytes
        far = [(read(raw[at : at + step], "big") ^ wanted).bit_count() for at in range(0, len(raw), step)]
        live = sorted(compress(far, scales))
        if not live:
            return set()
        cut = live[min(SIEVED, len(live)) - 1]
        return {slot for slot in compress(range(len(far)), map(cut.__ge__, far)) if scales[slot]}


def multiply(vector: Sequence[int], rows: bytes) -> Sequence[int]:
    """Return the product of *vector* with each of *rows*, signed bytes, all of them at once.

    A number of a thousand digits, one a row, is multiplied by one number of the vector after the other: seven times as
    quick as row by row. No digit overflows its four bytes in a vector of less than 130,000 numbers.
    """
    count, width = len(rows) // len(vector), len(vector)
    digits = bytearray(4 * count)
    lowest = 0 if sys.byteorder == "little" else 3
    raised = rows.translate(_RAISED)
    above, below = 0, 0
    for at, number in enumerate(vector):
        digits[lowest::4] = raised[at::width]
        if number > 0:
            above += number * int.from_bytes(digits, sys.byteorder)
        elif number < 0:
            below -= number * int.from_bytes(digits, sys.byteorder)
    both = (memoryview(one.to_bytes(4 * count, sys.byteorder)).cast("I") for one in (above, below))
    too_much = _RAISED[0] * sum(vector)
    return [one - other - too_much for one, other in zip(*both, strict=True)]
