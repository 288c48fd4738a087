"""Writing a text: what is like it, what it is to each of these, and what becomes of it. All under the lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from memsync.dedup import ALIKE, MERGED, Thresholds, Verdict, decide, keeps_values, on_scale
from memsync.errors import MemsyncError
from memsync.format import codec
from memsync.index.scale import MEANING
from memsync.memories.anchors import anchors_of
from memsync.memories.edits import hidden, hide_elsewhere, noted, refuse_copy, replacing, resolve_refs, still_there
from memsync.memories.results import Entry, Remembered, Similar, Status
from memsync.records import (
    Memory,
    Scope,
    check_size,
    check_words,
    clean_content,
    clean_importance,
    clean_tags,
    clean_type,
    content_hash,
    new_id,
    tick,
)
from memsync.store import bystealth
from memsync.store.state import Dedup

if TYPE_CHECKING:
    from memsync.index.rank import Ranking
    from memsync.memories.project import Project
    from memsync.store.config import Settings
    from memsync.store.state import Action, Decision
    from memsync.store.store import Store

# What somebody bothers to say is worth more than the 0.5 of a record without a number (seed 002).
REMEMBER_IMPORTANCE: Final = 0.7
_CLEAN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "content": clean_content,
    "memory_type": clean_type,
    "importance": clean_importance,
    "tags": clean_tags,
}
LOOKED_AT: Final = 8  # candidates that are judged
_OPPOSED: Final = 0.7  # similarity from which the nearest text may be told to contradict; halfway from related to alike
SHOWN: Final = 5  # of them at most told to the caller
_SHOWN: Final = frozenset(
    {"content", "tags", "memory_type", "author", "anchors"}
)  # texts that are looked at for secrets
_ASKED: Final = 2_000  # characters of a long text that look for candidates
_QUESTIONS: Final = 2  # that one write may put to a model
_DOUBTED: Final = ("duplicate", "contains", "contained")

Answers = dict[tuple[str, str], "tuple[bool, str] | None"]


class Draft(NamedTuple):
    """What somebody wants stored. `importance`: what they said it is, if they did; `replaces`: what it supersedes.

    `is_chosen`: they said in which scope.
    """

    memory: Memory
    scope: Scope
    importance: float | None
    replaces: tuple[Entry, ...]
    is_chosen: bool = True


class Found(NamedTuple):
    """What a new text is to one stored memory."""

    memory: Memory
    verdict: Verdict


class Look(NamedTuple):
    """What was found beside a new text, the most alike first, and what kept us from looking better."""

    found: tuple[Found, ...]
    degraded: str = ""

    def besides(self, memory: Memory | None) -> tuple[Found, ...]:
        """Return what is worth telling, without *memory* itself."""
        others = [each for each in self.found if memory is None or each.memory.id != memory.id]
        near = [each for each in others if each.verdict.similarity >= ALIKE]
        return tuple(near or [_nearest(each) for each in others[:1] if each.verdict.relation != "different"])[:SHOWN]


def _nearest(found: Found) -> Found:
    """Return what is told where nothing is really alike: that texts on two things contradict each other would be noise."""
    verdict = found.verdict
    is_noise = verdict.relation == "contradicts" and verdict.similarity < _OPPOSED
    return found._replace(verdict=verdict._replace(relation="related")) if is_noise else found


def clean(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of *given* that are not None, in the form that is stored.

    Raises:
        InvalidMemory
    """
    return {name: _CLEAN[name](value) for name, value in given.items() if value is not None}


