"""How much a term weighs, and how much long records are damped: the more, the more lengths differ and the longer the query. Pure, the same in both lanes."""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import NamedTuple

from memsync.index.scale import B_EVEN, B_MIXED, B_WORDY, EVEN, K1, STEEP, TERSE, UNSEEN


class Damping(NamedTuple):
    """BM25's norm of a record of *n* terms is ``offset + scale * n``."""

    offset: float
    scale: float


def damping_of(live: int, total: float, squares: float, asked: int) -> Damping:
    """Return the damping for *live* records with *total* terms, whose lengths squared add up to *squares*, and *asked* words of a query.

    Where all are a sentence long, a longer one is richer; where some are pages, each holds every word. Of a query of many
    words a long record has some by chance (ADR 95); its offset may be below 0 then, but never by as much as one word counts.
    """
    mean = total / max(live, 1) or 1.0
    spread = sqrt(max(live * squares - total * total, 0.0)) / total if total else 0.0
    b = min(max(B_EVEN + STEEP * (spread - EVEN), B_EVEN), B_MIXED)
    b = min(b + log(max(asked, TERSE) / TERSE), B_WORDY)
    return Damping(K1 * (1 - b), K1 * b / mean)


def weigh_term(seen: int, live: int) -> float:
    """Return the inverse document frequency of a term that *seen* of *live* records have.

    A hundred records without it are assumed beside the real ones, or the words of a store with three records would all count as common.
    """
    return log1p((live + UNSEEN - seen + 0.5) / (seen + 0.5))
