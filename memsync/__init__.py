"""Memory and skills for coding agents, as plain files in the repository.

`from memsync import Memsync; m = Memsync.open("."); m.remember("…"); m.recall("…")`
"""

from __future__ import annotations

# What `typing` offers, without its import, which costs as much as a bare Python.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memsync.errors import MemsyncError
    from memsync.memories.filters import Filters
    from memsync.memories.results import Entry, Hit, ImportReport, Recall, Remembered, Stats
    from memsync.memories.service import Memsync
    from memsync.records import Memory

__version__ = "0.1.0"
__all__ = [
    "Entry",
    "Filters",
    "Hit",
    "ImportReport",
    "Memory",
    "Memsync",
    "MemsyncError",
    "Recall",
    "Remembered",
    "Stats",
]

_HOMES = {
    "Memsync": "memories.service",
    "MemsyncError": "errors",
    "Filters": "memories.filters",
    "Memory": "records",
    "ImportReport": "memories.results",
    "Stats": "memories.results",
}


def __getattr__(name: str) -> object:
    # Lazy: `memsync --help` and the hooks pay only for what they use.
    if name not in __all__:
        raise AttributeError(f"module 'memsync' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"memsync.{_HOMES.get(name, 'memories.results')}"), name)
