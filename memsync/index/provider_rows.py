"""What all embedders share: which texts are embedded at all, and which answers count as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from memsync.index.embed import EmbedderFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Embedded where nothing else tells how long the vectors are.
PROBE: Final = "memory"


def filled(texts: Sequence[str], rows_of: Callable[[Sequence[str]], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return a row per text: from *rows_of*, but all 0 for a blank text, which many servers refuse.

    Half characters (lone surrogates), which no tokenizer and no server takes, are replaced by `?`.

    Raises:
        EmbedderFailed: *rows_of* did.
    """
    kept = [place for place, text in enumerate(texts) if text.strip()]
    sent = [texts[place].encode("utf-8", "replace").decode() for place in kept]
    rows = rows_of(sent or [PROBE])
    out = np.zeros((len(texts), rows.shape[1]), np.float32)
    if kept:
        out[kept] = rows
    return out


def unit(values: object, count: int) -> NDArray[np.float32]:
    """Return *values* as *count* rows of length 1; a zero row stays zero.

    Raises:
        EmbedderFailed: they are something else, or not all of them are finite numbers.
    """
    try:
        given = np.asarray(values)
    except ValueError:
        raise EmbedderFailed("the embedder answers with vectors of different lengths") from None
    if given.dtype.kind not in "fiu" or given.ndim != 2 or not given.shape[1]:
        raise EmbedderFailed("the embedder answers with something that is no vector of numbers")
    if len(given) != count:
        raise EmbedderFailed(f"the embedder answers {count} texts with {len(given)} vectors")
    rows = given.astype(np.float64)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise EmbedderFailed("the embedder answers with numbers that are not finite")
    np.divide(rows, norms, out=rows, where=norms > 0)
    return rows.astype(np.float32)
