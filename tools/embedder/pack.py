"""Write a model file that `memsync.index.static` reads."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memsync.index.static import HEAD, MAGIC, WORDS, sort_words

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
