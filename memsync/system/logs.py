"""What is said while something goes on: loggers that import `logging` only for a message, and progress, where a face shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from logging import Logger

_waiting: list[Callable[[], object]] = []
T = TypeVar("T")

show_progress: Callable[[Sequence[Any], str], Iterable[Any]] | None = None  # the items, while a bar named so goes along


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


def follow_progress(items: Sequence[T], label: str) -> Iterable[T]:
    """Return *items*, which somebody may see pass under the name *label*."""
    return items if show_progress is None else show_progress(items, label)
