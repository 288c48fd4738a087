"""What an export did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the path as text."""
        return {"path": str(self.path), "changed": self.changed, "held": self.held}
