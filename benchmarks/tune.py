"""Whether a constant of the ranking helps where it was not chosen: each suite is left out once, and the others choose.

The environment variable MEMSYNC_DATA names a folder that has suites (docs/recall.md) at any depth; those in one folder
are taken together. Each constant is moved alone; what is compared is the MRR of answerable questions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from memsync.agents.recall_suite import Suite, ask, read_suite, together
from memsync.index import scale
from memsync.index.embedders import choose

_OWN: Final = Path(__file__).parent / "suites"
_FACTORS: Final = (0.0, 0.5, 1.0, 2.0)
_CONSTANTS: Final = ("PROXIMITY", "MEANING_LONG_QUERY", "LATE", "MEANING", "SYNONYM", "IDENTIFIER")
_LEAST: Final = 0.002  # of MRR, below which a value is no better than today's


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: of each constant and each suite, what the other suites choose, and what that does here."""
    yield ("constant", "today", "left out", "the others choose", "MRR today", "MRR with that", "best here")
    groups = _read_groups()
    for name in _CONSTANTS:
        today = getattr(scale, name)
        values = [round(today * factor, 3) for factor in _FACTORS]
        found = {value: _measure(groups, name, value) for value in values}
        _set(name, today)
        for left in groups:
            others = {value: fmean(one[group] for group in groups if group != left) for value, one in found.items()}
            best = {value: one[left] for value, one in found.items()}
            chosen, here = _choose(others, today), _choose(best, today)
            row = (name, today, left, chosen, f"{found[today][left]:.3f}", f"{found[chosen][left]:.3f}", here)
            yield tuple(map(str, row))


def _choose(found: dict[float, float], today: float) -> float:
    """Return the value that is best, unless today's is hardly worse."""
    best = max(found, key=lambda value: found[value])
    return best if found[best] - found[today] >= _LEAST else today


def _read_groups() -> dict[str, list[Suite]]:
    groups: dict[str, list[Suite]] = {}
    for data in (_OWN, *map(Path, filter(None, [os.environ.get("MEMSYNC_DATA")]))):
        for path in sorted(path.parent for path in data.rglob("queries.jsonl")):
            groups.setdefault((*path.relative_to(data).parts, data.name)[0], []).append(read_suite(path))
    return groups


def _measure(groups: dict[str, list[Suite]], name: str, value: float) -> dict[str, float]:
    """Return the MRR of each group where the constant *name* is *value*."""
    _set(name, value)
    meaning = choose("builtin")
    return {
        group: together([ask(suite, meaning) for suite in suites]).as_dict()["answerable"]["MRR"]
        for group, suites in groups.items()
    }


def _set(name: str, value: float) -> None:
    """Have every module that has taken the constant *name* over take *value*."""
    modules: list[Any] = [module for key, module in sys.modules.items() if key.startswith("memsync.index")]
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, value)
