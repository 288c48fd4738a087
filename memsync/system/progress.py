"""Showing that something long goes on, where a face has said how: by itself nothing is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

show: Callable[[Sequence[Any], str], Iterable[Any]] | None = None  # the items, while a bar named so goes along


def follow(items: Sequence[T], label: str) -> Iterable[T]:
    """Return *items*, which somebody may see pass under the name *label*."""
    return items if show is None else show(items, label)
