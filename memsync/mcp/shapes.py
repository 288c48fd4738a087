"""The objects that tools return, for the schemas that clients read: the same as the command line's `--json`.

Unknown keys of a record are part of it, so every shape allows more.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from memsync.records import Scope


class Shape(BaseModel):
    """What all have in common."""

    model_config = ConfigDict(extra="allow")


class Memory(Shape):
    """A memory where it lives; effective_importance is what its importance is worth today."""

    id: str
    content: str
    memory_type: str
    importance: float
    tags: list[str]
    source_type: str
    scope: Scope
    effective_importance: float
    access_count: int
    created_at: str | None = None
    updated_at: str | None = None
    stale: list[str] | None = None
    flagged: str | None = None


class Hit(Memory):
    """A memory that a query found; scores compare only within one answer."""

    score: float
    confidence: float
    parts: dict[str, float]


class ListedSkill(Shape):
    """A skill where it lives, without its instructions."""

    id: str
    name: str
    description: str
    trigger_pattern: str | None
    tags: list[str]
    version: str
    scope: Scope
    path: str
    use_count: int
    success_rate: float | None


class Recall(Shape):
    """What answers a query, best first; with what to ask again where nothing surely does; skills only if they were asked for."""

    query: str | None
    count: int
    memories: list[Hit]
    gate: float
    floor: float
    degraded: str
    nearest: dict[str, list[str]] | None = None
    skills: list[ListedSkill] | None = None


class Similar(Memory):
    """A memory beside a new text: what the new text is to it (contradicts, contains, …), and why."""

    score: float
    relation: str
    reason: str


class Remembered(Shape):
    """What became of a text: exists means that nothing new was stored."""

    status: str
    memory: Memory
    reason: str
    similar: list[Similar]
    degraded: str


class Batch(Shape):
    """Clusters of likely copies, how many more follow, and what was done to the ones before."""

    count: int
    clusters: list[dict[str, Any]]
    left: int
    merged: int | None = None
    refused: list[str] | None = None
    run: str | None = None
    kept: int | None = None


class Outcome(Shape):
    """What became of one item of an import that was not simply created."""

    status: str
    where: str
    id: str | None
    reason: str


class Event(Shape):
    """What happened to one memory; no commit means that it is not committed yet."""

    id: str
    kind: str
    fields: list[str]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Committed(Event):
    """An event with its commit."""

    commit: str | None
    author: str | None
    when: str | None
    subject: str | None


class Skill(ListedSkill):
    """A whole skill."""

    instructions: str


class CheckedSkill(Shape):
    """What the look at one skill found."""

    name: str
    path: str
    valid: bool
    mended: bool


def shape(meaning: str, /, **fields: Any) -> type[BaseModel]:
    """Return the shape of an answer with these *fields*, each of which is always there."""
    kinds: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return create_model("Answer", __base__=Shape, __doc__=meaning, **kinds)


Memories = shape("Memories, the most important first.", count=int, memories=list[Memory])
Forgotten = shape("What is gone; restore_memory brings it back.", forgotten=list[Memory])
Stats = shape(
    "Counts over the memories.",
    total=int,
    by_type=dict[str, int],
    by_scope=dict[str, int],
    by_source=dict[str, int],
    by_tag=dict[str, int],
    average_importance=float,
    archived=int,
    most_used=list[Memory],
)
Import = shape(
    "How many items ended how, and how many are private or global now.",
    created=int,
    updated=int,
    duplicate=int,
    skipped=int,
    dry_run=bool,
    beside=dict[str, int],
    items=list[Outcome],
)
Export = shape(
    "Whether the file was put in canonical form; held says why it was left alone.",
    path=str,
    changed=bool,
    held=str | None,
)
History = shape("What happened to one memory, newest first.", id=str, events=list[Committed], notes=list[str])
Difference = shape(
    "What the memories and skills at new have that those at old had not, and the other way round.",
    old=str,
    new=str,
    memories=list[Event],
    skills=list[dict[str, Any]],
)
Blame = shape("Who last changed what: each memory, or each field of one.", lines=list[dict[str, Any]], notes=list[str])
Skills = shape("Skills, by name or best first.", count=int, skills=list[ListedSkill])
SkillDone = shape("What became of a skill.", status=str, skill=Skill)
SkillsGone = shape("What is gone; restore_skill brings it back.", deleted=list[ListedSkill])
SkillsChecked = shape("Whether every client loads all of them.", valid=bool, skills=list[CheckedSkill])
SkillsCopied = shape("The folders that are there now.", exported=list[str])
SkillStats = shape(
    "Counts of skills and their use.", total=int, by_scope=dict[str, int], uses=int, most_used=list[ListedSkill]
)
SkillHistory = shape(
    "Which commits changed a skill, newest first.", name=str, events=list[dict[str, Any]], notes=list[str]
)
Learned = shape(
    "What became of a skill to learn; digest is what the session tells.",
    status=str,
    name=str,
    path=str,
    by=str,
    diff=str,
    digest=dict[str, Any] | None,
    skill=Skill | None,
    note=str,
    next=str,
)
Decisions = shape("What dedup decided.", count=int, decisions=list[dict[str, Any]])
Confirmed = shape("The decisions that are right.", confirmed=list[str])
Reversed = shape("What a reversal brought back.", status=str, memory=Memory | None, reason=str)
Started = shape(
    "What a look at the project found: proposed waits for the user.",
    proposed=list[dict[str, Any]],
    stored=list[Remembered],
    updated=list[Memory],
    gone=list[Memory],
    edited=list[Memory],
)
Enriched = shape("Memories without cues, what would be done, or what was done; run is for `memsync janitor undo`.")
Sources = shape("What each source proposes; dropped says what was not worth it, and why.", sources=list[dict[str, Any]])
