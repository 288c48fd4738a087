r"""What is made when it is used: a module, `name = late("memsync.room.name")`, and a pattern, `late_pattern(r"\w+")`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
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


class _LatePattern:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._late_flags = text, flags

    def __getattr__(self, name: str) -> Any:
        import re

        value = getattr(re.compile(self.pattern, self._late_flags), name)
        setattr(self, name, value)  # from now on as quick as the pattern's own
        return value


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what stands for the compiled *text* until it is used: a rule that a short text never reaches costs nothing."""
    made: Any = _LatePattern(text, flags)
    found: re.Pattern[str] = made
    return found
