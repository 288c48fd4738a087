"""Reviewing what dedup rejected: confirming it, or bringing it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from memsync.errors import LlmError, MemsyncError, Remedy, UsageError
from memsync.format.codec import decode
from memsync.janitor.clusters import Kept
from memsync.janitor.plan import Confirm, Plan, Reverse
from memsync.memories.edits import unarchive
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import SCOPES, Scope, as_scope, content_hash, tick
from memsync.store.state import DECISION_ALIASES, DECISIONS, Dedup
from memsync.system.texts import count

REJECTIONS: Final = ("auto_reject", "subsumed", "llm_reject", "fallback_reject")
_AT_ONCE: Final = 500  # rejections that a model reviews in one run, the latest first


class Row(NamedTuple):
    """A decision, and the store whose log has it."""

    scope: Scope
    decision: Dedup

    @property
    def is_waiting(self) -> bool:
        """Tell whether somebody has to look at it."""
        return (
            self.decision.review_status == "unreviewed"
            and self.decision.decision in REJECTIONS
            and self.decision.rejected is not None
        )

    @property
    def is_copy(self) -> bool:
        """Tell whether it rejected the very same text, and nobody has confirmed that yet."""
        return self.decision.decision == "hash_exact" and self.decision.review_status == "unreviewed"

    def rejected_text(self) -> str:
        """Return the text that was not kept; for a decision that rejected none, the new one."""
        memory = decode(self.decision.rejected).memory if self.decision.rejected else None
        return memory.content if memory else self.decision.new_text

    def kept_text(self) -> str:
        """Return the other text."""
        is_new = self.rejected_text() == self.decision.new_text
        return self.decision.existing_text if is_new else self.decision.new_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """What a reversal did: the record that is back, or why none had to come back."""

    entry: Entry | None
    reason: str
    archived_at: datetime | None = None  # since when it had been set aside, if it was not taken out

    def as_dict(self) -> dict[str, Any]:
        """Return the status, the record and the reason."""
        return {"status": "restored" if self.entry else "alive", "memory": self.entry, "reason": self.reason}


def find_kept(project: Project, id_: str) -> Kept | None:
    """Return the record *id_* of whatever store has it."""
    return next((Kept(scope, memory) for scope, store in project.stores.items() if (memory := store.get(id_))), None)


def rows(project: Project) -> Iterator[Row]:
    """Yield every decision of every log in reach, store by store, the latest first."""
    project.journal.write_decisions()
    for scope in SCOPES:
        if scope in project.stores and not (scope == "project" and project.settings.stealth):
            yield from (Row(scope, decision) for decision in project.state(scope).dedup_log())


def chosen(project: Project, decision: str | None, status: str | None) -> list[Row]:
    """Return the decisions of that name, the seeds' spellings too, and with that review status; None: any.

    Raises:
        UsageError: there is no decision of that name.
    """
    wanted = DECISION_ALIASES.get(decision or "", decision)
    if wanted is not None and wanted not in DECISIONS:
        raise UsageError(Remedy("--decision"), f" {decision}: use {', '.join(DECISIONS)}")
    return [
        row
        for row in rows(project)
        if wanted in (None, row.decision.decision) and status in (None, row.decision.review_status)
    ]


def listed(project: Project, found: Sequence[Row]) -> dict[str, Any]:
    """Return decisions as JSON."""
    return {"count": len(found), "decisions": [as_dict(project, row) for row in found]}


def as_dict(project: Project, row: Row) -> dict[str, Any]:
    """Return what `find` takes for *row*, where it is, and everything that was decided."""
    said = row.decision
    return {
        "id": name(project, row),
        "scope": row.scope,
        **{key: value for key, value in said._asdict().items() if key not in ("number", "rejected", "created_at")},
        "created_at": said.created_at.isoformat(),
        "rejected": row.rejected_text() if said.rejected is not None else None,
    }


def find(project: Project, ref: str) -> Row:
    """Return the decision that *ref* names: its number, for another store than the default one as `global:12` or `private:12`.

    Raises:
        MemsyncError: there is none.
    """
    where, _, number = ref.rpartition(":")
    scope = as_scope(where) if where else project.default_scope
    for row in rows(project):
        if row.scope == scope and str(row.decision.number) == number:
            return row
    raise MemsyncError(f"the dedup log has no decision {ref!r}; ", Remedy("memory dedup log"), " lists them")


def name(project: Project, row: Row) -> str:
    """Return what `find` takes for *row*."""
    number = str(row.decision.number)
    return number if row.scope == project.default_scope else f"{row.scope}:{number}"


def confirm(project: Project, chosen: Iterable[Row]) -> None:
    """Mark decisions as correct."""
    rows = list(chosen)
    for row in rows:
        project.state(row.scope).set_reviewed([row.decision.number], "confirmed")
    if rest := sum(not row.is_copy for row in rows):  # the very same text is a matter of bookkeeping
        project.journal.note_change(f"confirmed {count(rest, 'decision')} of the dedup log")


def reverse(project: Project, row: Row) -> Reversed:
    """Bring back what *row* rejected, under its own id where that is free, unless a record says the same.

    Raises:
        UsageError: both texts were kept.
        NoStore, StoreError: nothing was written.
    """
    raw = row.decision.rejected
    memory = decode(raw).memory if raw else None
    if raw is None or memory is None:
        raise UsageError(f"decision {name(project, row)} kept both texts; there is nothing to bring back")
    store = project.store_to_write(row.scope)
    aside = store.get(memory.id)
    if aside and aside.archived_at and aside.content == memory.content:  # a source of a text that was written
        done = unarchive(project, project.entry(row.scope, aside))
        project.state(row.scope).set_reviewed([row.decision.number], "reversed")
        return Reversed(entry=done.entry, reason=done.reason, archived_at=aside.archived_at)
    with store.writing():
        if same := store.by_hash(content_hash(memory.content)):
            project.state(row.scope).set_reviewed([row.decision.number], "reversed")
            return Reversed(entry=None, reason=f"{same.id} says the same, so nothing was brought back")
        if not memory.id or any(other.get(memory.id) for other in project.stores.values()):
            now = tick(project.clock(), None)
            id_ = project.stores.make_id(memory.content, now)
            memory = memory._replace(id=id_, updated_at=now)
            store.add([memory])
        else:
            store.write([raw], {})
    project.state(row.scope).set_reviewed([row.decision.number], "reversed")
    return Reversed(entry=project.entry(row.scope, memory), reason="it is back")


def find_reviews(project: Project, plan: Plan) -> None:
    """Add to *plan* what can be confirmed at once, and what a model, if there is one, says of the rest."""
    found = list(rows(project))
    for scope in dict.fromkeys(row.scope for row in found):
        if copies := tuple(row.decision.number for row in found if row.scope == scope and row.is_copy):
            plan.steps.append(Confirm(scope=scope, rows=copies, why="the same text"))
    waiting = [row for row in found if row.is_waiting]
    if not waiting:
        return
    left = _reviewed_by_model(project, waiting, plan)
    if left:
        plan.notes.append(
            f"{count(left, 'rejection')} {'wait' if left > 1 else 'waits'} for a review; `memsync review --kind rejection` shows them one by one"
        )


def _reviewed_by_model(project: Project, waiting: list[Row], plan: Plan) -> int:
    """Add what the model says to *plan*, and return how many rows are left."""
    from memsync.llm.llm import is_configured, open_llm

    if not project.settings.llm_verify or not is_configured(project.settings):
        return len(waiting)
    from memsync.llm.judge import review

    chosen = waiting[:_AT_ONCE]
    try:
        llm = open_llm(project)
    except LlmError as error:
        plan.notes.append(f"no model was asked: {error}")
        return len(waiting)
    texts = [(row.rejected_text(), row.kept_text()) for row in chosen]
    judged = review(llm, texts, percent=project.settings.batch_percent)
    if judged.failed:
        plan.notes.append(f"not every rejection was reviewed: {judged.failed}")
    for row, said in zip(chosen, judged.judgements, strict=True):
        if said and said.word == "reverse":
            plan.steps.append(Reverse(scope=row.scope, row=row.decision.number, why=said.reason))
        elif said:
            plan.steps.append(Confirm(scope=row.scope, rows=(row.decision.number,), why=said.reason))
    return len(waiting) - sum(said is not None for said in judged.judgements)
