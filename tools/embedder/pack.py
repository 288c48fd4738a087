"""Write a model file that `memsync.index.static` reads."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memsync.index.static import HEAD, MAGIC, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pack(path: Path, words: Sequence[str], vectors: NDArray[np.float32], *, notes: Mapping[str, object]) -> None:
    """Write one row of int8 and one scale for each word, with notes on how they were made."""
    text = "\n".join(words).encode()
    extra = json.dumps(notes, sort_keys=True).encode()
    scales = np.maximum(np.abs(vectors).max(1), 1e-12).astype(np.float32) / np.float32(127)
    table = np.rint(vectors / scales[:, None]).astype(np.int8)
    sizes = (len(words), vectors.shape[1], len(text), len(extra))
    gap = b"\0" * (-(HEAD + len(text) + len(extra)) % 64)
    rest = struct.pack("<IIII", *sizes) + text + extra + gap + scales.tobytes() + table.tobytes()
    digest = hashlib.sha256(rest).digest()
    path.write_bytes(MAGIC + digest + rest)
    path.with_name(WORDS).write_bytes(digest + sort_words(text))


def sort_words(text: bytes) -> bytes:
    """Return what `FewWords` reads of a vocabulary, whose words are the lines of *text*: three columns of 32 bits, the lowest byte first."""
    words = text.split(b"\n")
    places = accumulate((len(word) + 1 for word in words), initial=0)
    found = sorted((zlib.crc32(word), place, row) for row, (word, place) in enumerate(zip(words, places, strict=False)))
    return b"".join(number.to_bytes(4, "little") for column in zip(*found, strict=True) for number in column)
