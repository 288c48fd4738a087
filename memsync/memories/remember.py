"""Storing a text, or folding it into a memory that says the same: decided under the lock, prepared before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from memsync.errors import closest
from memsync.format import codec
from memsync.index.dedup import MERGED, Verdict
from memsync.index.likeness import find_lost
from memsync.memories import links
from memsync.memories.anchors import pin
from memsync.memories.edits import (
    archive_elsewhere,
    edit_replacing,
    expect_edit,
    find_successors,
    get_live,
    get_own,
    plan_archiving,
    prepare_write,
    record_entry,
    refuse_copy,
    resolve_refs,
    say_replaced,
)
from memsync.memories.naming import Named, change_triggers, name_all
from memsync.memories.results import Entry, Remembered, Status
from memsync.memories.similar import (
    Ahead,
    Found,
    Look,
    Similar,
    as_similar,
    find_similar,
    look_ahead,
    look_for,
    prepare_index,
)
from memsync.records import (
    DEFAULT_SOURCE,
    DEFAULT_TYPE,
    FIELDS,
    RULE,
    TIDIED,
    TYPE_ORDER,
    Fields,
    Memory,
    Scope,
    check_size,
    check_words,
    content_hash,
    names_of,
    take_over,
    tick,
)
from memsync.safety.guard import shown_type
from memsync.store import bystealth

if TYPE_CHECKING:
    from pathlib import Path

    from memsync.memories.project import Project
    from memsync.store.state import Action
    from memsync.store.store import Store


# What somebody bothers to say is worth more than the 0.5 of a record without a number.
REMEMBER_IMPORTANCE: Final = 0.7
_VETTED: Final = frozenset(names_of("text", "label", "list"))  # looked at for secrets
_QUESTIONS: Final = 2  # that one write may put to a model
_DOUBTED: Final = ("duplicate", "contains", "contained")

Answers = dict[tuple[str, str], "tuple[bool, str] | None"]


class Draft(NamedTuple):
    """What somebody wants stored. `importance`: what they said it is, if they did; `replaces`: what it supersedes.

    `is_chosen`: they said in which scope. `is_approved`: they have seen it beside what it may contradict.
    """

    memory: Memory
    scope: Scope
    importance: float | None
    replaces: tuple[Entry, ...]
    is_chosen: bool = True
    is_approved: bool = False


def _clean(project: Project, given: Fields, content: str | None, root: Path | None) -> dict[str, Any]:
    """Return *content* and the fields of *given* that are not None, in the form that is stored; anchors where there is a *root*."""
    if unknown := given.keys() - Fields.__annotations__.keys():
        raise TypeError(f"a memory has no field {min(unknown)!r}")
    said = {"content": content, **given}
    found = {f.name: f.clean(said[f.name]) for f in FIELDS if f.clean and said.get(f.name) is not None}
    if (refs := given.get("links")) is not None:
        found["links"] = links.resolve(project, refs)
    if (anchors := given.get("anchors")) is not None and root:
        found["anchors"] = tuple(dict.fromkeys(pin(text, root) for text in anchors if text.strip()))
    for field in FIELDS:
        if field.kind == "list":
            check_words(found.get(field.name, ()), field.one)
    return found


_TEXTS: Final = ("memory_type", "importance")


def _list_single(given: Fields) -> Fields:
    """Return what is *given* with a lone text, of which each letter would count, as the one item of its list."""
    lone = {name: (value,) for name, value in given.items() if isinstance(value, str) and name not in _TEXTS}
    return cast("Fields", {**given, **lone})


def remember(
    project: Project, content: str, given: Fields, scope: Scope | None, named: Named, source_type: str | None
) -> Remembered:
    """Store *content* with what is *given*, or fold it into what says the same, anchored to what it has *named*; `Project.remember` says more."""
    given = _list_single(given)
    fields = {"importance": REMEMBER_IMPORTANCE, **_clean(project, given, content, named.root)}
    session, author = project.journal.session_id, project.author
    memory = Memory(
        id="", source_type=source_type or project.journal.writer, source_session_id=session, author=author, **fields
    )
    is_chosen, scope = scope is not None, scope or project.default_scope
    replaces = resolve_refs(project, given.get("supersedes") or ())
    if not is_chosen and scope == "project" and (private := _find_private(project, memory.content)):
        return private
    importance = None if given.get("importance") is None else memory.importance
    draft = Draft(_vet(project, memory, scope, replaces), scope, importance, replaces, is_chosen)
    ahead = _look_ahead(project, draft) if named.is_sought else None  # while git looks
    if (placed := name_all(draft.memory, named)) != draft.memory:
        draft = draft._replace(memory=_vet(project, placed, scope, replaces))
    if project.verify is None and project.settings.llm_provider:
        from memsync.llm.judge import verifier

        project.verify = verifier(project)
    return store_draft(project, draft, ahead)


def _explain_type(project: Project, name: str) -> str:
    """Say that the type *name* is a new one, which may have been meant, and as what it is shown; "" if it is known."""
    known = {*TYPE_ORDER, RULE}
    if name in known or name in (known := known | {entry.memory.memory_type for entry in project.entries()}):
        return ""
    near = f"; did you mean {near}?" if (near := closest(name, known)) else ""
    shown = f", shown as {shown_type(name)}: not one short word" if shown_type(name) != name else ""
    return f"{name!r} is a new type{shown}{near}"


def _find_private(project: Project, content: str) -> Remembered | None:
    """Return that the very text is private here, if it is: who says it again, often an agent that was given it, does not make it public."""
    store = project.stores.get("private")
    if store is None:
        return None
    store.refresh()
    same = store.by_hash(content_hash(content), text=content)
    if same is None or same.archived_at:
        return None
    reason = f"it is private; `memsync share {same.id}` shows it to everybody"
    return Remembered(status="exists", entry=record_entry(project, "private", same, "accessed"), reason=reason)


def _vet(project: Project, memory: Memory, scope: Scope, replaces: Sequence[Entry]) -> Memory:
    check_size(memory._replace(supersedes=tuple(entry.id for entry in replaces)))
    return project.vetting.vet(memory, scope)


def _look_ahead(project: Project, draft: Draft) -> Ahead | None:
    store = project.store_to_write(draft.scope)
    prepare_write(project, store)
    return look_ahead(project, store, draft.memory.content, {entry.id for entry in draft.replaces})


def store_draft(project: Project, draft: Draft, ahead: Ahead | None = None) -> Remembered:
    """Store *draft*, or fold it into what says the same, as was found *ahead* if nobody has written since.

    Raises:
        MemoryNotFound, NoStore, StoreError: nothing was written.
    """
    store = project.store_to_write(draft.scope)
    answers: Answers = {}
    blind: Look | None = None
    content, besides = draft.memory.content, {entry.id for entry in draft.replaces}
    prepare_write(project, store)
    while True:
        with store.writing():
            is_known = ahead is not None and ahead.holds(project)
            look = ahead.look if ahead and is_known else look_for(project, store, content, besides) or blind
            question = _question(project, look, answers) if look else None
            if look and question is None:
                done = _Write(project, store, draft, look, answers).do()
                break
        # Both may take long, or the locks of all stores: not while we hold one.
        if question is None:
            blind = prepare_index(project)
        elif project.verify is not None:
            pair = (content, question.memory.content)
            answers[pair] = project.verify(*pair)
    archive_elsewhere(project, draft.scope, draft.replaces)
    return done


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


@dataclass(slots=True)
class _Write:
    """One write under the lock, with all that was found out before."""

    project: Project
    store: Store
    draft: Draft
    look: Look
    answers: Answers

    def do(self) -> Remembered:
        best = self.look.found[0] if self.look.found else None
        if best and best.verdict.decision in MERGED:
            if newer := self._find_newer(best.memory):
                return self._tell_replaced(best, newer)
            if best.verdict.relation == "contains":
                return self._enrich(best)
            return self._exists(best, best.verdict.decision, best.verdict.reason)
        for each in self.look.found:
            if rejected := self._find_rejection(each):
                return self._exists(each, *rejected)
        return self._create()

    def _find_newer(self, old: Memory) -> dict[str, Scope]:
        """Return what *old* was replaced by, unless somebody says that it is the other way round now."""
        newer = find_successors(self.project.stores, old.id) if old.archived_at else {}
        return {} if newer.keys() & {entry.id for entry in self.draft.replaces} else newer

    def _tell_replaced(self, best: Found, newer: Mapping[str, Scope]) -> Remembered:
        """Leave what was replaced where it is, and show what stands for it."""
        old, project = best.memory, self.project
        why = "it replaced this text"
        similar: list[Similar] = []
        for id_, scope in newer.items():
            if memory := project.stores[scope].get(id_):
                verdict = Verdict("contradicts", "keep", best.verdict.similarity, why)
                similar += as_similar(project, scope, [Found(memory, verdict)])
        entry = record_entry(project, self.draft.scope, old, "accessed")
        reason = say_replaced(old, newer)
        return Remembered(status="exists", entry=entry, reason=reason, similar=tuple(similar))

    def _find_rejection(self, found: Found) -> tuple[str, str] | None:
        if not _is_doubted(found.verdict, self.project.settings.gray_zone_low):
            return None
        if answer := self.answers.get((self.draft.memory.content, found.memory.content)):
            is_safe = not find_lost(found.memory.content, self.draft.memory.content)
            return ("llm_reject", answer[1]) if answer[0] and is_safe else None
        return ("fallback_reject", found.verdict.reason) if self.project.settings.dedup_strict else None

    def _enrich(self, best: Found) -> Remembered:
        old = best.memory
        changes = {"content": self.draft.memory.content, **self._take_over(old)}
        new = edit_replacing(self.project, self.store, old, changes, self.draft.replaces)
        self._log(best, "subsumed", best.verdict.reason, codec.encode(old))
        reason = f"{best.verdict.reason}; `memsync restore {old.id}` brings the earlier text back"
        return self._result("updated", new, "updated", reason, old)

    def _exists(self, best: Found, decision: str, reason: str) -> Remembered:
        old = best.memory
        changes = self._take_over(old)
        same = edit_replacing(self.project, self.store, old, changes, self.draft.replaces)
        self._log(best, decision, reason, None if decision == "hash_exact" else codec.encode(self._give_id()))
        if taken := [name for name in changes if name != "archived_at"]:
            reason += f"; {' and '.join(taken)} updated"
        if "archived_at" in changes:
            return self._result("updated", same, "updated", "it was archived, and is back", old)
        if self.draft.replaces:
            return self._result("superseded", same, "updated", reason, old)
        return self._result("exists", same, "accessed", reason, old)

    def _take_over(self, old: Memory) -> dict[str, Any]:
        draft = self.draft
        own = links.follow_links(draft.memory._replace(id=old.id), {})  # none to itself
        changes = take_over(old, draft.memory._replace(links=own, importance=draft.importance or 0.0))
        if draft.memory.source_type == DEFAULT_SOURCE != old.source_type:
            changes["source_type"] = DEFAULT_SOURCE  # a person says it too: never archived without asking
        if old.archived_at is not None:
            changes["archived_at"] = None
        return changes

    def _create(self) -> Remembered:
        memory = self._give_id()._replace(supersedes=tuple(entry.id for entry in self.draft.replaces))
        new_type = _explain_type(self.project, memory.memory_type)
        self.store.write([memory], plan_archiving(self.project, self.store, self.draft.replaces))
        for each in self.look.found:
            if self._is_noted(each):
                answer = self.answers.get((memory.content, each.memory.content))
                self._log(each, "llm_keep" if answer else "fallback_keep", answer[1] if answer else each.verdict.reason)
        ids = ", ".join(memory.supersedes)
        reason = "; ".join(filter(None, (f"instead of {ids}" if ids else "", new_type)))
        return self._result("superseded" if ids else "created", memory, "created", reason)

    def _is_noted(self, found: Found) -> bool:
        """Tell whether the log says that both are kept: nearly the same, or contradicting each other where nobody meant that."""
        if found.verdict.relation == "contradicts":
            return not self.draft.is_approved and found.memory.id not in {entry.id for entry in self.draft.replaces}
        return found.verdict.decision == "gray" and found.verdict.similarity >= self.project.settings.gray_zone_low

    def _give_id(self) -> Memory:
        project, memory = self.project, self.draft.memory
        now = tick(project.clock(), None)
        id_ = project.stores.make_id(memory.content, now)
        return memory._replace(id=id_, created_at=now, updated_at=now)

    def _log(self, found: Found, decision: str, reason: str, rejected: bytes | None = None) -> None:
        memory, now = self.draft.memory, self.project.clock()
        row = found.as_decision(memory.content, now, memory.author, decision=decision, reason=reason, rejected=rejected)
        self.project.journal.add_decision(self.draft.scope, row)

    def _result(self, status: Status, memory: Memory, action: Action, reason: str, *parts: Memory) -> Remembered:
        if self.store.place.scope == "private":
            if self.draft.is_chosen:
                bystealth.drop(self.store.place.local, {memory.id})
            else:
                bystealth.follow(self.store.place.local, memory, [*parts, *_memories(self.draft.replaces)])
        entry = record_entry(self.project, self.draft.scope, memory, action)
        near = as_similar(self.project, self.draft.scope, self.look.choose_shown(besides=memory.id))
        return Remembered(status=status, entry=entry, reason=reason, similar=near, degraded=self.look.degraded)


def _find_changes(project: Project, scope: Scope, old: Memory, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of *old* becomes different, vetted; where the user allows a secret, that changes the tags."""
    changes = {name: new for name, new in wanted.items() if new != getattr(old, name)}
    if "content" in changes and project.journal.writer == DEFAULT_SOURCE != old.source_type:
        changes["source_type"] = DEFAULT_SOURCE  # by now it is what a person wrote
    if "content" in changes and "triggers" not in wanted:
        triggers = change_triggers(old, changes["content"], project.layout.root)
        changes |= {"triggers": triggers} if triggers != old.triggers else {}
    if old.conflict_of and wanted:
        changes["conflict_of"] = None  # somebody has looked at it
    if changes.keys() & _VETTED or project.vetting.allows_secrets:
        vetted = project.vetting.vet(old._replace(**changes), scope)
        changes |= {name: getattr(vetted, name) for name in TIDIED if name in changes}
        if vetted.tags != old.tags:
            changes["tags"] = vetted.tags
    return changes


