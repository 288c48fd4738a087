r"""What is made when it is used: a module, `name = late("memsync.room.name")`, and a pattern, `late_pattern(r"\w+")`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any, AnyStr


class Late:
    """Stands for a module until something of it is used that it does not have itself."""

    __spec__ = None  # `import` asks for it where this stands for a module

    def __init__(self, name: str) -> None:
        self._late_name = name

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # `from module import name` asks for it
            raise AttributeError(name)
        module = sys.modules.get(self._late_name)
        if module is None or isinstance(module, Late):
            from importlib import import_module

            sys.modules.pop(self._late_name, None)
            module = import_module(self._late_name)
        return getattr(module, name)


def late(name: str) -> Any:
    """Return what stands for the module *name* until it is used."""
    return Late(name)


def import_light(name: str, **heavy: Mapping[str, Any]) -> None:
    """Import the module *name*, which imports *heavy* ones for little: it gets those when it needs more than what is given of each."""
    from importlib import import_module

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
    """Import `pathlib` without the three modules that it needs to spell an URL."""

    def quote(text: bytes) -> str:
        from urllib.parse import quote_from_bytes

        return quote_from_bytes(text)

    import_light("pathlib", **{"urllib.parse": {"quote_from_bytes": quote}})


class _LatePattern:
    def __init__(self, text: Any, flags: int) -> None:
        self.pattern, self._late_flags = text, flags

    def __getattr__(self, name: str) -> Any:
        from memsync.system.patterns import compiled

        value = getattr(compiled(self.pattern, self._late_flags), name)
        setattr(self, name, value)  # from now on as quick as the pattern's own
        return value


def late_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what stands for the compiled *text* until it is used: a rule that a short text never reaches costs nothing."""
    made: Any = _LatePattern(text, flags)
    found: re.Pattern[AnyStr] = made
    return found


def keep_patterns() -> None:
    """Keep the patterns that were compiled here for other processes, where any were."""
    if patterns := sys.modules.get("memsync.system.patterns"):
        patterns.keep()
