"""Whether the arrays of a cache can be those of an index: what a checksum says nothing about.

Looks at sizes and at a few hundred numbers of each array, so it costs the same for any store: it
finds what is zeroed, cut or of another kind, not what somebody forges with care, who could edit the memories as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

KINDS: Final = {
    "lines": "q", "sums": "Q", "keys": "Q", "texts": "Q",
    "base.keys": "Q", "base.starts": "q", "base.slots": "i", "base.counts": "f", "base.lengths": "f",
    "forward.terms": "i", "forward.starts": "q",
    "grams.keys": "q", "grams.starts": "q", "grams.places": "i", "grams.sizes": "f", "grams.letters": "B", "grams.ends": "i",
    "heads.letters": "B", "heads.ends": "i", "heads.importance": "d", "heads.moments": "q",
    "heads.forms": "q", "heads.replaces": "B", "heads.archived": "B", "heads.anchored": "B",
    "vectors.numbers": "b", "vectors.scales": "f", "vectors.signs": "B",
}  # fmt: skip
_VECTORS: Final = tuple(name for name in KINDS if name.startswith("vectors."))
_LOOKS: Final = 64  # at each array
_FEW_LOOKS: Final = 8  # at one that is long and of which little is read


def is_sound(views: Mapping[str, Any], let_go: Callable[[], object] = bool) -> bool:
    """Tell whether *views* fit together; an array that is missing is a KeyError, what is no text a ValueError.

    Each number that is looked at maps 64 KB around it: *let_go* of those before the next look.
    """
    wanted = KINDS if _VECTORS[0] in views else [name for name in KINDS if name not in _VECTORS]
    looks = (look for looks in (_at_base, _at_forward, _at_heads, _at_grams, _at_vectors) for look in looks(views))
    return all(views[name].format == KINDS[name] for name in wanted) and all((look, let_go())[0] for look in looks)


def _at_base(views: Mapping[str, Any]) -> Iterator[bool]:
    count, lengths, slots, counts = len(views["keys"]), views["base.lengths"], views["base.slots"], views["base.counts"]
    lines, starts = views["lines"], views["base.starts"]
    yield len(lines) == 3 * len(views["sums"]) == 3 * count
    yield len(views["texts"]) == len(lengths) == count and len(counts) == len(slots)
    yield from _at_table(views["base.keys"], starts, slots)
    yield all(0 <= lines[3 * at + 1] < lines[3 * at + 2] for at in _places(count))
    yield all(0 <= slots[at] < count for at in _places(len(slots)))
    yield all(0 < counts[at] <= lengths[slots[at]] for at in _places(len(slots)))
    yield all(_rise(slots[starts[at] : starts[at + 1]][:_LOOKS].tolist()) for at in _places(len(starts) - 1))


def _at_forward(views: Mapping[str, Any]) -> Iterator[bool]:
    """What a record says first is among its postings, and its length is how much it says and is found by (`terms.length_of`)."""
    terms, starts, lengths = views["forward.terms"], views["forward.starts"], views["base.lengths"]
    firsts, slots = views["base.starts"], views["base.slots"]
    yield len(starts) == 2 * len(lengths) + 1 and starts[0] == 0 and starts[-1] == len(terms)
    yield all(
        0 <= start <= middle <= end and (end - start or min(lengths[at], 1)) == lengths[at]
        for at in _places(len(lengths))
        for start, middle, end in (starts[2 * at : 2 * at + 3],)
    )
    said = [(at, starts[2 * at]) for at in _places(len(lengths), _FEW_LOOKS) if starts[2 * at] < starts[2 * at + 2]]
    yield all(0 <= terms[start] < len(firsts) - 1 for _, start in said)
    yield all(_has(slots, at, *firsts[terms[start] :][:2]) for at, start in said)


def _has(numbers: Any, wanted: int, low: int, high: int) -> bool:
    """Tell whether *wanted* is among the rising *numbers* from *low* to before *high*."""
    at = bisect_left(numbers, wanted, low, high)
    return at < high and bool(numbers[at] == wanted)


def _at_heads(views: Mapping[str, Any]) -> Iterator[bool]:
    ends, count = views["heads.ends"], len(views["keys"])
    yield all(len(view) == count for name, view in views.items() if name[:6] == "heads." and name != "heads.letters")
    yield (ends[-1] if count else 0) == len(views["heads.letters"])
    yield _rise(_looks(ends))
    yield all(0 <= one <= 1 for one in _looks(views["heads.importance"]))


def _at_grams(views: Mapping[str, Any]) -> Iterator[bool]:
    ends, sizes, places = views["grams.ends"], views["grams.sizes"], views["grams.places"]
    bytes(views["grams.letters"]).decode()
    yield len(ends) == len(sizes) and (ends[-1] if len(ends) else 0) == len(views["grams.letters"])
    yield _rise(_looks(ends))
    yield from _at_table(views["grams.keys"], views["grams.starts"], places)
    yield all(0 <= place < len(ends) for place in _looks(places))
    yield all(size > 0 for size in _looks(sizes))


def _at_vectors(views: Mapping[str, Any]) -> Iterator[bool]:
    """A row that has a scale has numbers: the largest of them made the scale."""
    if _VECTORS[0] not in views:
        return
    count, scales, numbers = len(views["keys"]), views["vectors.scales"], views["vectors.numbers"]
    width = len(numbers) // count if count else 0
    yield len(scales) == count and len(numbers) == count * width
    yield len(views["vectors.signs"]) == count * -(-width // 8)
    yield all(any(numbers[at * width : (at + 1) * width]) for at in _places(count) if scales[at])
    yield not count or any(scales) or not any(numbers[:width])


def _at_table(keys: Any, starts: Any, values: Any) -> Iterator[bool]:
    """Look whether *starts* cut *values* into a piece for each of the sorted *keys*, none of them empty."""
    yield len(starts) == len(keys) + 1 and starts[0] == 0 and starts[-1] == len(values)
    yield _rise(_looks(keys))
    yield _rise(_looks(starts))


def _places(count: int, looks: int = _LOOKS) -> Iterable[int]:
    return range(0, count, max(count // looks, 1))


def _looks(view: Any) -> list[Any]:
    return [view[at] for at in _places(len(view))]


def _rise(numbers: list[Any]) -> bool:
    return all(one < other for one, other in pairwise(numbers))
