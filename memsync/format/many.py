"""Spelling many memories: as `codec.encode` does, by a quicker speller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orjson import OPT_SORT_KEYS, dumps

from memsync.format.codec import LINE_ENDS, encode, fields_of
from memsync.records import Memory

_LEAST: Final = 0.0001  # a smaller number is written with an exponent, by each speller in its own way
_ESCAPED: Final = [(bare.encode(), escaped.encode()) for bare, escaped in LINE_ENDS.items()]


def encode_many(memories: Sequence[Memory]) -> list[bytes]:
    """Spell each of *memories* canonically."""
    lines = []
    for memory in memories:
        try:
            raw = dumps(fields_of(memory), option=OPT_SORT_KEYS) if _is_spelled_alike(memory) else encode(memory)
        except TypeError:  # a lone surrogate
            raw = encode(memory)
        for bare, escaped in () if raw.isascii() else _ESCAPED:
            raw = raw.replace(bare, escaped)
        lines.append(memoryview(raw).tobytes())  # orjson's own keep the room in which they were made, kilobytes each
    return lines


def _is_spelled_alike(memory: Memory) -> bool:
    """Tell whether every speller of JSON writes *memory* alike: texts, and a number without an exponent."""
    is_plain = memory.importance == 0 or memory.importance >= _LEAST
    return is_plain and all(type(item) is str for item in memory.extra.values())
