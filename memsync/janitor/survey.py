"""Searching the stores for what a janitor should do. Changes nothing but the log of what a model was asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from memsync.dedup import MERGED, Thresholds, Verdict, decide, keeps_values, on_scale
from memsync.errors import LlmError
from memsync.janitor.candidates import Track, pairs, untracked
from memsync.janitor.plan import Archive, Merge, Plan, Step, Task, seal
from memsync.memories.decay import DAYS_A_MONTH
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Memory, Scope, content_hash
from memsync.store.state import Decision, Dedup

# A pair is looked at closely when so much of the shorter text is in the longer one, or the two mean nearly the same.
# Copies and subsumed texts are far above; what is below is left in peace.
_HELD: Final = 0.6
_LIKE: Final = 0.7
_GUESSES: Final = 100
_ALL: Final = Filters()


def survey(project: Project, tasks: Collection[Task], *, track: Track = untracked) -> Plan:
    """Return what the *tasks* find to do, in every store that may be written.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    plan = Plan()
    by_scope = _group_by_scope(project)
    if "dedup" in tasks:
        for scope, entries in by_scope.items():
            _find_copies(project, scope, [entry.memory for entry in entries], plan, track)
    merged = {(step.scope, id_) for step in plan.steps if isinstance(step, Merge) for id_ in (step.keep, step.drop)}
    for scope, entries in by_scope.items():
        left = [entry for entry in entries if (scope, entry.id) not in merged]
        if "decay" in tasks:
            _find_faded(project, scope, left, plan)
        if "stale" in tasks:
            _find_stale(project, scope, left, plan)
    if "review" in tasks:
        from memsync.janitor.review import find_reviews

        find_reviews(project, plan)
    return plan


def _group_by_scope(project: Project) -> Mapping[Scope, list[Entry]]:
    """Return what may be written, by store."""
    found: dict[Scope, list[Entry]] = defaultdict(list)
    for entry in project.entries(_ALL):
        if not (entry.scope == "project" and project.settings.stealth):
            found[entry.scope].append(entry)
    return found


# copies


class Pair(NamedTuple):
    """Two records of a store, the older first, and what the newer one is to it."""

    old: Memory
    new: Memory
    verdict: Verdict


def _find_copies(project: Project, scope: Scope, memories: Sequence[Memory], plan: Plan, track: Track) -> None:
    merging = _Merging(scope)
    settled = _find_settled(project, scope)
    firsts = _merge_copies(memories, settled, merging)
    doubtful = []
    for pair in _find_close_pairs(project, scope, firsts, track):
        if _make_key(pair.new.content, pair.old.content) in settled:
            continue
        if pair.verdict.decision in MERGED:
            merging.offer(pair, "auto_reject" if pair.verdict.decision == "auto_reject" else "subsumed")
        elif pair.verdict.relation in ("duplicate", "contains", "contained"):
            doubtful.append(pair)
    doubtful = [pair for pair in doubtful if merging.is_free(pair)]
    doubtful.sort(key=lambda pair: (-pair.verdict.similarity, pair.old.id, pair.new.id))
    left = _ask_about(project, scope, doubtful, merging, plan)
    plan.steps.extend(merging.steps)
    plan.guesses.extend(_merge(scope, pair, "llm_reject") for pair in left[:_GUESSES] if merging.is_free(pair))
    if len(left) > _GUESSES:
        plan.notes.append(f"{scope}: {len(left) - _GUESSES} more pairs may say the same; the likeliest are shown")


def _merge_copies(memories: Sequence[Memory], settled: Collection[frozenset[str]], merging: _Merging) -> list[Memory]:
    """Merge records of the very same text, and return one of each, the oldest first."""
    superseded = {id_ for memory in memories for id_ in memory.supersedes}
    current = [m for m in memories if m.id not in superseded and not m.conflict_of and m.content.strip()]
    current.sort(key=lambda m: (m.created_at is None, m.created_at, m.id))
    groups: dict[str, list[Memory]] = defaultdict(list)
    for memory in current:
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

    def is_free(self, pair: Pair) -> bool:
        """Tell whether neither record of *pair* is dropped yet."""
        return not {pair.old.id, pair.new.id} & self._dropped

    def offer(self, pair: Pair, decision: Decision) -> None:
        """Take *pair* as a merge, unless a record of it is taken otherwise."""
        step = _merge(self._scope, pair, decision)
        if self.is_free(pair) and step.drop not in self._kept:
            self._dropped.add(step.drop)
            self._kept.add(step.keep)
            self.steps.append(step)


def _choose_kept(pair: Pair) -> tuple[Memory, Memory]:
    """Return the text to keep, which says more, and the other; of copies the one a person wrote, that counts more, that is older."""
    relation = pair.verdict.relation
    is_new = relation == "contains" or (relation == "duplicate" and _rank(pair.new) < _rank(pair.old))
    return (pair.new, pair.old) if is_new else (pair.old, pair.new)


def _merge(scope: Scope, pair: Pair, decision: Decision) -> Merge:
    keep, drop = _choose_kept(pair)
    return Merge(
        scope=scope,
        keep=keep.id,
        drop=drop.id,
        saw={keep.id: seal(keep), drop.id: seal(drop)},
        why=_explain(pair.verdict, drop is pair.new),
        decision=decision,
        similarity=round(pair.verdict.similarity, 4),
    )


def _rank(memory: Memory) -> tuple[bool, float]:
    return memory.source_type != "user", -memory.importance


