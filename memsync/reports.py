"""What the rarer calls of `Memsync` return: imports, status, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memsync.records import Scope
from memsync.results import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one item of an import."""

    status: Literal["created", "updated", "duplicate", "skipped"]
    where: str
    id: str | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the four fields."""
        return {"status": self.status, "where": self.where, "id": self.id, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or with `dry_run` would do, item by item."""

    outcomes: tuple[Outcome, ...]
    dry_run: bool

    def count(self, status: str) -> int:
        """Return how many items ended as *status*."""
        return sum(outcome.status == status for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts, and every item that was not simply created."""
        counts = {name: self.count(name) for name in ("created", "updated", "duplicate", "skipped")}
        told = [outcome.as_dict() for outcome in self.outcomes if outcome.status != "created"]
        return {**counts, "dry_run": self.dry_run, "items": told}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """One store at a glance. `pending`: an export would change the file; `waiting` memories wait for a commit.

    `new` were neither written nor shown on this machine; `flagged` read like orders to an agent, and wait for approval.
    """

    scope: Scope
    path: Path
    memories: int
    problems: int
    pending: bool
    waiting: int
    new: int
    flagged: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the path as text."""
        return {
            "scope": self.scope,
            "path": str(self.path),
            "memories": self.memories,
            "problems": self.problems,
            "pending": self.pending,
            "waiting": self.waiting,
            "new": self.new,
            "flagged": self.flagged,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts over the memories in reach."""

    total: int
    by_type: Mapping[str, int]
    by_scope: Mapping[str, int]
    by_source: Mapping[str, int]
    by_tag: Mapping[str, int]
    average_importance: float
    archived: int = 0
    most_used: tuple[Entry, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return {
            "total": self.total,
            "by_type": dict(self.by_type),
            "by_scope": dict(self.by_scope),
            "by_source": dict(self.by_source),
            "by_tag": dict(self.by_tag),
            "average_importance": round(self.average_importance, 4),
            "archived": self.archived,
            "most_used": [entry.as_dict() for entry in self.most_used],
        }
