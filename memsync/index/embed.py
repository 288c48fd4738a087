"""How the index uses an embedder. Loads numpy only with vectors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from memsync.index.embedder import Embedder, EmbedderFailed
from memsync.index.scale import LONG_QUERY, MEANING, MEANING_DEEP, MEANING_LONG
from memsync.system.logs import Log

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from memsync.index.pieces import Table

log = Log(__name__)


LEVELS: Final = 127
_USUAL: Final = 0.15


class Meaning:
    """An embedder as the index uses it: calibrated once, and never in the way when it fails.

    `failed` says why vectors are missing; "" while all is well. `unrelated` is the embedder's
    usual cosine of two texts that have nothing to do with each other.
    """

    def __init__(self, embedder: Embedder, weight: float = MEANING) -> None:
        self._embedder = embedder
        self._weight = weight
        self._unrelated: float | None = None
        self.id = embedder.id
        self.failed = ""

    @property
    def unrelated(self) -> float:
        """The cosine that counts as no likeness at all, 0 to 0.9; a usual one while it cannot be measured."""
        if self._unrelated is None:
            from memsync.index.calibrate import unrelated_cosine

            try:
                self._unrelated = unrelated_cosine(self._embedder.embed)
            except EmbedderFailed:
                return _USUAL
        return self._unrelated

    def weight(self, words: int) -> float:
        """Return what meaning counts beside words, in a query of so many *words*."""
        return max(self._weight, MEANING_LONG) if words >= LONG_QUERY else self._weight

    def calibrate(self, unrelated: float | None) -> None:
        """Take over what was measured before; None: measure when it is needed."""
        self._unrelated = unrelated

    def embed(self, texts: Sequence[str]) -> NDArray[float32] | None:
        """Return a row per text, or None if the embedder fails."""
        try:
            rows = self._embedder.embed(texts)
        except EmbedderFailed as error:
            self._fail(error)
            return None
        self.failed = ""
        return rows

    @property
    def read_pieces(self) -> Callable[[Table, Sequence[Any]], Iterator[NDArray[float32]]] | None:
        """How the embedder reads documents of pieces, each piece once; None if it reads whole texts only."""
        return getattr(self._embedder, "read_pieces", None)

    def row(self, text: str) -> Sequence[float] | None:
        """Return the vector of one text of a memory without numpy, before it is rounded as in `embed`; None if the embedder fails."""
        try:
            return self._embedder.query(text)
        except EmbedderFailed as error:
            self._fail(error)
            return None

    def query(self, text: str) -> tuple[list[int], float] | None:
        """Return the whole numbers and the scale of the vector of *text*; None without one."""
        try:
            vector = self._embedder.query(text)
        except EmbedderFailed as error:
            self._fail(error)
            return None
        self.failed = ""
        return whole(vector)

    def _fail(self, error: EmbedderFailed) -> None:
        if not self.failed:
            log.warning("searching by words only: %s", error)
        self.failed = str(error)


def whole(vector: Sequence[float]) -> tuple[list[int], float] | None:
    """Return *vector* as whole numbers up to LEVELS and their scale; None for a zero vector.

    A query has the same numbers with and without numpy, which is asked where it is loaded.
    """
    if "numpy" in sys.modules:
        return _whole_by_numpy(vector)
    longest = max(max(vector, default=0.0), -min(vector, default=0.0))
    if not longest:
        return None
    scale = longest / LEVELS
    return [round(x / scale) for x in vector], scale


def _whole_by_numpy(vector: Sequence[float]) -> tuple[list[int], float] | None:
    import numpy as np

    exact = np.array(vector, np.float64)
    longest = float(np.abs(exact).max(initial=0.0))
    if not longest:
        return None
    scale = longest / LEVELS
    return np.rint(exact / scale).astype(np.int64).tolist(), scale


def choose(spec: str) -> Meaning | None:
    """Return the embedder that *spec* names, as `settings.parse_value` spells it; None for `none`. Opens and asks no model.

    Raises:
        ValueError: it names none that there is; the message lists the forms.
    """
    if spec == "none":
        return None
    if spec == "builtin":
        from memsync.index.static import open_builtin

        return Meaning(open_builtin())
    from memsync.index.providers.specs import named

    return Meaning(named(spec), MEANING if spec.startswith("model2vec:") else MEANING_DEEP)
