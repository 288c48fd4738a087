"""Memory and skills for coding agents, as plain files in the repository.

`from memsync import Memsync; m = Memsync.open("."); m.remember("…"); m.recall("…")`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memsync.agents.session import RecallSession
    from memsync.errors import MemsyncError
    from memsync.memories.counts import Stats, StoreStatus
    from memsync.memories.filters import Filters
    from memsync.memories.imports import Candidate, ImportReport, Outcome
    from memsync.memories.project import Memsync, Project
    from memsync.memories.results import Entry, Hit, Recall, Remembered
    from memsync.memories.similar import Similar
    from memsync.records import Memory

__version__ = "0.1.0"
__all__ = [
    "Candidate",
    "Entry",
    "Filters",
    "Hit",
    "ImportReport",
    "Memory",
    "Memsync",
    "MemsyncError",
    "Outcome",
    "Project",
    "Recall",
    "RecallSession",
    "Remembered",
    "Similar",
    "Stats",
    "StoreStatus",
]

_HOMES = {
    "Candidate": "memories.imports",
    "Filters": "memories.filters",
    "ImportReport": "memories.imports",
    "Memory": "records",
    "Memsync": "memories.project",
    "MemsyncError": "errors",
    "Outcome": "memories.imports",
    "Project": "memories.project",
    "RecallSession": "agents.session",
    "Similar": "memories.similar",
    "Stats": "memories.counts",
    "StoreStatus": "memories.counts",
}


def __getattr__(name: str) -> object:
    # Lazy: `memsync --help` and the hooks pay only for what they use.
    if name not in __all__:
        raise AttributeError(f"module 'memsync' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"memsync.{_HOMES.get(name, 'memories.results')}"), name)
