"""How alike an embedder calls texts that have nothing in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

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


def unrelated_cosine(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> float:
    """Return the mean cosine of pairs of unrelated texts, rounded, for the scale of meaning."""
    rows = embed(UNLIKE)
    cosines = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return round(float(np.clip(cosines.mean(), 0.0, 0.9)), 2)
