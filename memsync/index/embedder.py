"""What an embedder has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


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
