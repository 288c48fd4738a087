"""From scored slots to a ranked list: filters, near-copies, boosts, the gate.

Pure, and without numpy: the warm index and the one-shot query both end here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

from memsync.index.gate import Account, Gate, Lens, agree
from memsync.index.query import Query, folded
from memsync.index.scale import BOOST, COPY, PHRASE, PLACED, POOL
from memsync.index.terms import number_of
from memsync.records import SCOPES, Memory, Scope

_COMPARED: Final = 200  # among more matches nobody looks for copies, and comparing all would take long
_ROUNDING: Final = 1e-6
_BLANK: Final = frozenset({""})

Record = tuple[Scope, Memory]
Read = Callable[[int], Record | None]
Words = tuple[str, ...]
# What a record is worth beside its match, 0 to 1; None: it does not count at all.
Allow = Callable[[Scope, Memory], float | None]


class Parts(NamedTuple):
    """Where a score comes from. The parts add up to it; boosts are not among them."""

    lexical: float
    semantic: float
    identifier: float
    phrase: float = 0.0
    place: float = 0.0
    wording: float = 0.0

    @property
    def score(self) -> float:
        """How well the record answers, on a scale that holds for every query and store."""
        return self.lexical + self.semantic + self.identifier + self.phrase + self.place + self.wording


class Match(NamedTuple):
    """One record that answers; `copy_of` is the id of a better one that says nearly the same.

    `confidence` says how sure that is, 0 to 1, and `terms` are the numbers of its words; both empty where nobody looked.
    `slot` is where the index has it; `by_chance` is what of its score any query would give it there.
    """

    scope: Scope
    memory: Memory
    parts: Parts
    boost: float
    copy_of: str | None = None
    confidence: float = 0.0
    terms: frozenset[int] = frozenset()
    slot: int = -1
    by_chance: float = 0.0

    @property
    def order(self) -> float:
        """What it is sorted by: boosts reorder by at most BOOST."""
        return (self.parts.score - self.by_chance) * (1 + BOOST * self.boost)


class Ranking(NamedTuple):
    """Matches best first; the *gate* is the confidence in the surest of them.

    `refused` are the ids that were not allowed, with the confidence in them; `weight_of_meaning` is what meaning
    counted beside words, 0 without any; `called` is what else rare words of the query are called. `account` says which of its words count for a memory.
    """

    matches: tuple[Match, ...] = ()
    gate: float = 0.0
    degraded: str = ""
    refused: Mapping[str, float] = {}
    weight_of_meaning: float = 0.0
    called: Mapping[str, Sequence[tuple[Words, float]]] = {}
    account: Account | None = None


class Candidates(NamedTuple):
    """What an index found: slots with falling scores, and how to look at one; *nearest* is the most that one gains by its place.

    *by_chance*: what of a slot's score any query would give it; *ordered* is without that.
    """

    ordered: Iterable[tuple[float, int]]
    record: Read
    parts: Callable[[int], Parts]
    lens: Lens
    degraded: str = ""
    nearest: float = 0.0
    by_chance: Mapping[int, float] = {}


def rank(
    query: Query, found: Candidates, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool], weighed: int
) -> Ranking:
    """Return the best *limit* of the records that *allow* lets through, and how sure the first *weighed* are.

    Filters come before the cut, however many records they reject. Of the best three times
    *limit*, the *weighed* of them ordered by their wording too, memories that are *mine* get up to half of the places first (two passes,
    without its weak matches); near-copies of a better match go last. Neither boosts nor places enter the gate, so they never lift noise over the floor.
    Where none is *weighed*, as of what a text may be a copy of, all count as nobody's and as worth the same, and no more are read than that takes.
    """
    if not weighed:
        return _nominate(query, found, limit, allow)
    gate = Gate(query, found.lens)
    refused: list[Match] = []
    ordered = _by_id_where_equal(found.record, found.ordered)
    size = _size_of_pool(query, limit)
    allowed = islice(_allowed(query, found, ordered, allow, refused), max(size, weighed) if limit else 0)
    pool = _sort(query, allowed)
    weighed_pool, passed_over = (list(_weigh(gate, some[:weighed])) for some in (pool, refused))
    weighed_pool.sort(key=_place)  # the same at each limit, because as many are read
    surest = _find_surest([*weighed_pool, *passed_over])
    pool = [*_agreeing(query, weighed_pool, surest), *pool[weighed:]][:size]
    has_passes = len(pool) > limit and len({is_mine(match.memory) for match in pool}) > 1
    distinct = _copies_last(pool, _COMPARED if has_passes else min(limit, _COMPARED))
    chosen = _two_passes([*distinct], limit, is_mine) if has_passes else islice(distinct, limit)
    return Ranking(
        matches=tuple(chosen),
        gate=max((match.confidence for match in pool), default=0.0),
        degraded=found.degraded,
        refused={match.memory.id: match.confidence for match in passed_over},
        weight_of_meaning=found.lens.weight_of_meaning,
        called=found.lens.called,
        account=gate.account,
    )


def _nominate(query: Query, found: Candidates, limit: int, allow: Allow) -> Ranking:
    """Return the best *limit* of the records that *allow* lets through, all for the same worth; near-copies go last."""
    ordered, size = _by_id_where_equal(found.record, found.ordered), _size_of_pool(query, limit)
    pool: Iterable[Match] = islice(_allowed(query, found, ordered, allow, []), size)
    if query.led or query.phrases:  # else they are sorted as they come
        pool = _sort(query, pool)
    return Ranking(
        matches=tuple(islice(_copies_last(pool, min(limit, _COMPARED)), limit)),
        degraded=found.degraded,
        weight_of_meaning=found.lens.weight_of_meaning,
        called=found.lens.called,
    )


def _size_of_pool(query: Query, limit: int) -> int:
    return limit * POOL * (POOL if query.phrases else 1)


def can_reach(query: Query, found: Candidates, floor: float, having: Callable[[int], Iterable[int]]) -> bool:
    """Tell whether any record answers *query* with a confidence of *floor*: True in doubt. *having*: which slots have the term of a number.

    Only the records are read that could by their words, their score and their meaning, however short they were.
    """
    if found.degraded:
        return True
    gate = Gate(query, found.lens)
    holders = {word: frozenset(having(word)) for word in gate.words}
    every, nearest = frozenset(gate.words), found.nearest / PLACED
    for score, slot in found.ordered:
        if max(gate.limit(every, score, 0.0, nearest), gate.limit(every, 0.0, score, nearest)) < floor:
            return False  # nor can any below
        parts = found.parts(slot)
        own = frozenset(word for word, slots in holders.items() if slot in slots)
        if gate.limit(own, parts.lexical, parts.semantic, parts.place / PLACED) >= floor:
            record = found.record(slot)
            if record is None or _weigh_record(gate, query, slot, record, parts) >= floor:
                return True
    return False


def _weigh_record(gate: Gate, query: Query, slot: int, record: Record, parts: Parts) -> float:
    place = _see_place(query, *record, parts.place)
    return gate.weigh(slot, record[1], parts.lexical, parts.semantic, place / PLACED).confidence


def _weigh(gate: Gate, matches: Iterable[Match]) -> Iterator[Match]:
    for match in matches:
        parts = match.parts
        found = gate.weigh(match.slot, match.memory, parts.lexical, parts.semantic, parts.place / PLACED)
        worded = parts._replace(wording=found.wording)
        yield match._replace(parts=worded, confidence=found.confidence, terms=found.terms)


def _see_place(query: Query, scope: Scope, memory: Memory, place: float) -> float:
    """Return of what *memory* gains by its *place* what its anchors give: the index knows only how their paths end."""
    if not place or scope == "global":  # which is of no repository
        return 0.0
    return min(place, PLACED * query.named.fit(memory.anchors)[0])


def _find_surest(matches: Sequence[Match]) -> Match | None:
    """Return the surest of *matches*, of those that words found if there are any: by its words others are measured."""
    worded = [match for match in matches if not match.parts.place]
    return max(worded or matches, key=attrgetter("confidence"), default=None)


def _agreeing(query: Query, matches: Iterable[Match], surest: Match | None) -> Iterator[Match]:
    """Yield *matches*, each surer or less sure by how much it says of what the *surest* says and nobody asked for."""
    asked = frozenset(map(number_of, query.terms))
    told = surest.terms - asked if surest else asked
    for match in matches:
        terms = match.terms
        shorter = min(len(terms) - len(terms & asked), len(told))
        if surest is None or match is surest or not shorter or match.parts.place:
            yield match
        else:
            sure = min(agree(match.confidence, len(terms & told) / shorter), surest.confidence)
            yield match._replace(confidence=sure)


def _allowed(
    query: Query, found: Candidates, ordered: Iterable[tuple[Scope, Memory, int]], allow: Allow, refused: list[Match]
) -> Iterator[Match]:
    """Yield the records of *ordered* that are allowed, one an id. Adds to *refused* what is not."""
    seen: set[str] = set()
    for scope, memory, slot in ordered:
        if memory.id in seen:
            continue
        parts, by_chance = found.parts(slot), found.by_chance.get(slot, 0.0)
        if parts.place:
            parts = parts._replace(place=_see_place(query, scope, memory, parts.place))
            if not parts.score > by_chance:
                continue
        if (boost := allow(scope, memory)) is None:
            refused.append(Match(scope, memory, parts, 0.0, slot=slot))
        else:
            seen.add(memory.id)
            yield Match(scope, memory, parts, boost, slot=slot, by_chance=by_chance)


def _place(match: Match) -> tuple[float, str]:
    return -match.order, match.memory.id


def take_best(ordered: Iterable[tuple[float, int]], read: Read, limit: int, allow: Allow) -> list[Record]:
    """Return the first *limit* records of *ordered*, slots with falling scores, that *allow* lets through."""
    records = ((scope, memory) for scope, memory, _ in _by_id_where_equal(read, ordered))
    return list(islice((record for record in records if allow(*record) is not None), limit))


def _by_id_where_equal(read: Read, ordered: Iterable[tuple[float, int]]) -> Iterator[tuple[Scope, Memory, int]]:
    for _, equal in groupby(ordered, key=itemgetter(0)):
        records = [(*record, slot) for _, slot in equal if (record := read(slot))]
        if len(records) > 1:
            records.sort(key=lambda one: (one[1].id, SCOPES.index(one[0])))
        yield from records


def _sort(query: Query, matches: Iterable[Match]) -> list[Match]:
    """Return *matches* sorted. Those that have a quoted phrase of *query* are raised: the more, the fewer of them have it."""
    pool = [*matches]
    places = _list_quoting(query, pool) if query.phrases else []
    for place in places:
        parts = pool[place].parts._replace(phrase=PHRASE / len(places))
        pool[place] = pool[place]._replace(parts=parts)
    return sorted(pool, key=_place)


def _list_quoting(query: Query, pool: Sequence[Match]) -> list[int]:
    """Return the places of the matches that have a phrase of *query*; most have not even its first word."""
    words = [phrase.partition(" ")[0] for phrase in query.phrases]
    texts = ((place, match.memory.content) for place, match in enumerate(pool))
    likely = ((place, text) for place, text in texts if any(map(text.casefold().__contains__, words)))
    return [place for place, text in likely if any(map(folded(text).__contains__, query.phrases))]


def _copies_last(pool: Iterable[Match], enough: int) -> Iterator[Match]:
    """Yield near-copies of a better match last; when *enough* others were found, the rest is not looked at."""
    kept: list[tuple[Match, frozenset[str]]] = []
    copies: list[Match] = []
    for match in pool:
        if len(kept) == enough:
            yield match
            continue
        words = frozenset(match.memory.content.casefold().split()) or _BLANK
        some, least = _choose_some(words)
        original = next((one for one, own in kept if len(own & some) >= least and is_copy(words, own)), None)
        if original is None:
            kept.append((match, words))
            yield match
        else:
            copies.append(match._replace(copy_of=original.memory.id))
    yield from copies


def _choose_some(words: frozenset[str]) -> tuple[frozenset[str], int]:
    """Return some of *words*, and how many of these every near-copy has: more than a third of them, which few others do."""
    may_lack = int((1 - COPY) * len(words) + _ROUNDING)
    some = frozenset(islice(words, 1 + may_lack + may_lack // 2))
    return some, len(some) - may_lack


def is_copy(one: frozenset[str], other: frozenset[str]) -> bool:
    """Say whether two texts share nearly all words, and every word with a digit.

    `port 8080` and `port 8081` are siblings, not copies.
    """
    if min(len(one), len(other)) < COPY * max(len(one), len(other)):
        return False  # as many words as they could share are not enough
    shared = len(one & other)
    if shared < COPY * (len(one) + len(other) - shared):
        return False
    return not any(letter.isdigit() for word in one ^ other for letter in word)


def _two_passes(matches: Sequence[Match], limit: int, is_mine: Callable[[Memory], bool]) -> list[Match]:
    """Keep *limit* of *matches* in their order: first up to half of mine, then the best of the rest."""
    mine = [number for number, match in enumerate(matches) if is_mine(match.memory)][: limit // 2]
    rest = [number for number in range(len(matches)) if number not in set(mine)]
    return [matches[number] for number in sorted(mine + rest[: limit - len(mine)])]
