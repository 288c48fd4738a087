"""Numbers of terms, the same in every process."""

from __future__ import annotations

from zlib import crc32


def term_key(term: str) -> int:
    """Return the 64-bit number of *term*.

    Two checksums, of the bytes forwards and backwards: hashlib takes 4 ms to import.
    """
    raw = term.encode("utf-8", "surrogatepass")
    return crc32(raw) << 32 | crc32(raw[::-1])