def remember(
    project: Project,
    given: Mapping[str, Any],
    scope: Scope | None,
    *,
    source_type: str,
    supersedes: Collection[str],
    anchors: Collection[str],
) -> Remembered:
    """Store what is *given*, or fold it into what says the same; `Project.remember` says more."""
    fields: dict[str, Any] = {"importance": REMEMBER_IMPORTANCE, **clean(given)}
    session, author = project.journal.session_id, project.author
    memory = Memory(id="", source_type=source_type, source_session_id=session, author=author, **fields)
    is_chosen, scope = scope is not None, scope or project.default_scope
    if project.layout.root and scope != "global":
        memory = memory._replace(anchors=anchors_of(memory.content, anchors, project.layout.root))
    replaces = resolve_refs(project, supersedes)
    check_size(memory._replace(supersedes=tuple(entry.id for entry in replaces)))
    importance = None if given["importance"] is None else memory.importance
    draft = Draft(project.vetting.vet(memory, scope), scope, importance, replaces, is_chosen)
    if project.verify is None and project.settings.llm_provider:
        from memsync.llm.verify import verifier

        project.verify = verifier(project)
    return store_draft(project, draft)


def store_draft(project: Project, draft: Draft) -> Remembered:
    """Store *draft*, or fold it into what says the same.

    Raises:
        MemoryNotFound, NoStore, StoreError: nothing was written.
    """
    store = project.store_to_write(draft.scope)
    answers: Answers = {}
    blind: Look | None = None
    while True:
        with store.writing():
            look = _look(project, store, draft) or blind
            question = _question(project, look, answers) if look else None
            if look and question is None:
                done = _Write(project, store, draft, look, answers).do()
                break
        # Both may take long, or the locks of all stores: not while we hold one.
        if question is None:
            blind = _prepared(project)
        elif project.verify is not None:
            pair = (draft.memory.content, question.memory.content)
            answers[pair] = project.verify(*pair)
    hide_elsewhere(project, draft.scope, draft.replaces)
    return done


def _prepared(project: Project) -> Look | None:
    """Have the index ready; where that fails, return what can be said without it: a text is stored all the same."""
    try:
        project.finder.prepare()
    except MemsyncError as error:
        return Look((), f"nothing similar was looked for: {error}")
    return None


def _look(project: Project, store: Store, draft: Draft) -> Look | None:
    """Return what is like *draft*; None: the index must be made first, without the lock."""
    content = draft.memory.content
    besides = {entry.id for entry in draft.replaces}
    if same := store.by_hash(content_hash(content)):
        return Look((Found(same, decide(content, same.content, 1.0)),))
    return similar(project, store, content, besides)


def similar(project: Project, store: Store, content: str, besides: Collection[str] = ()) -> Look | None:
    """Judge *content* against the memories of *store* that are most like it, but for those *besides*.

    The caller holds the lock. None: `finder.prepare` must be called first, without it.
    """
    scope = store.place.scope

    def allow(where: Scope, memory: Memory) -> float | None:
        is_open = where == scope and memory.archived_at is None and memory.conflict_of is None
        return 0.0 if is_open and memory.id not in besides else None

    try:
        ranking = project.finder.nominate(content[:_ASKED], limit=LOOKED_AT, allow=allow)
    except MemsyncError as error:
        return Look((), f"nothing similar was looked for: {error}")
    if ranking is None:
        return None
    found = _judged(store, content, ranking, thresholds_of(project.settings))
    return Look(tuple(sorted(found, key=_order)), ranking.degraded)


def thresholds_of(settings: Settings) -> Thresholds:
    """Return what *settings* say of when texts are alike."""
    return Thresholds(auto_reject=settings.auto_reject_threshold, gray_low=settings.gray_zone_low)


def _judged(store: Store, content: str, ranking: Ranking, levels: Thresholds) -> Iterable[Found]:
    for match in ranking.matches:
        if old := store.get(match.memory.id):
            likeness = on_scale(match.parts.semantic / MEANING)
            yield Found(old, decide(content, old.content, likeness, thresholds=levels))


def _order(found: Found) -> tuple[bool, bool, float, str]:
    """Sort what may be merged first, copies before the rest; then the most alike; ties by id."""
    verdict = found.verdict
    is_merged = verdict.decision in MERGED
    return (not is_merged, is_merged and verdict.relation != "duplicate", -verdict.similarity, found.memory.id)


