"""Loggers that import `logging` only when there is something to say: its import took a fifteenth of a prompt's hook."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger
    from typing import Any

_waiting: list[Callable[[], object]] = []


def prepare(configure: Callable[[], object]) -> None:
    """Have *configure* called before the first message, now if `logging` is there already."""
    _waiting.append(configure)
    if "logging" in sys.modules:
        _configure()


class Log:
    """The logger of one module, as `logging.getLogger` returns it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, text: str, *args: Any) -> None:
        """Say what somebody sees who has asked for it; where `logging` is not loaded, nobody has."""
        if "logging" in sys.modules:
            self._logger().info(text, *args, stacklevel=2)

    def warning(self, text: str, *args: Any) -> None:
        """Say what everybody should see."""
        self._logger().warning(text, *args, stacklevel=2)

    def exception(self, text: str, *args: Any) -> None:
        """Say what went wrong, with the error that is handled."""
        self._logger().exception(text, *args, stacklevel=2)

    def _logger(self) -> Logger:
        import logging

        _configure()
        return logging.getLogger(self._name)


def _configure() -> None:
    while _waiting:
        _waiting.pop()()
