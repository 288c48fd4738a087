"""Copies as clusters: what may say the same, whatever store it lies in, with the record to keep of each. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.index.dedup import APART, decide, find_doubt
from memsync.index.likeness import find_lost
from memsync.janitor.plan import Merge, seal
from memsync.records import Memory, Scope, normal_form

if TYPE_CHECKING:
    from memsync.index.tokens import Tokenizer

ROOM: Final = 7_400  # characters of a cluster, so that it can be shown at once
LOSS: Final = 90  # characters in which a loss is told
_AROUND: Final = 60 + LOSS  # that stand around a text where it is shown
_SHOWN: Final = 6  # lost values, of those named
_WHY: Final = "they may say the same"


class Kept(NamedTuple):
    """A record where it lives."""

    scope: Scope
    memory: Memory


class Link(NamedTuple):
    """How alike (0-1) two texts are, by their places in a list."""

    likeness: float
    one: int
    other: int


def group(
    links: Iterable[Link], sizes: Sequence[int], may_join: Callable[[int, int], bool], room: int = ROOM
) -> list[list[int]]:
    """Return groups of linked places, joined by their strongest links first, none of more than *room* in *sizes*.

    A link joins only what *may_join*, which is asked late, because it may be dear.
    """
    parent, size = list(range(len(sizes))), list(sizes)

    def find(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for _, one, other in sorted(links, key=lambda link: (-link.likeness, link.one, link.other)):
        first, second = find(one), find(other)
        if first != second and size[first] + size[second] <= room and may_join(one, other):
            parent[second] = first
            size[first] += size[second]
    groups = defaultdict(list)
    for place in range(len(sizes)):
        groups[find(place)].append(place)
    return [places for places in groups.values() if len(places) > 1]


def propose(
    records: Sequence[Kept], links: Sequence[Link], is_settled: Callable[[Kept, Kept], bool]
) -> Iterator[Merge]:
    """Yield one merge a cluster, the most alike first: the best record is kept, the others are dropped.

    What the best one may not stand for is a cluster of its own. One of which each pair *is_settled* is left out.
    """

    def may_join(one: int, other: int) -> bool:
        return not is_apart(records[one].memory, records[other].memory)

    likeness: dict[int, float] = {}
    for link in links:
        for place in (link.one, link.other):
            likeness[place] = max(likeness.get(place, 0.0), link.likeness)
    found = group(links, [len(each.memory.content) + _AROUND for each in records], may_join)
    for places in sorted(found, key=lambda places: -sum(likeness[place] for place in places) / len(places)):
        left = [records[place] for place in places]
        while merge := make_merge(left, max(likeness[place] for place in places)):
            shown = [each for each in left if each.memory.id in merge.saw]
            if not all(is_settled(one, other) for one, other in combinations(shown, 2)):
                yield merge
            left = [each for each in left if each.memory.id not in merge.saw]


def make_merge(cluster: Sequence[Kept], likeness: float, head: Kept | None = None) -> Merge | None:
    """Return the merge of *cluster* into *head*, or into its best record; None if nothing may be dropped for it."""
    if len(cluster) < 2:
        return None
    head = head or choose_head(cluster)
    dropped = [each for each in cluster if each is not head and may_stand_for(head, each)]
    if not dropped:
        return None
    saw = {each.memory.id: seal(each.memory) for each in (head, *dropped)}
    drop = tuple(each.memory.id for each in dropped)
    return Merge(head.scope, head.memory.id, drop, saw, _WHY, "fallback_reject", round(likeness, 4))


def choose_head(cluster: Sequence[Kept]) -> Kept:
    """Return the record to keep: the one that most may be dropped for and that loses the fewest values of them.

    Of equals the one that a person wrote, that counts more, that is longer, that is older.
    """

    def rank(each: Kept) -> tuple[int, int, bool, float, int, datetime, str]:
        memory = each.memory
        covered = sum(is_within_reach(each, other) for other in cluster)
        lost = sum(len(find_lost(memory.content, other.memory.content)) for other in cluster)
        born = memory.created_at or datetime.max.replace(tzinfo=UTC)
        return -covered, lost, memory.source_type != "user", -memory.importance, -len(memory.content), born, memory.id

    return min(cluster, key=rank)


def may_stand_for(head: Kept, other: Kept) -> bool:
    """Tell whether *head* may stand for *other*: seen by all who see that, and not saying otherwise."""
    return is_within_reach(head, other) and not is_apart(head.memory, other.memory)


def is_apart(one: Memory, other: Memory) -> bool:
    """Tell whether neither can stand for the other, whoever says so: another word or value, roles swapped, a denial."""
    return decide(other.content, one.content, 1.0).relation in APART


def is_within_reach(head: Kept, other: Kept) -> bool:
    """Tell whether all who see *other* see *head*: what is private may go for what is not, and nothing else."""
    return other.scope in (head.scope, "private")


def list_losses(kept: str, dropped: str) -> list[str]:
    """Say what is lost if *kept* stands for *dropped*: values that only that one has, and what speaks against it."""
    lost = find_lost(kept, dropped)
    told = [f"{', '.join(lost[:_SHOWN])}{' …' if len(lost) > _SHOWN else ''}"] if lost else []
    return told + [doubt for doubt in (find_doubt(dropped, kept),) if doubt]


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
    words = (tokenizer.terms(texts[place]) for place in order)
    terms = [sorted({*found, *(f"{one} {two}" for one, two in pairwise(found))}) for found in words]
    postings: dict[str, list[int]] = defaultdict(list)
    for rank, found in enumerate(terms):
        for term in found:
            postings[term].append(rank)
    for rank, found in track(list(enumerate(terms)), "looking"):
        for other in _find_likeliest(rank, found, postings):
            first, second = sorted((order[rank], order[other]))
            yield first, second


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
