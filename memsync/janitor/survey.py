"""Searching the stores for what a janitor should do. Changes nothing but the log of what a model was asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from memsync.index.dedup import MERGED, Thresholds, Verdict, decide
from memsync.janitor.clusters import Track, pairs, untracked
from memsync.janitor.likely import find_clusters, find_settled, list_current, make_key, merge_by_model
from memsync.janitor.plan import Archive, Merge, Plan, Step, Task, seal
from memsync.memories.filters import DAYS_A_MONTH, Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Memory, Scope, content_hash
from memsync.store.state import Decision
from memsync.system.texts import count

# A pair is judged when so much of the shorter text is in the longer one; what one text holds of another is far above.
_HELD: Final = 0.6
_ALL: Final = Filters()


def survey(project: Project, tasks: Collection[Task], *, track: Track = untracked) -> Plan:
    """Return what the *tasks* find to do, in every store that may be written."""
    plan = Plan()
    by_scope = list_by_scope(project)
    if "dedup" in tasks:
        for scope, entries in by_scope.items():
            _find_copies(project, scope, [entry.memory for entry in entries], plan, track)
        merge_by_model(project, find_clusters(project, _list_merged(plan), track), plan)
    merged = _list_merged(plan)
    for scope, entries in by_scope.items():
        left = [entry for entry in entries if entry.id not in merged]
        if "decay" in tasks:
            _find_faded(project, scope, left, plan)
        if "stale" in tasks:
            _find_stale(project, scope, left, plan)
    if "review" in tasks:
        from memsync.janitor.review import find_reviews

        find_reviews(project, plan)
    return plan


def _list_merged(plan: Plan) -> set[str]:
    return {id_ for step in plan.steps if isinstance(step, Merge) for id_ in (step.keep, *step.drop)}


def list_by_scope(project: Project) -> Mapping[Scope, list[Entry]]:
    """Return what may be written, by store."""
    found: dict[Scope, list[Entry]] = defaultdict(list)
    for entry in project.entries(_ALL):
        if not (entry.scope == "project" and project.settings.stealth):
            found[entry.scope].append(entry)
    return found


class Pair(NamedTuple):
    """Two records of a store, the older first, and what the newer one is to it."""

    old: Memory
    new: Memory
    verdict: Verdict


def _find_copies(project: Project, scope: Scope, memories: Sequence[Memory], plan: Plan, track: Track) -> None:
    """Add the merges that lose nothing, whoever looks."""
    merging = _Merging(scope)
    settled = find_settled(project)
    firsts = _merge_copies(memories, settled, merging)
    for pair in _find_close_pairs(project, firsts, track):
        if make_key(pair.new.content, pair.old.content) not in settled and pair.verdict.decision in MERGED:
            merging.offer(pair, "auto_reject" if pair.verdict.decision == "auto_reject" else "subsumed")
    plan.steps.extend(merging.steps)


def _merge_copies(memories: Sequence[Memory], settled: Collection[frozenset[str]], merging: _Merging) -> list[Memory]:
    """Merge records of the very same text, and return one of each, the oldest first."""
    groups: dict[str, list[Memory]] = defaultdict(list)
    for memory in list_current(memories):
        groups[content_hash(memory.content)].append(memory)
    for hash_, group in groups.items():
        group.sort(key=_rank)
        for copy in group[1:] if frozenset((hash_,)) not in settled else ():
            merging.offer(Pair(group[0], copy, Verdict("duplicate", "hash_exact", 1.0, "the same text")), "hash_exact")
    return [group[0] for group in groups.values()]


class _Merging:
    """The merges of one run: what was dropped is used no more, and nothing is merged into what was dropped."""

    def __init__(self, scope: Scope) -> None:
        self.steps: list[Step] = []
        self._scope = scope
        self._dropped: set[str] = set()
        self._kept: set[str] = set()

    def offer(self, pair: Pair, decision: Decision) -> None:
        """Take *pair* as a merge, unless a record of it is taken otherwise."""
        step = _merge(self._scope, pair, decision)
        if self._dropped.isdisjoint((pair.old.id, pair.new.id)) and self._kept.isdisjoint(step.drop):
            self._dropped.update(step.drop)
            self._kept.add(step.keep)
            self.steps.append(step)


def _merge(scope: Scope, pair: Pair, decision: Decision) -> Merge:
    """Return the merge that keeps the text which says more; of copies the one a person wrote, that counts more, that is older."""
    verdict = pair.verdict
    says_more = verdict.relation == "contains"
    is_better = verdict.relation == "duplicate" and _rank(pair.new) < _rank(pair.old)
    keep, drop = (pair.new, pair.old) if says_more or is_better else (pair.old, pair.new)
    held = f"the kept text holds all that the {'newer' if drop is pair.new else 'older'} one says, and more"
    return Merge(
        scope=scope,
        keep=keep.id,
        drop=(drop.id,),
        saw={keep.id: seal(keep), drop.id: seal(drop)},
        why=verdict.reason if verdict.relation == "duplicate" else held,
        decision=decision,
        similarity=round(verdict.similarity, 4),
    )


def _rank(memory: Memory) -> tuple[bool, float]:
    return memory.source_type != "user", -memory.importance


def _find_close_pairs(project: Project, memories: list[Memory], track: Track) -> Iterator[Pair]:
    """Yield the candidates that share enough words for one to hold the other, with their verdicts; memories come oldest first."""
    if len(memories) < 2:
        return
    from memsync.index.tokens import Tokenizer

    texts = [memory.content for memory in memories]
    tokenizer = Tokenizer(stop_words=project.settings.stop_words)
    words = [frozenset(tokenizer.terms(text)) for text in texts]
    settings = project.settings
    thresholds = Thresholds(auto_reject=settings.auto_reject_threshold, gray_low=settings.gray_zone_low)
    for old, new in track(list(pairs(texts, tokenizer, track)), "comparing"):
        if len(words[old] & words[new]) >= _HELD * min(len(words[old]), len(words[new])):
            yield Pair(memories[old], memories[new], decide(texts[new], texts[old], 0.0, thresholds=thresholds))


def _find_faded(project: Project, scope: Scope, entries: Sequence[Entry], plan: Plan) -> None:
    settings = project.settings
    if not settings.decay_enabled:
        return
    usage = project.state(scope).usage()
    if not usage:
        if entries:
            plan.notes.append(f"{scope}: no memory was recalled on this machine yet, so none counts as unused")
        return
    for entry in entries:
        memory = entry.memory
        since = _count_days_at_floor(project, entry, usage)
        if memory.source_type == "user" or memory.conflict_of or since is None or since < settings.archive_after:
            continue
        why = f"at the floor of {settings.decay_floor:g} for {count(round(since), 'day')}"
        worth = round(entry.effective_importance, 4)
        plan.steps.append(Archive(scope, memory.id, {memory.id: seal(memory)}, why, worth))


def _find_stale(project: Project, scope: Scope, entries: Sequence[Entry], plan: Plan) -> None:
    """Guess that a memory is out of date when nothing that it speaks of is as it was; only a person can tell."""
    for entry in entries:
        memory = entry.memory
        stale = project.mark(entry).stale if memory.anchors else ()
        if stale and len(stale) == len(memory.anchors):
            why = f"may be out of date: {', '.join(stale)}"
            plan.guesses.append(Archive(scope, memory.id, {memory.id: seal(memory)}, why))


def _count_days_at_floor(project: Project, entry: Entry, usage: Mapping[str, Any]) -> float | None:
    """Return for how many days the importance has been at the floor; None if it is not, or has no date."""
    memory, settings = entry.memory, project.settings
    used = usage[memory.id].last_accessed_at if memory.id in usage else None
    last = max((moment for moment in (used, memory.updated_at, memory.created_at) if moment), default=None)
    above = memory.importance - settings.decay_floor
    if last is None or (above > 0 and not settings.decay_rate):
        return None
    months = above / settings.decay_rate if above > 0 else 0.0
    days = (project.clock() - last) / timedelta(days=1) - months * DAYS_A_MONTH
    return days if days >= 0 else None
