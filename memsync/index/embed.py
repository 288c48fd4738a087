"""What an embedder has to offer, and how the index uses it. Loads numpy only with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from memsync.index.scale import LONG_QUERY, MEANING, MEANING_LONG_QUERY
from memsync.system.logs import Log

if TYPE_CHECKING:
    import numpy as np
    from numpy import float32
    from numpy.typing import NDArray

log = Log(__name__)

LEVELS: Final = 127
_USUAL: Final = 0.15
UNLIKE: Final = (
    "The release job signs the installer before it uploads the checksums.",
    "Use tabs in Makefiles, because make refuses recipes indented with spaces.",
    "Grandmother keeps bees behind the orchard and sells honey in autumn.",
    "How do I rotate the expired certificate of the staging proxy?",
    "Invoices are rounded per line, never on the total.",
    "The puppy chewed through both shoes while we watched the match.",
    "Flaky login test: wait for the spinner to vanish, then click.",
    "Prefer small pull requests with one reviewer from another team.",
    "Which train leaves for the coast after nine in the evening?",
    "Dark mode colours live in theme.css and are shared by both apps.",
    "The parser drops the last column when a row ends with a comma.",
    "She painted the lighthouse twice, once in rain and once at dawn.",
    "Never log request bodies, they may hold passwords.",
    "Can the nightly backup be restored to a different region?",
    "Our linter runs with a line length of one hundred characters.",
    "He wants to learn the cello and joined a choir in spring.",
)


class EmbedderFailed(Exception):
    """An embedder cannot be used now; the message says why."""


class Embedder(Protocol):
    """Turns texts into vectors; `id` changes whenever its vectors would."""

    @property
    def id(self) -> str:
        """The name of the vectors' space."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return a row per text, each of length 1, or all 0 for a text without meaning.

        Raises:
            EmbedderFailed: it cannot be reached or loaded, or answers nonsense.
        """
        ...

    def query(self, text: str) -> Sequence[float]:
        """Return the vector of one query.

        Raises:
            EmbedderFailed: as above.
        """
        ...


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
            try:
                self._unrelated = unrelated_cosine(self._embedder.embed)
            except EmbedderFailed:
                return _USUAL
        return self._unrelated

    def weight(self, words: int) -> float:
        """Return what meaning counts beside words, in a query of so many *words*."""
        return max(self._weight, MEANING_LONG_QUERY) if words >= LONG_QUERY else self._weight

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
    """Return *vector* as whole numbers up to LEVELS and their scale; None for a zero vector."""
    longest = max(max(vector, default=0.0), -min(vector, default=0.0))
    if not longest:
        return None
    scale = longest / LEVELS
    return [round(x / scale) for x in vector], scale


def unrelated_cosine(embed: Callable[[Sequence[str]], NDArray[float32]]) -> float:
    """Return the mean cosine of pairs of unrelated texts, rounded, for the scale of meaning."""
    import numpy as np

    rows = embed(UNLIKE)
    cosines = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return round(float(np.clip(cosines.mean(), 0.0, 0.9)), 2)


# Embedded where nothing else tells how long the vectors are.
PROBE: Final = "memory"


def filled(texts: Sequence[str], rows_of: Callable[[Sequence[str]], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return a row per text: from *rows_of*, but all 0 for a blank text, which many servers refuse.

    Half characters (lone surrogates), which no tokenizer and no server takes, are replaced by `?`.

    Raises:
        EmbedderFailed: *rows_of* did.
    """
    import numpy as np

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
    import numpy as np

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
