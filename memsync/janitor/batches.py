"""Copies for an agent to judge: clusters in batches that fit a context, merged or kept apart as it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from memsync.errors import MemsyncError, UsageError
from memsync.format.scopes import mark_text
from memsync.index.likeness import find_lost
from memsync.janitor.clusters import LOSS, Kept, is_apart, is_within_reach, list_losses
from memsync.janitor.likely import find_clusters, keep_apart
from memsync.janitor.plan import Merge, seal
from memsync.janitor.run import apply
from memsync.memories.project import Project
from memsync.system.texts import one_line

ROOM: Final = 7_600  # characters of a batch, of 8,000 that an answer may have
_BY_AGENT: Final = "an agent says so"
_PENDING: WeakKeyDictionary[Project, list[Merge]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """What an agent wants merged: *drop* into *keep*; with *content* they are the sources of that text, and archived."""

    keep: str
    drop: Sequence[str]
    content: str | None = None


def take_batch(project: Project, *, again: bool = False) -> dict[str, Any]:
    """Return the next clusters, and how many follow; looked for anew if there are none left, or *again*."""
    known = list_records(project)
    pending = (
        []
        if again
        else [
            each
            for each in _PENDING.get(project, ())
            if all(id_ in known and seal(known[id_].memory) == mark for id_, mark in each.saw.items())
        ]
    )
    pending = pending or find_clusters(project)
    shown: list[dict[str, Any]] = []
    left: list[Merge] = []
    size = 0
    for cluster in pending:
        least = sum(len(known[id_].memory.content) for id_ in (cluster.keep, *cluster.drop))
        told = describe(known, cluster) if size + least <= ROOM else None
        more = sum(len(line) + 1 for line in spell(told)) + 1 if told else 0
        if told and (size + more <= ROOM or not shown):
            shown.append(told)
            size += more
        else:
            left.append(cluster)
    _PENDING[project] = left
    return {"count": len(shown), "clusters": shown, "left": len(left)}


def list_records(project: Project) -> dict[str, Kept]:
    """Return every record of every store by its id."""
    project.stores.refresh()
    found = ((scope, memory) for scope, store in project.stores.items() for memory in store.memories().values())
    return {memory.id: Kept(scope, memory) for scope, memory in found}


def merge(project: Project, merges: Iterable[Merging]) -> dict[str, Any]:
    """Merge what an agent takes for copies; what may not be merged is refused, and the rest is done."""
    steps, refused = [], []
    for each in merges:
        try:
            steps.append(_plan_merge(project, each))
        except MemsyncError as error:
            refused.append(f"{each.keep}: {error}")
    report = apply(project, steps)
    refused += [
        f"{o.step.keep}: {o.reason}" for o in report.outcomes if isinstance(o.step, Merge) and o.status != "done"
    ]
    done = [o.step for o in report.outcomes if isinstance(o.step, Merge) and o.status == "done"]
    return {"merged": sum(len(step.drop) for step in done), "refused": refused, "run": report.run}


def keep(project: Project, groups: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Note that the memories of each group say different things, so that they are not proposed again."""
    found = [[project.get(ref).memory for ref in group] for group in groups]
    for memories in found:
        keep_apart(project, memories, _BY_AGENT)
    return {"kept": len(found)}


def _plan_merge(project: Project, wanted: Merging) -> Merge:
    head, *others = (Kept(entry.scope, entry.memory) for entry in map(project.get, (wanted.keep, *wanted.drop)))
    for other in others:
        id_ = other.memory.id
        if id_ == head.memory.id:
            raise UsageError("a memory cannot be dropped for itself")
        if not is_within_reach(head, other):
            raise UsageError(f"{id_} is {other.scope}, where {head.memory.id} is not seen; keep both")
        if is_apart(head.memory, other.memory):
            raise UsageError(f"{id_} says otherwise; archive the one that is no longer true with supersedes")
    for each in (head, *others) if wanted.content is not None else ():
        if lost := find_lost(wanted.content or "", each.memory.content):
            raise UsageError(
                f"the content lacks {', '.join(lost)} of {each.memory.id}; put it in, or leave that one out"
            )
    drop = tuple(dict.fromkeys(other.memory.id for other in others))
    saw = {each.memory.id: seal(each.memory) for each in (head, *others)}
    return Merge(head.scope, head.memory.id, drop, saw, _BY_AGENT, "llm_reject", content=wanted.content)


def describe(found: Mapping[str, Kept], cluster: Merge) -> dict[str, Any]:
    """Return the records of *cluster*, and what would be lost of each that is dropped."""
    head = found[cluster.keep]
    dropped = [
        {**_describe_record(found[id_]), "lost": list_losses(head.memory.content, found[id_].memory.content)}
        for id_ in cluster.drop
    ]
    return {"keep": _describe_record(head), "drop": dropped}


def _describe_record(each: Kept) -> dict[str, Any]:
    written = each.memory.written_at
    when = written.date().isoformat() if written else "undated"
    return {"id": each.memory.id, "scope": each.scope, "written": when, "content": each.memory.content}


def spell(cluster: Mapping[str, Any]) -> list[str]:
    """Return the lines of a described cluster."""
    lines = [f"keep {_spell_record(cluster['keep'])}"]
    for each in cluster["drop"]:
        lines.append(f"drop {_spell_record(each)}")
        lost = mark_text("; ".join(each["lost"]), each["scope"])
        lines += [f"  lost: {one_line(lost, LOSS)}"] if each["lost"] else []
    return lines


def _spell_record(each: Mapping[str, Any]) -> str:
    where = "" if each["scope"] == "project" else f", {each['scope']}"
    return f"{each['id']} ({each['written']}{where}) {one_line(each['content'])}"
