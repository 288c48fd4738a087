"""How often a hit of a given confidence is relevant: a reliability diagram, as counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memsync.evals.questions import Answer

BINS: Final = 10  # of equal width, from 0 to 1


def count_bins(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return for each tenth of confidence how many hits lie in it, how many of them are relevant, and the share; None of none.

    The hits of questions without an answer are irrelevant, and so is what nobody judged. Hits that nobody weighed are left out.
    """
    counts = [[0, 0] for _ in range(BINS)]
    for answer in answers:
        for id_, sure in answer.confidences.items():
            if sure > 0 and (answer.query.counts or answer.query.is_unanswerable):
                held = counts[min(int(sure * BINS), BINS - 1)]
                held[0] += 1
                held[1] += answer.query.rels.get(id_, 0) > 0
    return [
        {"from": at / BINS, "to": (at + 1) / BINS, "n": n, "relevant": hits, "share": round(hits / n, 4) if n else None}
        for at, (n, hits) in enumerate(counts)
    ]
