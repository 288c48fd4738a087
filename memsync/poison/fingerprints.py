"""What tells all that a memory says from anything else that it might say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memsync.records import Memory
from memsync.store.trust import Instruction

# Raised whenever the rules of `poison` change: what was read by older ones is read again.
RULES: Final = 3


def fingerprint(memory: Memory) -> str:
    """Return what tells everything that *memory* says from anything else it might say.

    Not its numbers and times: what it is worth today is no reason to read it again.
    """
    try:
        from _blake2 import blake2b  # of hashlib, which loads OpenSSL: 2 ms, and a hook has no time
    except ImportError:
        from hashlib import blake2b
    return blake2b(said(memory), digest_size=16).hexdigest()


def said(memory: Memory) -> bytes:
    """Return everything that *memory* says, as bytes."""
    return repr(list(texts_of(memory))).encode("utf-8", "surrogatepass")


def instruction_of(memory: Memory, path: Path) -> Instruction:
    """Return *memory*, which is in the file *path*, as what a person approves of it: everything that it says."""
    return Instruction(f"memory {memory.id}", path, said(memory))


def texts_of(memory: Memory) -> Iterator[str]:
    """Yield every text of *memory* that somebody may be shown."""
    yield from (memory.content, memory.memory_type, *memory.tags, *memory.anchors)
    yield from (memory.source_type, memory.author or "", memory.source_session_id or "", *_strings(memory.extra))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value and hasattr(value, "items"):
        for name, part in sorted(value.items()):
            yield from (name, *_strings(part))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