def update(
    project: Project, ref: str, content: str | None, given: Fields, scope: Scope | None, was: Memory | None
) -> Remembered:
    """Change the *content* and fields of one memory that are *given*; say what a new text is like. `Project.update` says more.

    A record that a merge kept beside another stands on its own from then on.
    """
    given = _list_single(given)
    wanted = _clean(project, given, content, project.layout.root)
    expect_edit(project, scope)
    entry = get_own(project, ref, scope)
    links.refuse_itself(entry.id, wanted.get("links", ()))
    replaces = [other for other in resolve_refs(project, given.get("supersedes") or ()) if other.id != entry.id]
    store = project.store_to_write(entry.scope)
    blind: Look | None = None
    new_type = _explain_type(project, wanted.get("memory_type", DEFAULT_TYPE))
    while True:
        with store.writing():
            old = get_live(store, entry.id, was)
            changes = _find_changes(project, entry.scope, old, wanted)
            look: Look | None = Look(())
            if text := changes.get("content"):
                refuse_copy(store, old.id, text)
                look = find_similar(project, store, text, {entry.id, *(other.id for other in replaces)}) or blind
            if look:
                new = edit_replacing(project, store, old, changes, replaces)
                if entry.scope == "private" and project.settings.stealth:
                    bystealth.follow(store.place.local, new, [old, *_memories(replaces)])
                break
        blind = prepare_index(project)
    archive_elsewhere(project, entry.scope, replaces)
    if new is old:
        return Remembered(status="exists", entry=entry, reason="nothing to change")
    names = [*changes, *(["supersedes"] if new.supersedes != old.supersedes else [])]
    return Remembered(
        status="superseded" if replaces else "updated",
        entry=record_entry(project, entry.scope, new, "updated"),
        reason="; ".join(filter(None, (", ".join(names), new_type))),
        similar=as_similar(project, entry.scope, look.choose_shown()),
        degraded=look.degraded,
    )


def _memories(entries: Iterable[Entry]) -> Iterable[Memory]:
    return (entry.memory for entry in entries)
