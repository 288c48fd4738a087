"""What a text that is about to be written is to the stored memories that are most like it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from memsync.errors import MemsyncError
from memsync.index.dedup import ALIKE, APART, MERGED, Relation, Thresholds, Verdict, decide, on_scale
from memsync.memories.results import Entry
from memsync.records import Memory, Scope, content_hash
from memsync.store.state import Dedup

if TYPE_CHECKING:
    from memsync.index.rank import Ranking
    from memsync.memories.project import Project
    from memsync.store.reading import Stamps
    from memsync.store.settings import Settings
    from memsync.store.state import Decision
    from memsync.store.store import Store

_JUDGED: Final = 8  # candidates that are judged
_SHOWN: Final = 5  # of them at most shown to the caller
_ASKED: Final = 2_000  # characters of a long text that look for candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar(Entry):
    """A stored memory beside a new text: how alike they are (0-1), what the new text is to it, and why."""

    score: float
    relation: Relation
    reason: str
    may_replace: bool = False

    @classmethod
    def of(cls, entry: Entry, verdict: Verdict) -> Similar:
        """Return *entry* with what was found out about it."""
        _, _, score, reason, may_replace = verdict
        return cls(**entry.fields(), score=score, relation=verdict.relation, reason=reason, may_replace=may_replace)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry with score, relation and reason."""
        score = round(self.score, 4)
        return {**Entry.as_dict(self), "score": score, "relation": self.relation, "reason": self.reason}


class Found(NamedTuple):
    """What a new text is to one stored memory."""

    memory: Memory
    verdict: Verdict

    def as_decision(
        self, new: str, now: datetime, owner: str | None, *, decision: str, reason: str, rejected: bytes | None
    ) -> Dedup:
        """Return what the dedup log should say of the text *new*."""
        return Dedup(
            created_at=now,
            new_text=new,
            existing_id=self.memory.id,
            existing_text=self.memory.content,
            similarity=round(self.verdict.similarity, 4),
            decision=cast("Decision", decision),
            reasoning=reason,
            owner=owner,
            rejected=rejected,
        )


class Look(NamedTuple):
    """What was found beside a new text, the most alike first, and what kept us from looking better."""

    found: tuple[Found, ...]
    degraded: str = ""

    def choose_shown(self, besides: str = "") -> tuple[Found, ...]:
        """Return what the caller should see, what says otherwise first, without the memory *besides*."""
        others = [each for each in self.found if each.memory.id != besides and each.memory.archived_at is None]
        against = sorted(
            (each for each in others if each.verdict.relation in APART), key=lambda each: each.verdict.relation
        )
        near = [each for each in others if each not in against and each.verdict.similarity >= ALIKE]
        return tuple(against + near or [each for each in others[:1] if each.verdict.relation != "different"])[:_SHOWN]


class Ahead(NamedTuple):
    """What was found beside a new text before the lock was taken."""

    look: Look
    stamps: list[Stamps | None]

    def holds(self, project: Project) -> bool:
        """Tell whether nobody has written since."""
        return self.stamps == _list_stamps(project)


def _list_stamps(project: Project) -> list[Stamps | None]:
    return [store.stamp for store in project.stores.values()]


def look_ahead(project: Project, store: Store, content: str, besides: Collection[str]) -> Ahead | None:
    """Do what `look_for` does, without the lock."""
    stamps = _list_stamps(project)
    look = look_for(project, store, content, besides)
    return Ahead(look, stamps) if look else None


def look_for(project: Project, store: Store, content: str, besides: Collection[str]) -> Look | None:
    """Return the memory of *store* that says exactly *content*, or do what `find_similar` does."""
    if same := store.by_hash(content_hash(content), text=content):
        return Look((Found(same, decide(content, same.content, 1.0)),))
    return find_similar(project, store, content, besides)


def find_similar(project: Project, store: Store, content: str, besides: Collection[str] = ()) -> Look | None:
    """Judge *content* against the memories of *store* that are most like it, but for those *besides*.

    Of those that were replaced only what says the same counts: it must not come back by itself.
    The caller holds the lock, or looks ahead. None: `prepare_index` must be called first, without the lock.
    """
    scope = store.place.scope
    store.by_hash("")  # knows from then on what is superseded

    @cache
    def list_replaced_elsewhere() -> set[str]:
        others = (one for one in project.stores.values() if one is not store)
        return {old for one in others for memory in one.replacing() for old in memory.supersedes}

    def is_replaced(id_: str) -> bool:
        return store.followers.is_superseded(id_) or id_ in list_replaced_elsewhere()

    def allow(where: Scope, memory: Memory) -> float | None:
        is_open = where == scope and memory.conflict_of is None and memory.id not in besides
        return 0.0 if is_open and (memory.archived_at is None or is_replaced(memory.id)) else None

    try:
        ranking = project.finder.nominate(content[:_ASKED], limit=_JUDGED, allow=allow)
    except MemsyncError as error:
        return _look_failed(error)
    if ranking is None:
        return None
    found = _judge(store, content, ranking, thresholds_of(project.settings))
    return Look(tuple(sorted(found, key=_order)), ranking.degraded)


def prepare_index(project: Project) -> Look | None:
    """Have the index ready; where that fails, return a look that found nothing, since a text is stored all the same."""
    try:
        project.finder.prepare()
    except MemsyncError as error:
        return _look_failed(error)
    return None


def _look_failed(error: MemsyncError) -> Look:
    return Look((), f"nothing similar was looked for: {error}")


def thresholds_of(settings: Settings) -> Thresholds:
    """Return from when *settings* take texts for alike."""
    return Thresholds(auto_reject=settings.auto_reject_threshold, gray_low=settings.gray_zone_low)


def _judge(store: Store, content: str, ranking: Ranking, levels: Thresholds) -> Iterator[Found]:
    for match in ranking.matches:
        if old := store.get(match.memory.id):
            likeness = on_scale(match.parts.semantic / (ranking.weight_of_meaning or 1.0))
            verdict = decide(content, old.content, likeness, thresholds=levels)
            if old.archived_at is None or (verdict.decision in MERGED and verdict.relation != "contains"):
                yield Found(old, verdict)


def _order(found: Found) -> tuple[bool, bool, bool, float, str]:
    """Sort what may be merged first, what is live and copies before the rest; then the most alike; ties by id."""
    verdict = found.verdict
    is_merged = verdict.decision in MERGED
    is_gone = found.memory.archived_at is not None
    return (not is_merged, is_gone, is_merged and verdict.relation != "duplicate", -verdict.similarity, found.memory.id)


def as_similar(project: Project, scope: Scope, found: Iterable[Found]) -> tuple[Similar, ...]:
    """Return *found* as results."""
    usage = project.state(scope).usage()
    return tuple(
        Similar.of(project.screening.screen(project.entry(scope, each.memory, usage)), each.verdict) for each in found
    )
