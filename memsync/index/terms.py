"""What is made of a memory to find it: the text that is embedded, which terms are words, and the numbers of terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from zlib import crc32

from memsync.index.scale import EXACT, GRAM_BITS
from memsync.system.memo import Memo

if TYPE_CHECKING:
    from memsync.records import Memory


def term_key(term: str) -> int:
    """Return the 64-bit number of *term*.

    Two checksums, of the bytes forwards and backwards: hashlib takes 4 ms to import.
    """
    raw = term.encode("utf-8", "surrogatepass")
    return crc32(raw) << 32 | crc32(raw[::-1])


# The same of the terms of questions, each of which is asked for several times.
number_of: Final = Memo(term_key, 4096).__getitem__


def embedding_text(memory: Memory) -> str:
    """Return what is embedded: the content, the tags and the cues."""
    return " ".join((memory.content, *memory.tags, *memory.cues))


def text_key(memory: Memory) -> int:
    """Return the 64-bit number of what is embedded."""
    return term_key(embedding_text(memory)) or 1


def record_key(record: tuple[str, Memory]) -> int:
    """Return the 64-bit number of all that the index takes from a record, its scope among it."""
    scope, memory = record
    made = memory.created_at.date().isoformat() if memory.created_at else ""
    said = "\0".join((scope, memory.id, made, memory.content, *memory.tags))
    said = "\0\0".join((said, *memory.cues))
    return term_key("\0\0\0".join((said, *live_anchors(memory))))


def live_anchors(memory: Memory) -> tuple[str, ...]:
    """Return where *memory* is; what is archived is nowhere, so that it makes no crowd around what took its place."""
    return () if memory.archived_at else memory.anchors


def is_word(term: str) -> bool:
    """Say whether *term* takes part in likeness: a word of letters, not an exact form."""
    return len(term) > 2 and not term.startswith(EXACT) and not term.isdigit()


def length_of(terms: Sequence[str], places: Sequence[str]) -> int:
    """Return how long a record counts as: where it is anchored makes it no longer, but one without a word is there."""
    return len(terms) or min(len(places), 1)


def trigrams(word: str) -> set[int]:
    """Return the letter trigrams of *word* with its borders, as numbers."""
    points = [32, *map(ord, word), 32]
    return {
        (a << 2 * GRAM_BITS) + (b << GRAM_BITS) + c for a, b, c in zip(points, points[1:], points[2:], strict=False)
    }
