"""Modules that are imported when something of them is used: `name = late("memsync.room.name")`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Late:
    def __init__(self, name: str) -> None:
        self._late_name = name

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._late_name)
        if module is None:
            from importlib import import_module

            module = import_module(self._late_name)
        return getattr(module, name)


def late(name: str) -> Any:
    """Return what stands for the module *name* until it is used."""
    return _Late(name)