def _question(project: Project, look: Look, answers: Answers) -> Found | None:
    """Return the pair that a model should be asked about before anything is written."""
    if (
        project.verify is None
        or len(answers) >= _QUESTIONS
        or (look.found and look.found[0].verdict.decision in MERGED)
    ):
        return None
    doubted = (each for each in look.found if _is_doubted(each.verdict, project.settings.gray_zone_low))
    asked = {old for _, old in answers}
    return next((each for each in doubted if each.memory.content not in asked), None)


def _is_doubted(verdict: Verdict, low: float) -> bool:
    return verdict.decision == "gray" and verdict.relation in _DOUBTED and verdict.similarity >= low


class _Write:
    """One write under the lock, with all that was found out before."""

    def __init__(self, project: Project, store: Store, draft: Draft, look: Look, answers: Answers) -> None:
        self._project, self._store, self._draft, self._look, self._answers = project, store, draft, look, answers

    def do(self) -> Remembered:
        best = self._look.found[0] if self._look.found else None
        if best and best.verdict.decision in MERGED:
            if best.verdict.relation == "contains":
                return self._enrich(best)
            return self._exists(best, best.verdict.decision, best.verdict.reason)
        for each in self._look.found:
            if rejected := self._rejected(each):
                return self._exists(each, *rejected)
        return self._create()

    def _rejected(self, found: Found) -> tuple[str, str] | None:
        """Say why a doubtful text is not stored: a model says so, or the strict setting does."""
        if not _is_doubted(found.verdict, self._project.settings.gray_zone_low):
            return None
        if answer := self._answers.get((self._draft.memory.content, found.memory.content)):
            is_safe = keeps_values(found.memory.content, self._draft.memory.content)
            return ("llm_reject", answer[1]) if answer[0] and is_safe else None
        return ("fallback_reject", found.verdict.reason) if self._project.settings.dedup_strict else None

    def _enrich(self, best: Found) -> Remembered:
        old = best.memory
        changes = {"content": self._draft.memory.content, **self._taken_over(old)}
        new = replacing(self._project, self._store, old, changes, self._draft.replaces)
        self._log(best, "subsumed", best.verdict.reason, codec.encode(old))
        reason = f"{best.verdict.reason}; `memsync memory restore {old.id}` brings the earlier text back"
        return self._result("updated", new, "updated", reason, old)

    def _exists(self, best: Found, decision: str, reason: str) -> Remembered:
        old = best.memory
        changes = self._taken_over(old)
        same = replacing(self._project, self._store, old, changes, self._draft.replaces)
        self._log(best, decision, reason, None if decision == "hash_exact" else codec.encode(self._named()))
        if told := [name for name in changes if name != "archived_at"]:
            reason += f"; {' and '.join(told)} taken over"
        if "archived_at" in changes:
            return self._result("updated", same, "updated", "it was archived, and is back", old)
        if self._draft.replaces:
            return self._result("superseded", same, "updated", reason, old)
        return self._result("exists", same, "accessed", reason, old)

    def _taken_over(self, old: Memory) -> dict[str, Any]:
        """Return what *old* takes over beside the text: tags are united, the larger importance is kept."""
        draft, changes = self._draft, dict[str, Any]()
        if (united := clean_tags((*old.tags, *draft.memory.tags))) != old.tags:
            changes["tags"] = list(united)
        if draft.importance is not None and draft.importance > old.importance:
            changes["importance"] = draft.importance
        if old.archived_at is not None:
            changes["archived_at"] = None
        return changes

    def _create(self) -> Remembered:
        memory = self._named()._replace(supersedes=tuple(entry.id for entry in self._draft.replaces))
        self._store.write([memory], hidden(self._project, self._store, self._draft.replaces))
        low = self._project.settings.gray_zone_low
        for each in self._look.found:
            if each.verdict.decision == "gray" and each.verdict.similarity >= low:
                answer = self._answers.get((memory.content, each.memory.content))
                self._log(each, "llm_keep" if answer else "fallback_keep", answer[1] if answer else each.verdict.reason)
        ids = ", ".join(memory.supersedes)
        return self._result("superseded" if ids else "created", memory, "created", f"instead of {ids}" if ids else "")

    def _named(self) -> Memory:
        project, memory = self._project, self._draft.memory
        now = tick(project.clock(), None)
        id_ = new_id(memory.content, now, is_taken=project.stores.is_taken, count=project.stores.count_ids())
        return memory._replace(id=id_, created_at=now, updated_at=now)

    def _log(self, found: Found, decision: str, reason: str, rejected: bytes | None = None) -> None:
        row = Dedup(
            created_at=self._project.clock(),
            new_text=self._draft.memory.content,
            existing_id=found.memory.id,
            existing_text=found.memory.content,
            similarity=round(found.verdict.similarity, 4),
            decision=cast("Decision", decision),
            reasoning=reason,
            owner=self._draft.memory.author,
            rejected=rejected,
        )
        self._project.journal.add_decision(self._draft.scope, row)

    def _result(self, status: Status, memory: Memory, action: Action, reason: str, *parts: Memory) -> Remembered:
        if self._store.place.scope == "stealth":
            if self._draft.is_chosen:
                bystealth.drop(self._store.place.local, {memory.id})
            else:
                bystealth.follow(self._store.place.local, memory, [*parts, *_memories(self._draft.replaces)])
        entry = noted(self._project, self._draft.scope, memory, action)
        near = told(self._project, self._draft.scope, self._look.besides(memory))
        return Remembered(status=status, entry=entry, reason=reason, similar=near, degraded=self._look.degraded)


