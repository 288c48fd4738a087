"""What came and went since a cache was made: a small file beside it, so that a write need not make the whole anew.

Only a process that answers once reads it (`oneshot`); the warm index takes the cache and the records as they are. It holds
the places of all lines, the slots that are dead, and of each late record what the index has of it. It fits one cache alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import adler32, crc32

from memsync.index import cache
from memsync.index.cache import Cached
from memsync.index.embed import LEVELS
from memsync.index.terms import embedding_text, is_word, length_of, live_anchors, term_key
from memsync.system import local
from memsync.system.named import NamedTuple

if TYPE_CHECKING:
    from array import array

    from memsync.index.embed import Meaning
    from memsync.index.tokens import Tokenizer
    from memsync.records import Memory

MOST: Final = 128  # slots that are late or dead; from there on the cache is made anew


class Late(NamedTuple):
    """A record that came after the cache: its terms by number, with counts, the words no record had before, its vector."""

    length: int
    terms: Mapping[int, int]
    words: Sequence[str]
    numbers: bytes = b""
    scale: float = 0.0
    signs: bytes = b""


class Delta(NamedTuple):
    """What is different from the cache. Late records have the slots behind those of the cache; some may be dead by now.

    *sums*: of each slot, dead ones too, what `sum_line` says of a line that says its record.
    """

    about: Mapping[str, Any]
    lines: Sequence[int]
    dead: Sequence[int]
    late: Sequence[Late]
    sums: Sequence[int] = ()

    @property
    def live(self) -> int:
        """How many records there are, those of the cache included."""
        return len(self.lines) // 3 - len(self.dead)


UNCHANGED: Final = Delta({}, (), (), ())


def sum_lines(lines: Iterable[bytes]) -> tuple[list[int], list[int]]:
    """Return 64 bits of each of *lines*, with their newlines, that tell it from others, and its size.

    None of *lines* is held: for all of a file there would be no memory at hand.
    """
    sums, sizes = list[int](), list[int]()
    for line in lines:
        sums.append(crc32(line) << 32 | adler32(line))
        sizes.append(len(line))
    return sums, sizes


def sum_line(raw: bytes) -> int:
    """Return the sum of the line *raw*, which has no newline."""
    return sum_lines([raw + b"\n"])[0][0]


def make_late(memory: Memory, base: Cached, tokenizer: Tokenizer, meaning: Meaning | None) -> Late:
    """Return what the warm index would take from *memory*."""
    terms = tokenizer.record_terms(memory) + tokenizer.hidden_terms(memory)
    places = _find_places(memory)
    counts: dict[int, int] = {}
    for key in map(term_key, (*terms, *places)):
        counts[key] = counts.get(key, 0) + 1
    known = base.views["base.keys"]
    words = [term for term in dict.fromkeys(terms) if is_word(term) and not _has(known, term_key(term))]
    vector = meaning.row(embedding_text(memory)) if meaning else None
    return Late(length_of(terms, places), counts, words, *(quantise(vector) if vector else ()))


def _find_places(memory: Memory) -> Sequence[str]:
    if not (anchors := live_anchors(memory)):
        return ()
    from memsync.index.places import place_terms

    return place_terms(anchors)


def quantise(vector: Sequence[float]) -> tuple[bytes, float, bytes]:
    """Return numbers, scale and signs of one row as `vectors.quantise` makes them, without numpy."""
    from array import array

    single = array("f", vector)
    scale = array("f", [max(map(abs, single)) / LEVELS])[0]
    numbers = array("b", map(round, array("f", (x / scale if scale else 0.0 for x in single))))
    bits = "".join("1" if x > 0 else "0" for x in single)
    return numbers.tobytes(), scale, int(bits, 2).to_bytes(len(bits) // 8, "big")


def save(path: Path, delta: Delta, base: Cached, *, private: bool) -> None:
    """Write *delta* beside the cache *base* in one atomic step.

    Raises:
        OSError: nothing was changed.
    """
    from array import array

    late = delta.late
    arrays: dict[str, array[Any]] = {
        "lines": copy("q", delta.lines),
        "sums": copy("Q", delta.sums),
        "dead": array("i", delta.dead),
        "lengths": array("i", (one.length for one in late)),
        "sizes": array("i", (len(one.terms) for one in late)),
        "keys": array("Q", chain.from_iterable(one.terms for one in late)),
        "counts": array("i", chain.from_iterable(one.terms.values() for one in late)),
        "numbers": array("b", b"".join(one.numbers for one in late)),
        "scales": array("f", (one.scale for one in late)),
        "signs": array("B", b"".join(one.signs for one in late)),
    }
    about = {**delta.about, "base": base.check, "words": [list(one.words) for one in late]}
    cache.save(path, arrays, about, private=private)


def copy(kind: str, numbers: Sequence[int]) -> array[int]:
    """Return *numbers* as an array; those of a cache are not looked at one by one."""
    from array import array

    if not isinstance(numbers, memoryview):
        return array(kind, numbers)
    found = array(kind)
    found.frombytes(numbers.cast("B"))
    return found


def drop(path: Path) -> None:
    """Remove what is at *path*, if anything is: the cache alone fits.

    Raises:
        OSError, OutsideTree: it is there still.
    """
    local.refuse_links(path)
    path.unlink(missing_ok=True)


def load(path: Path, base: Cached) -> Delta | None:
    """Return the delta at *path*; None when there is none, when it is torn or damaged, or not of *base*."""
    found = cache.load(path)
    if found is None or found.about.get("base") != base.check:
        return None
    try:
        views = found.views
        delta = Delta(found.about, views["lines"], views["dead"].tolist(), list(_read(found)), views["sums"])
    except (LookupError, TypeError, ValueError):
        return None  # not of our making
    slots = len(base.views["keys"]) + len(delta.late)
    is_sound = (
        len(delta.lines) == 3 * len(delta.sums) == 3 * slots
        and len(delta.about.get("heads", ())) == len(delta.late)
        and all(0 <= slot < slots for slot in delta.dead)
    )
    return delta if is_sound else None


def postings_of(delta: Delta, first: int) -> dict[int, list[tuple[int, int]]]:
    """Return the slots and counts of each term of the late records that live; their slots begin with *first*."""
    found: dict[int, list[tuple[int, int]]] = {}
    dead = set(delta.dead)
    for slot, one in enumerate(delta.late, first):
        for key, count in one.terms.items() if slot not in dead else ():
            found.setdefault(key, []).append((slot, count))
    return found


def _read(found: Cached) -> Iterable[Late]:
    views, at = found.views, 0
    sizes, lengths, scales, words = views["sizes"], views["lengths"], views["scales"], found.about["words"]
    width, step = (len(views[name]) // max(len(sizes), 1) for name in ("numbers", "signs"))
    for number, (size, length, scale, new) in enumerate(zip(sizes, lengths, scales, words, strict=True)):
        terms = dict(zip(views["keys"][at : at + size], views["counts"][at : at + size], strict=True))
        numbers, signs = (
            bytes(views["numbers"][number * width :][:width]),
            bytes(views["signs"][number * step :][:step]),
        )
        yield Late(length, terms, [str(word) for word in new], numbers, scale, signs)
        at += size


def _has(keys: Any, key: int) -> bool:
    at = bisect_left(keys, key)
    return bool(at < len(keys) and keys[at] == key)
