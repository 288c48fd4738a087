"""What the calls of `Memsync` return: plain, frozen values that turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from memsync.codec import fields_of
from memsync.jsonl import Problem
from memsync.records import Memory, Scope, Skill

if TYPE_CHECKING:
    from memsync.dedup import Relation, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory where it lives, with what its importance (0-1) is worth today.

    `stale` says what of the files that it speaks of is no longer so. `flagged` says why it reads like an
    order to an agent, which nobody of this machine has approved.
    """

    memory: Memory
    scope: Scope
    effective_importance: float
    access_count: int = 0
    stale: tuple[str, ...] = ()
    flagged: str = ""

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.memory.content

    def as_dict(self) -> dict[str, Any]:
        """Return the record with every named field, plus scope and today's importance."""
        memory = self.memory
        named = {
            "memory_type": memory.memory_type,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "source_type": memory.source_type,
        }
        return {
            **fields_of(memory),
            **named,
            "scope": self.scope,
            "effective_importance": round(self.effective_importance, 4),
            "access_count": self.access_count,
            **({"stale": list(self.stale)} if self.stale else {}),
            **({"flagged": self.flagged} if self.flagged else {}),
        }


def listed(found: Sequence[Entry]) -> dict[str, Any]:
    """Return *found* as a list answers."""
    return {"count": len(found), "memories": [entry.as_dict() for entry in found]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Entry):
    """An entry that a query found; `score` compares only within one recall. `parts` explains it."""

    score: float
    parts: Mapping[str, float]
    copy_of: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with its score and the parts of it."""
        parts = {name: round(value, 4) for name, value in self.parts.items()}
        copy = {"copy_of": self.copy_of} if self.copy_of else {}
        return {**Entry.as_dict(self), "score": round(self.score, 4), "parts": parts, **copy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits of one query, best first; a sequence of them.

    From a `gate` below the `floor` nothing should be shown to an agent unasked.
    `degraded` says what was missing, such as vectors; "" if nothing was. `refused` are
    the ids that the filters left out and that the floor would have let through.
    """

    hits: tuple[Hit, ...]
    query: str | None = None
    gate: float = 0.0
    floor: float = 0.0
    degraded: str = ""
    refused: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def as_dict(self) -> dict[str, Any]:
        """Return the query, the hits and how far to trust them."""
        return {
            "query": self.query,
            "count": len(self.hits),
            "memories": [hit.as_dict() for hit in self.hits],
            "gate": round(self.gate, 4),
            "floor": self.floor,
            "degraded": self.degraded,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar(Entry):
    """A stored memory beside a new text: how alike they are (0-1), what the new text is to it, and why."""

    score: float
    relation: Relation
    reason: str

    @classmethod
    def of(cls, entry: Entry, verdict: Verdict) -> Similar:
        """Return *entry* with what was found out about it."""
        return cls(
            memory=entry.memory,
            scope=entry.scope,
            effective_importance=entry.effective_importance,
            access_count=entry.access_count,
            flagged=entry.flagged,
            score=verdict.similarity,
            relation=verdict.relation,
            reason=verdict.reason,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with score, relation and reason."""
        verdict = {"score": round(self.score, 4), "relation": self.relation, "reason": self.reason}
        return {**Entry.as_dict(self), **verdict}


Status = Literal["created", "updated", "exists", "superseded", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a text: `status` says whether something new was stored, `entry` is what holds it now.

    `similar` are other memories that the caller may want to look at, the most alike first;
    `degraded` says what kept us from looking well, such as missing vectors.
    """

    status: Status
    entry: Entry
    reason: str = ""
    similar: tuple[Similar, ...] = ()
    degraded: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return status, memory, reason, similar, and how far to trust them."""
        return {
            "status": self.status,
            "memory": self.entry.as_dict(),
            "reason": self.reason,
            "similar": [each.as_dict() for each in self.similar],
            "degraded": self.degraded,
        }


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: whether bytes changed, and why it held back, if it did."""

    path: Path
    changed: bool
    held: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, the path as text."""
        return {"path": str(self.path), "changed": self.changed, "held": self.held}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEntry:
    """A skill where it lives, and how it was used on this machine. `score` compares only within one search."""

    skill: Skill
    scope: Scope
    path: Path
    problems: tuple[Problem, ...] = ()
    use_count: int = 0
    success_rate: float | None = None
    score: float | None = None

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.skill.name

    @property
    def flagged(self) -> str:
        """Why it reads like an order to an agent to ignore or betray its user; "" if it does not."""
        from memsync.poison.screen import suspicious

        skill = self.skill
        texts = (skill.name, skill.description, skill.trigger_pattern, *skill.tags, skill.instructions)
        return next(filter(None, map(suspicious, texts)), "")

    def as_dict(self, *, whole: bool = True) -> dict[str, Any]:
        """Return the skill by the seeds' names; without the instructions where they would be too much."""
        skill = self.skill
        fields = {
            "id": skill.id,
            "name": skill.name,
            "description": skill.description,
            "trigger_pattern": skill.trigger_pattern or None,
            "tags": list(skill.tags),
            "scope": self.scope,
            "path": str(self.path),
            "use_count": self.use_count,
            "success_rate": self.success_rate,
            "problems": [{"line": p.number, "what": p.why} for p in self.problems],
            **({"flagged": why} if (why := self.flagged) else {}),
        }
        more = {} if self.score is None else {"score": round(self.score, 4)}
        source = {"source_session_id": skill.source_session_id} if skill.source_session_id else {}
        return {**fields, **source, **more, **({"instructions": skill.instructions} if whole else {})}


def listed_skills(found: Sequence[SkillEntry]) -> dict[str, Any]:
    """Return *found* as a list answers, without the instructions."""
    return {"count": len(found), "skills": [entry.as_dict(whole=False) for entry in found]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the look at one skill found. `mended`: its file was changed."""

    name: str
    path: Path
    problems: tuple[Problem, ...]
    mended: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether every client loads it and the specification's validator takes it."""
        return all(problem.harmless for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, each problem with its line."""
        problems = [{"line": p.number, "what": p.why, "harmless": p.harmless} for p in self.problems]
        return {
            "name": self.name,
            "path": str(self.path),
            "valid": self.is_valid,
            "mended": self.mended,
            "problems": problems,
        }
