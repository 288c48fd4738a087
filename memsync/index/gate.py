"""How sure it is that a record answers a query: evidence, weighed.

What speaks for it are the words that are there, each as rare as it is in the store and as much as it tells in any text,
how near the meanings lie, and the score; against it what was asked and is not there, the length of the record and the
size of the store, in which more matches by chance. What agrees with the surest is surer (ADR 71). A word counts once,
and a chunk of the query by its rarest: a file name that everybody has, or a word in five names, is no more than its words.
Pure, and the same with and without numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, compress
from math import exp, fsum, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.index.query import Query
from memsync.index.scale import (
    AGREEING,
    ASIDE,
    AT_PLACE,
    BASE,
    BROAD,
    CHANCE,
    CROWD,
    EXACT,
    FADING,
    FEW,
    FEW_PLACED,
    GENERAL,
    HALF_SAID,
    HIDDEN,
    LATE,
    LEXICAL,
    LIKENESS,
    LONG,
    MISSED,
    NAMED,
    PATIENCE,
    PROXIMITY,
    REVERSED,
    ROOM,
    SUBJECT,
    TOLD,
    VERBS,
)
from memsync.index.static import is_known, tell
from memsync.index.terms import number_of
from memsync.records import Memory

if TYPE_CHECKING:
    from memsync.index.tokens import Said

_SHARES: Final = [0.0, *((apart + 1) ** -FADING for apart in range(ASIDE))]  # by how far two words are apart
_TINY: Final = 1e-9
_LETTERS: Final = 5  # of a name that is not one by chance


class Wording:
    """Reads records for one query (ADR 71): what is said apart, or far down, is worth less than its words alone."""

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
        return PROXIMITY * together / self._whole - LATE * lexical * (1 - early / found)


Words = tuple[str, ...]


class Lens(NamedTuple):
    """What an index knows of words: their weights, which it took for others, what else they are called, what the record of a slot *said*, how any is *read*, and the *tokens* of a text."""

    weight: Callable[[str], float]
    frequency: Callable[[str], int]
    ceiling: float
    alike: Mapping[str, Sequence[tuple[str, float]]]
    called: Mapping[str, Sequence[tuple[tuple[str, ...], float]]]
    said: Callable[[int, Memory], Said]
    read: Callable[[Memory], Said]
    tokens: Callable[[str], Sequence[str]]
    live: int
    weight_of_meaning: float


class Weighed(NamedTuple):
    """The confidence in a record, 0 to 1, the numbers of the terms that it has, and what its wording adds to its score."""

    confidence: float
    terms: frozenset[int]
    wording: float


class Covered(NamedTuple):
    """A word of a query as its rarest *term*, its *rarity* (0 to 1), and what of it counts for a record: by which terms, how much.

    *tag* is the one of the record that it says and that counts as a name.
    """

    term: str
    rarity: float
    by: tuple[str, ...] = ()
    counts: float = 0.0
    tag: str = ""


Account = Callable[[Memory], Sequence[Covered]]


class Gate:
    """Weighs records against one query, their terms by number."""

    def __init__(self, query: Query, lens: Lens) -> None:
        self._lens = lens
        weights = {term: lens.weight(term) for term in query.terms}
        self._wording = Wording(query, weights, lens.ceiling)
        weights |= {term: weights[term] * tell(word) for term, word in query.spelled.items() if term in weights}
        chunks = [*_accept(query, lens, weights)]
        self._asked_terms = query.chunks
        self._asked = sum(max(chunk.values(), default=0.0) for chunk in chunks)
        verbs = {number for number, chunk in enumerate(query.chunks) if VERBS.issuperset(chunk)}
        if len(verbs) < len(chunks):  # they are asked for, and say nothing for what has them
            chunks = [{} if number in verbs else chunk for number, chunk in enumerate(chunks)]
        places, called = _places_of(chunks), [one for one in _called(query, lens, weights) if one[1] not in verbs]
        self._chunks = chunks
        self._spelled = {number_of(term): term for term in chain(places, *(words for words, _, _ in called))}
        self._places = {number_of(term): found for term, found in places.items()}
        self._called = [(frozenset(map(number_of, words)), chunk, rarity) for words, chunk, rarity in called]
        self._words = frozenset(self._places)
        self._rare = frozenset(number_of(term) for term in places if lens.frequency(term) <= FEW_PLACED)
        counted = {term for chunk in query.chunks for term in chunk}
        exact = [term for term in query.terms if term not in counted]
        self._exact = [(number_of(term), weights[term]) for term in exact]
        self._counted = [(number_of(term), weights[term]) for term in query.terms if term in counted] if exact else []
        self._subjects = _find_subjects(query, lens)
        self._named = _find_named(query, lens)
        self._offset = BASE - CROWD * log(lens.live + ROOM)

    def weigh(self, slot: int, memory: Memory, lexical: float, semantic: float, place: float = 0.0) -> Weighed:
        """Return how sure it is that *memory*, that of *slot*, with these parts of a score, answers, its words, and what they add to the score.

        *place*: how much it says, 0 to 1, that it is anchored to what was named.
        """
        terms, words, hidden = self._lens.said(slot, memory)
        share = self._share_of_words(words | hidden) if self._exact else 1.0
        evidence = self._sum_up(self._found(words, hidden), lexical, semantic, share) + AT_PLACE * place
        evidence += NAMED * max(not self._named.isdisjoint(words), self._find_tagged(memory.tags))
        sure = _confidence(evidence - LONG * log(max(len(terms), 1)))
        is_about = self._subjects and not (words.isdisjoint(self._subjects) and hidden.isdisjoint(self._subjects))
        sure = max(sure, BROAD) if is_about else sure
        return Weighed(sure, words, self._wording.score(terms, lexical))

    def account(self, memory: Memory) -> Sequence[Covered]:
        """Return what of each word of the query counts for *memory*, the rarest first; by nothing: what it lacks."""
        _, words, hidden = self._lens.read(memory)
        found: dict[int, Covered] = {}
        for number, rarities in enumerate(self._chunks):
            if term := max(self._asked_terms[number], key=lambda one: rarities.get(one, 0.0), default=""):
                found[number] = Covered(term, rarities.get(term, 0.0))
        for by, number, counts in self._list_counting(words, hidden):
            if number in found and counts > found[number].counts:
                found[number] = found[number]._replace(by=by, counts=counts)
        for tag, terms in self._list_said(memory.tags):
            for number, one in found.items():
                if not terms.isdisjoint(map(number_of, one.by)):
                    found[number] = one._replace(tag=tag)
        return sorted(found.values(), key=lambda one: -one.rarity)

    def _list_counting(self, words: frozenset[int], hidden: frozenset[int]) -> Iterator[tuple[Words, int, float]]:
        spell = self._spelled.__getitem__
        for held, share in ((words, 1.0), (hidden, HIDDEN)):
            for word in sorted(held & self._words, key=spell):
                yield from (((spell(word),), chunk, rarity * share) for chunk, rarity in self._places[word])
        for others, chunk, rarity in self._called:
            if others <= words:
                yield tuple(sorted(map(spell, others))), chunk, rarity

    @property
    def words(self) -> Collection[int]:
        """The numbers of the words that count, those that were taken for one of the query included."""
        return self._words.union(self._named, *(words for words, _, _ in self._called))

    def limit(self, held: frozenset[int], lexical: float, semantic: float, place: float = 0.0) -> float:
        """Return how sure a record could make at most that has of the `words` those *held*, and parts of a score no larger than these."""
        if self._subjects:
            return 1.0
        found = self._found(held, frozenset())
        evidence = self._sum_up(found, lexical, semantic, 1.0) + AT_PLACE * place
        tagged = 0.0 if self._rare.isdisjoint(held) else max(found, default=0.0)
        evidence += NAMED * max(not self._named.isdisjoint(held), tagged)
        return _confidence(evidence) + _TINY

    def _find_tagged(self, tags: Sequence[str]) -> float:
        """Return the rarity, 0 to 1, of the rarest of *tags* that name what a record is about."""
        return max((max(self._found(terms, frozenset())) for _, terms in self._list_said(tags)), default=0.0)

    def _list_said(self, tags: Sequence[str]) -> Iterator[tuple[str, frozenset[int]]]:
        """Yield those of *tags*, each with its terms, that the query says whole and that have a word of few records."""
        for tag in tags:
            terms = frozenset(number_of(term) for term in self._lens.tokens(tag) if not term.startswith(EXACT))
            if terms <= self._words and not terms.isdisjoint(self._rare):
                yield tag, terms

    def _sum_up(self, found: Sequence[float], lexical: float, semantic: float, share_of_words: float) -> float:
        """Return the evidence for a record of one word; none of the parts speaks against it."""
        said = fsum(found)  # in any order the same
        return (
            self._offset
            + TOLD * said
            - MISSED * sqrt(max(self._asked - said, 0.0))
            + LIKENESS * semantic / (self._lens.weight_of_meaning or 1.0)
            + LEXICAL * lexical * share_of_words
        )

    def _share_of_words(self, held: Collection[int]) -> float:
        """Return how much of the weight *held* is that of words, not of a whole name beside its parts."""
        exact = sum(weight for term, weight in self._exact if term in held)
        words = sum(weight for term, weight in self._counted if term in held)
        return words / (words + exact) if exact else 1.0

    def _found(self, words: frozenset[int], hidden: frozenset[int]) -> list[float]:
        """Return the rarity, 0 to 1, of what is said of each chunk; what is *hidden* and not among the *words* counts less."""
        best: dict[int, float] = {}
        for held, share in ((words, 1.0), (hidden, HIDDEN)):
            for word in held & self._words:
                for chunk, rarity in self._places[word]:
                    best[chunk] = max(best.get(chunk, 0.0), rarity * share)
        for others, chunk, rarity in self._called:
            if others <= words:
                best[chunk] = max(best.get(chunk, 0.0), rarity)
        return [*best.values()]


def _confidence(evidence: float) -> float:
    return 1 / (1 + exp(-evidence))


def _places_of(chunks: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """Return the chunks that each word counts in, by number, and its rarity there."""
    places: dict[str, list[tuple[int, float]]] = {}
    for number, chunk in enumerate(chunks):
        for word, rarity in chunk.items():
            places.setdefault(word, []).append((number, rarity))
    return places


def agree(confidence: float, share: float) -> float:
    """Return the *confidence* in a record that has this *share*, 0 to 1, of the words that the surest has beyond what was asked.

    What answers one prompt is told in the same words; a hit that shares only the words of the prompt is more often by chance.
    """
    return confidence / (confidence + (1 - confidence) * exp(AGREEING * (CHANCE - share)))


def _find_subjects(query: Query, lens: Lens) -> frozenset[int]:
    """Return the numbers of the words that the store is about, where the query asks for nothing else: "how do payments work?"."""
    enough = SUBJECT * lens.live
    subjects = {term for chunk in query.chunks for term in chunk if lens.frequency(term) >= enough}
    is_broad = all(not subjects.isdisjoint(chunk) or GENERAL.issuperset(chunk) for chunk in query.chunks)
    return frozenset(map(number_of, subjects)) if is_broad and lens.live >= FEW else frozenset()


def _find_named(query: Query, lens: Lens) -> frozenset[int]:
    """Return the numbers of the names of several parts in the query that one or two records have: as good as a place that is named."""
    rare = [term for term in query.identifiers if 0 < lens.frequency(term) <= FEW_PLACED and _is_name(term[1:])]
    return frozenset(map(number_of, rare))


def _is_name(text: str) -> bool:
    if sum(map(str.isalpha, text)) < _LETTERS or text[1:-1].isalnum():
        return False
    from memsync.index.places import GENERIC  # few prompts have such a name

    return text not in GENERIC


def _accept(query: Query, lens: Lens, weights: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Yield the words that count as each chunk, with their rarity: each word in the first that it counts in.

    What is a word as it is written is not taken for one like it: a hang is no change.
    """
    counted: set[str] = set()
    for chunk in query.chunks:
        rarities = {term: weights[term] / lens.ceiling for term in chunk}
        unknown = [term for term in chunk if term in lens.alike and not is_known(query.spelled.get(term, term))]
        alike = {word: share * rarities[term] for term in unknown for word, share in lens.alike[term]}
        found = {word: rarity for word, rarity in (alike | rarities).items() if word not in counted}
        yield found
        counted.update(found)


def _called(query: Query, lens: Lens, weights: Mapping[str, float]) -> Iterator[tuple[frozenset[str], int, float]]:
    """Yield what else the words of each chunk are called, with its number and the rarity there, which counts as that of a hidden word."""
    for number, chunk in enumerate(query.chunks if lens.called else ()):
        for term in chunk:
            for words, share in lens.called.get(term, ()):
                rarity = min(weights[term], *map(lens.weight, words)) / lens.ceiling
                yield frozenset(words), number, HIDDEN * share * rarity
