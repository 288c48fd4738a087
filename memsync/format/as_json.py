"""Results as JSON values: one way for `--json`, MCP and the logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any


def as_json(value: Any) -> Any:
    """Return *value* as JSON values: each result in it by its `as_dict`, else by its fields."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, PurePath):
        return str(value)
    named = _named(value)
    if named is not None:
        return {name: as_json(part) for name, part in named.items()}
    return [as_json(part) for part in value]


def _named(value: Any) -> Mapping[str, Any] | None:
    if hasattr(value, "as_dict"):
        found: Mapping[str, Any] = value.as_dict()
        return found
    if is_dataclass(value):
        return {one.metadata.get("json", one.name): getattr(value, one.name) for one in fields(value)}
    return value._asdict() if hasattr(value, "_asdict") else value if isinstance(value, Mapping) else None
