"""One query over the database of the index, without numpy: for a process that answers once.

Computes what `core.Index` computes, in the same order, so that the scores are
equal to the last bit; importing numpy alone would take longer than all of it.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import nlargest
from itertools import chain
from math import sqrt
from operator import mul
from struct import iter_unpack
from typing import Final

from memsync.index.database import Database, pack, signed, unpack, unseal_all
from memsync.index.embed import Meaning
from memsync.index.gate import Lens
from memsync.index.query import Query, parse
from memsync.index.rank import Allow, Candidates, Parts, Ranking, Record, can_reach, rank, take_best
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
from memsync.index.terms import Damping, damping_of, find_nearness, take_alike, term_key, trigrams, weigh_term
from memsync.index.tokens import Said, Tokenizer, say
from memsync.records import Memory
from memsync.system.programs import collector_paused

_TINY: Final = 1e-12
_NO_PAIRS: Final = pack("i", ())
_AT_ONCE: Final = 1_000  # terms of one statement
_TEXTS: Final = 4  # that are kept for a second question: a prompt and its parts
_RAISED: Final = bytes((byte + 128) % 256 for byte in range(256))  # a signed byte, by 128


class Cold:
    """The scores of the warm index, computed term by term from the rows of *database*, which stay as they are.

    *record* reads the record of a slot.
    """

    def __init__(
        self, database: Database, record: Callable[[int], Record | None], meaning: Meaning | None, *, stop_words: bool
    ) -> None:
        self._ask, self._read, self._meaning = database.ask, record, meaning
        self._records: dict[int, Record | None] = {}
        self._tokenizer = Tokenizer(stop_words=stop_words)
        self._synonyms = Synonyms(self._tokenizer.terms)
        self._shapes = database.read_shapes()
        lengths = self._shapes.lengths
        self._lengths: dict[int, int] = dict(zip(self._shapes.slots, lengths, strict=True))
        self._live = len(lengths)
        self._sizes = self._live, float(sum(lengths)), float(sum(map(mul, lengths, lengths)))
        self._postings: dict[int, array[int]] = {}  # of each key that was asked for
        self._found: dict[tuple[str, bool], tuple[Query, Candidates]] = {}

    def search(
        self, text: str, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool], weighed: int = WEIGHED
    ) -> Ranking:
        """Return what the warm index would."""
        return rank(*self._find(text, places=weighed > 0), limit=limit, allow=allow, is_mine=is_mine, weighed=weighed)

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any record answers *text* with a confidence of *floor*; True in doubt."""
        return can_reach(*self._find(text), floor, lambda key: self._read_postings(key)[::2])

    def find_sharing(self, terms: Iterable[int], share: float, *, limit: int, allow: Allow) -> list[Record]:
        """Return what the warm index would."""
        self._load_postings(keys := sorted(terms))
        having = [self._read_postings(key)[::2] for key in keys]
        shared = Counter(chain.from_iterable(having))
        enough = {slot for slot, n in shared.items() if n >= share * min(len(keys), self._lengths[slot])}
        scores = dict.fromkeys(enough, 0.0)
        for slots in having:
            weight = weigh_term(len(slots), self._live)
            for slot in enough.intersection(slots):
                scores[slot] += weight
        ordered = sorted(((score, slot) for slot, score in scores.items()), reverse=True)
        return take_best(ordered, self._record, limit, allow)

    def _record(self, slot: int) -> Record | None:
        if slot not in self._records:
            self._records[slot] = self._read(slot)
        return self._records[slot]

    def _find(self, text: str, *, places: bool = True) -> tuple[Query, Candidates]:
        if (text, places) not in self._found:
            if len(self._found) == _TEXTS:
                for kept in (self._found, self._records, self._postings):
                    kept.clear()
            query = parse(text, self._tokenizer, places=places)
            with collector_paused(lasting=False):  # of a large store there are tuples by the hundred thousand
                self._found[text, places] = query, self._candidates(text, query)
        return self._found[text, places]

    def _candidates(self, text: str, query: Query) -> Candidates:
        alike: dict[str, list[tuple[str, float]]] = {}
        called: dict[str, list[tuple[Words, float]]] = {}
        lexical, exact = self._lexical(query, alike, called)
        identifier = {slot: IDENTIFIER * share for slot, share in exact.items()} if query.led else {}
        wordy = {slot: x + identifier.get(slot, 0.0) for slot, x in lexical.items()} if identifier else lexical
        asked = self._meaning.query(text) if self._meaning else None
        weight = self._meaning.weight(len(query.chunks)) if asked and self._meaning else 0.0
        semantic = self._semantic(asked, wordy, weight) if asked else {}
        placed = query.find_placed(self._frequency, lambda term: self._read_postings(term_key(term))[::2])
        total = wordy.copy()
        for part in (semantic, placed):
            total |= {slot: total.get(slot, 0.0) + x for slot, x in part.items()}
        return Candidates(
            ordered=sorted([(x, slot) for slot, x in total.items() if x > 0], reverse=True),
            record=self._record,
            parts=lambda slot: Parts(
                lexical.get(slot, 0.0), semantic.get(slot, 0.0), identifier.get(slot, 0.0), place=placed.get(slot, 0.0)
            ),
            lens=Lens(
                weight=lambda term: weigh_term(self._frequency(term), self._live),
                frequency=self._frequency,
                ceiling=weigh_term(0, self._live),
                alike=alike,
                called=called,
                said=self._say,
                read=self._tokenizer.read,
                tokens=self._tokenizer.terms,
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
        self._load_postings(map(term_key, query.terms))
        for term in query.terms:
            seen = self._frequency(term)
            weight = weigh_term(seen, self._live)
            asked += weight
            gains = self._gains(term, weight, damping)
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

    def _say(self, slot: int, _: Memory) -> Said:
        terms, spoken = self._ask("SELECT terms, spoken FROM said WHERE slot = ?", (slot,)).fetchone()
        return say(unpack("Q", terms).tolist(), spoken)

    def _frequency(self, term: str) -> int:
        return len(self._read_postings(term_key(term))) // 2

    def _read_postings(self, key: int) -> array[int]:
        if key not in self._postings:
            self._load_postings([key])
        return self._postings[key]

    def _load_postings(self, keys: Iterable[int]) -> None:
        """Have the postings of *keys* at hand, by one statement."""
        new = [key for key in dict.fromkeys(keys) if key not in self._postings]
        for at in range(0, len(new), _AT_ONCE):
            some = new[at : at + _AT_ONCE]
            wanted = ", ".join(str(signed(key)) for key in some)
            found = dict(self._ask(f"SELECT key, pairs FROM term WHERE key IN ({wanted})").fetchall())
            self._postings |= {key: unpack("i", found.get(signed(key), _NO_PAIRS)) for key in some}

    def _gains_of_all(self, words: Words, weight: float, damping: Damping) -> Iterator[tuple[int, float]]:
        if len(words) == 1:
            return iter(self._gains(words[0], weight, damping).items())
        first, *others = (self._gains(word, weight, damping) for word in words)
        return (
            (slot, min(gain, *(other[slot] for other in others)))
            for slot, gain in first.items()
            if all(slot in other for other in others)
        )

    def _gains(self, term: str, weight: float, damping: Damping) -> dict[int, float]:
        offset, scale = damping
        pairs, lengths = self._read_postings(term_key(term)), self._lengths
        return {
            slot: weight * (count / (count + (offset + scale * lengths[slot])))
            for slot, count in zip(pairs[::2], pairs[1::2], strict=True)
        }

    def _alike(self, word: str, *, known: bool) -> list[tuple[str, float]]:
        grams = trigrams(word)
        shared: Counter[int] = Counter()
        sizes: dict[int, int] = {}
        for (raw,) in self._ask(f"SELECT pairs FROM gram WHERE key IN ({', '.join(map(str, grams))})"):
            pairs = unpack("i", raw)
            shared.update(numbers := pairs[::2])
            sizes.update(zip(numbers, pairs[1::2], strict=True))
        likeness = {number: count / sqrt(sizes[number] * len(grams)) for number, count in shared.items()}
        may_be_typo = len(word) >= TYPO_LETTERS and not known
        least = NOMINATED if may_be_typo else ALIKE
        wanted = ", ".join(str(number) for number, x in likeness.items() if x >= least)
        words = dict(self._ask(f"SELECT number, word FROM word WHERE number IN ({wanted})"))
        typos = dict[str, float]()
        if may_be_typo:
            typos = {other: nearness for other in words.values() if (nearness := find_nearness(word, other))}

        def read(most: int) -> tuple[float, dict[str, float]]:
            high = sorted(x for x in likeness.values() if x > ALIKE)
            edge = high[-most] if most < len(high) else 0.0
            return edge, {words[number]: x for number, x in likeness.items() if x >= max(edge, ALIKE)}

        found = take_alike(word, read, typos, bool)
        self._load_postings(term_key(other) for other, _ in found)
        return found

    def _semantic(self, asked: tuple[list[int], float], wordy: dict[int, float], weight: float) -> dict[int, float]:
        assert self._meaning is not None
        vector, scale = asked
        unrelated = self._meaning.unrelated
        scales, _ = self._signs
        best = max(min(nlargest(SIEVED, wordy.values()), default=0.0), _TINY)
        chosen = self._near(vector).union(slot for slot, x in wordy.items() if x >= best and slot in scales)
        wanted = ", ".join(map(str, sorted(chosen)))
        rows = self._ask(f"SELECT slot, numbers FROM vector WHERE slot IN ({wanted})").fetchall()
        found = {}
        for (slot, _), dot in zip(rows, multiply(vector, b"".join(unseal_all([one for _, one in rows]))), strict=True):
            like = max((dot * scales[slot] * scale - unrelated) / (1 - unrelated), 0.0)
            if like > 0 and (wordy.get(slot, 0.0) or like >= WORDLESS):
                found[slot] = weight * like
        return found

    @cached_property
    def _signs(self) -> tuple[dict[int, float], list[int]]:
        """The scale of the vector of each slot that has one, and its sign bits in the same order."""
        shapes, step = self._shapes, self._shapes.step
        scales = {slot: scale for slot, scale in zip(shapes.slots, shapes.scales, strict=True) if scale}
        signs = iter_unpack(f"{step}s", shapes.signs) if step else ()
        return scales, [int.from_bytes(bits, "big") for (bits,) in signs]

    def _near(self, vector: Sequence[int]) -> set[int]:
        """Return the slots that are among the SIEVED nearest by sign bits, ties included."""
        step = -(-len(vector) // 8)
        wanted = int("".join("1" if x > 0 else "0" for x in vector).ljust(8 * step, "0"), 2)
        scales, signs = self._signs
        far = [(bits ^ wanted).bit_count() for bits in signs]
        if not far:
            return set()
        cut = sorted(far)[min(SIEVED, len(far)) - 1]
        return {slot for distance, slot in zip(far, scales, strict=True) if distance <= cut}


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
