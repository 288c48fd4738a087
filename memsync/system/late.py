"""A module that is imported when it is used: `name = late("memsync.room.name")`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def import_module(name: str) -> Any:
    """Return what `importlib.import_module` does for a whole *name*, without loading `importlib`."""
    __import__(name)
    return sys.modules[name]


class Late:
    """Stands for a module until something of it is used that it does not have itself."""

    __spec__ = None  # `import` asks for it where this stands for a module

    def __init__(self, name: str, *, keeps: bool = False) -> None:
        self._late_name, self._late_keeps = name, keeps

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # `from module import name` asks for it
            raise AttributeError(name)
        module = sys.modules.get(self._late_name)
        if module is None or isinstance(module, Late):
            for one in [one for one in [*sys.modules] if f"{one}.".startswith(f"{self._late_name}.")]:
                if isinstance(sys.modules[one], Late):
                    del sys.modules[one]  # with what stands for a part of it, which the module must have as its own
            module = import_module(self._late_name)
        value = getattr(module, name)
        if self._late_keeps:
            vars(self)[name] = value
        return value


def late(name: str, *, keeps: bool = False) -> Any:
    """Return what stands for the module *name* until it is used; with *keeps* what was used of it is kept, where nobody changes that."""
    return Late(name, keeps=keeps)


def import_light(name: str, **heavy: Mapping[str, Any]) -> None:
    """Import the module *name*, which imports *heavy* ones for little: it gets those when it needs more than what is given of each."""
    absent: dict[str, Any] = {one: Late(one) for one in heavy if one not in sys.modules}
    for one, module in absent.items():
        vars(module).update(heavy[one])
        sys.modules[one] = module
    try:
        import_module(name)
    finally:
        for one, module in absent.items():
            if sys.modules.get(one) is module:
                del sys.modules[one]


def import_pathlib() -> None:
    """Import `pathlib` without what it needs for the paths of Windows, for globs and to spell an URL: six modules."""

    def quote(text: bytes) -> str:
        from urllib.parse import quote_from_bytes

        return quote_from_bytes(text)

    absent: dict[str, dict[str, Any]] = {"fnmatch": {}, "ntpath": {}, "warnings": {}}
    import_light("pathlib", **absent, **{"urllib.parse": {"quote_from_bytes": quote}})