def _explain(verdict: Verdict, drops_new: bool) -> str:
    if verdict.relation == "duplicate":
        return verdict.reason
    doubt = "" if verdict.decision == "subsumed" else "may "
    verb = "hold" if doubt else "holds"
    return f"the kept text {doubt}{verb} all that the {'newer' if drops_new else 'older'} one says, and more"


def _make_key(one: str, other: str) -> frozenset[str]:
    return frozenset((content_hash(one), content_hash(other)))


def _find_settled(project: Project, scope: Scope) -> set[frozenset[str]]:
    """Return the pairs of which a model or a person decided to keep both."""
    rows = project.state(scope).dedup_log()
    return {
        _make_key(row.new_text, row.existing_text)
        for row in rows
        if row.decision == "llm_keep" or row.review_status == "reversed"
    }


def _find_close_pairs(project: Project, scope: Scope, memories: list[Memory], track: Track) -> Iterator[Pair]:
    """Yield the candidates that are near enough to be judged, with their verdicts; memories come oldest first."""
    if len(memories) < 2:
        return
    from memsync.index.tokens import Tokenizer

    texts = [memory.content for memory in memories]
    tokenizer = Tokenizer(stop_words=project.settings.stop_words)
    found = list(pairs(texts, tokenizer, track))
    words = [frozenset(tokenizer.terms(text)) for text in texts]
    alike = _measure_likeness(project, scope, [memory.id for memory in memories], found)
    settings = project.settings
    thresholds = Thresholds(auto_reject=settings.auto_reject_threshold, gray_low=settings.gray_zone_low)
    for (old, new), like in track(list(zip(found, alike, strict=True)), "comparing"):
        few = min(len(words[old]), len(words[new]))
        if like >= _LIKE or len(words[old] & words[new]) >= _HELD * few:
            verdict = decide(texts[new], texts[old], on_scale(like), thresholds=thresholds)
            yield Pair(memories[old], memories[new], verdict)


def _measure_likeness(
    project: Project, scope: Scope, ids: Sequence[str], found: Sequence[tuple[int, int]]
) -> list[float]:
    """Return how near the pairs are in meaning, 0 (unrelated) to 1; 0 for all of them without vectors."""
    import numpy as np

    records, arrays = project.finder.index.snapshot()
    meaning = project.finder.meaning
    if not found or arrays.vectors is None or meaning is None:
        return [0.0] * len(found)
    slots = {memory.id: slot for slot, (where, memory) in enumerate(records) if where == scope}
    rows = np.array([slots.get(id_, -1) for id_ in ids])
    ends = rows[np.array(found)]
    numbers, scales = arrays.vectors.numbers, arrays.vectors.scales
    alike = np.empty(len(found))
    for start in range(0, len(found), _STRIDE):
        one, other = ends[start : start + _STRIDE].T
        dots = np.einsum("ij,ij->i", numbers[one].astype(np.float32), numbers[other].astype(np.float32))
        alike[start : start + _STRIDE] = dots * scales[one] * scales[other] * ((one >= 0) & (other >= 0))
    near: list[float] = np.maximum((alike - meaning.unrelated) / (1 - meaning.unrelated), 0.0).tolist()
    return near


_STRIDE: Final = 20_000


def _ask_about(project: Project, scope: Scope, doubtful: list[Pair], merging: _Merging, plan: Plan) -> list[Pair]:
    """Let the model, if there is one, judge the doubtful pairs, and return those that it did not judge."""
    from memsync.llm.llm import is_configured, open_llm

    if not doubtful or not project.settings.llm_verify or not is_configured(project.settings):
        return doubtful
    from memsync.llm.judge import judge

    try:
        llm = open_llm(project)
    except LlmError as error:
        plan.notes.append(f"{scope}: no model was asked: {error}")
        return doubtful
    judged = judge(llm, [(p.new.content, p.old.content) for p in doubtful], percent=project.settings.batch_percent)
    if judged.failed:
        plan.notes.append(f"{scope}: not every pair was judged: {judged.failed}")
    left, keeps = [], []
    for pair, said in zip(doubtful, judged.judgements, strict=True):
        if said is None:
            left.append(pair)
        elif said.word in ("duplicate", "contains", "contained"):
            verdict = Verdict(said.word, "gray", pair.verdict.similarity, said.reason or "the model says so")
            agreed = Pair(pair.old, pair.new, verdict)
            keep, drop = _choose_kept(agreed)
            if keeps_values(keep.content, drop.content):  # every number, path and identifier, whoever agreed
                merging.offer(agreed, "llm_reject")
            else:
                left.append(pair)
        else:
            keeps.append(_make_kept_row(project, pair, said.reason))
    project.state(scope).log_dedup(keeps)
    return left


def _make_kept_row(project: Project, pair: Pair, reason: str) -> Dedup:
    return Dedup(
        created_at=project.clock(),
        new_text=pair.new.content,
        existing_id=pair.old.id,
        existing_text=pair.old.content,
        similarity=pair.verdict.similarity,
        decision="llm_keep",
        reasoning=reason,
        owner=pair.new.author,
        review_status="confirmed",
    )


# what faded


def _find_faded(project: Project, scope: Scope, entries: Sequence[Entry], plan: Plan) -> None:
    settings = project.settings
    if not settings.decay_enabled:
        return
    usage = project.state(scope).usage()
    if not usage:
        if entries:
            plan.notes.append(f"{scope}: no memory was ever recalled on this machine, so none is taken for unused")
        return
    for entry in entries:
        memory = entry.memory
        since = _count_days_at_floor(project, entry, usage)
        if memory.source_type == "user" or memory.conflict_of or since is None or since < settings.archive_after:
            continue
        why = f"at the floor of {settings.decay_floor:g} for {since:.0f} days"
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
