"""What an export did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None