def _vetted(project: Project, entry: Entry, old: Memory, changes: dict[str, Any]) -> Memory:
    """Return *old* with the *changes* as it may be stored; where the user allows a secret, that changes the tags."""
    new = old._replace(**changes)
    if changes.keys() & _SHOWN or project.vetting.allows_secrets:
        new = project.vetting.vet(new, entry.scope)
        if new.tags != old.tags:
            changes["tags"] = new.tags
    return new


def update(
    project: Project, ref: str, scope: Scope | None, given: Mapping[str, Any], supersedes: Collection[str] = ()
) -> Remembered:
    """Change the fields of one memory that are *given*; say what a new text is like. `Project.update` says more.

    A record that a merge kept beside another stands on its own from then on.
    """
    wanted = clean(given)
    check_words(wanted.get("tags", ()), "tag")
    entry = project.get(ref, scope)
    replaces = [other for other in resolve_refs(project, supersedes) if other.id != entry.id]
    store = project.store_to_write(entry.scope)
    blind: Look | None = None
    while True:
        with store.writing():
            old = still_there(store, entry.id)
            changes = {name: new for name, new in wanted.items() if new != getattr(old, name)}
            if old.conflict_of and wanted:
                changes["conflict_of"] = None  # somebody has looked at it
            look: Look | None = Look(())
            vetted = _vetted(project, entry, old, changes)
            if "content" in changes:
                content = changes["content"] = vetted.content
                refuse_copy(store, old.id, content)
                look = similar(project, store, content, {entry.id, *(other.id for other in replaces)}) or blind
            if look:
                new = replacing(project, store, old, changes, replaces)
                if entry.scope == "stealth" and project.settings.stealth:
                    bystealth.follow(store.place.local, new, [old, *_memories(replaces)])
                break
        blind = _prepared(project)
    hide_elsewhere(project, entry.scope, replaces)
    if new is old:
        return Remembered(status="exists", entry=entry, reason="nothing to change")
    names = [*changes, *(["supersedes"] if new.supersedes != old.supersedes else [])]
    return Remembered(
        status="superseded" if replaces else "updated",
        entry=noted(project, entry.scope, new, "updated"),
        reason=", ".join(names),
        similar=told(project, entry.scope, look.besides(None)),
        degraded=look.degraded,
    )


def _memories(entries: Iterable[Entry]) -> Iterable[Memory]:
    return (entry.memory for entry in entries)


def told(project: Project, scope: Scope, found: Iterable[Found]) -> tuple[Similar, ...]:
    """Return *found* as results."""
    usage = project.state(scope).usage()
    return tuple(
        Similar.of(project.screening.screen(project.entry(scope, each.memory, usage)), each.verdict) for each in found
    )
