"""What may say the same in all stores that may be written: found as clusters, put to a model, and kept apart for good."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from memsync.errors import LlmError
from memsync.index.dedup import find_doubt
from memsync.janitor.clusters import Kept, Link, Track, list_losses, pairs, propose, untracked
from memsync.janitor.plan import Merge, Plan
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.records import SCOPES, Memory, content_hash
from memsync.store.state import Decision, Dedup

if TYPE_CHECKING:
    from memsync.llm.llm import Llm

LIKELY: Final = 0.73  # likeness of two texts, 0 as unrelated ones to 1, from which they may say the same
_STRIDE: Final = 20_000
_SAME: Final = ("duplicate", "contains", "contained")
_ALL: Final = Filters()


def find_clusters(project: Project, besides: Collection[str] = (), track: Track = untracked) -> list[Merge]:
    """Return what may say the same, a merge a cluster, the most alike first; without the ids *besides*.

    A pair that somebody decided to keep joins no cluster, and nothing is in two of them.
    """
    entries = [entry for entry in project.entries(_ALL) if not (entry.scope == "project" and project.settings.stealth)]
    current = {memory.id for memory in list_current([entry.memory for entry in entries])} - set(besides)
    records = [Kept(entry.scope, entry.memory) for entry in entries if entry.id in current]
    records.sort(key=lambda each: (each.memory.created_at is None, each.memory.created_at, each.memory.id))
    settled = find_settled(project)
    links = list(_find_links(project, records, track))
    hashes = {each.memory.id: content_hash(each.memory.content) for each in records}

    def is_settled(one: Kept, other: Kept) -> bool:
        return {hashes[one.memory.id], hashes[other.memory.id]} in settled

    left = [link for link in links if not is_settled(records[link.one], records[link.other])]
    return list(propose(records, left, is_settled))


def list_current(memories: Iterable[Memory]) -> list[Memory]:
    """Return what is neither superseded nor in conflict, the oldest first."""
    memories = list(memories)
    superseded = {id_ for memory in memories for id_ in memory.supersedes}
    current = [m for m in memories if m.id not in superseded and not m.conflict_of and m.content.strip()]
    return sorted(current, key=lambda m: (m.created_at is None, m.created_at, m.id))


def _find_links(project: Project, records: Sequence[Kept], track: Track) -> Iterator[Link]:
    if len(records) < 2:
        return
    from memsync.index.tokens import Tokenizer

    texts = [each.memory.content for each in records]
    tokenizer = Tokenizer(stop_words=project.settings.stop_words)
    words = [frozenset(tokenizer.terms(text)) for text in texts]
    found = list(pairs(texts, tokenizer, track))
    for (one, other), like in zip(found, _measure_likeness(project, records, found), strict=True):
        in_common = 2 * len(words[one] & words[other]) / (len(words[one]) + len(words[other]) or 1)
        if (likeness := max(like, in_common)) >= LIKELY:
            yield Link(likeness, one, other)


def _measure_likeness(project: Project, records: Sequence[Kept], found: Sequence[tuple[int, int]]) -> list[float]:
    """Return how near the pairs are in meaning, 0 (unrelated) to 1; 0 for all of them without vectors."""
    import numpy as np

    indexed, vectors = project.finder.index.vectors()
    meaning = project.finder.meaning
    if not found or vectors is None or meaning is None:
        return [0.0] * len(found)
    slots = {(record[0], record[1].id): slot for slot, record in enumerate(indexed) if record}
    ends = np.array([slots.get((each.scope, each.memory.id), -1) for each in records])[np.array(found)]
    numbers, scales = vectors.numbers, vectors.scales
    alike = np.empty(len(found))
    for start in range(0, len(found), _STRIDE):
        one, other = ends[start : start + _STRIDE].T
        dots = np.einsum("ij,ij->i", numbers[one].astype(np.float32), numbers[other].astype(np.float32))
        alike[start : start + _STRIDE] = dots * scales[one] * scales[other] * ((one >= 0) & (other >= 0))
    near: list[float] = np.maximum((alike - meaning.unrelated) / (1 - meaning.unrelated), 0.0).tolist()
    return near


def make_key(one: str, other: str) -> frozenset[str]:
    """Return what a pair of texts is settled under."""
    return frozenset((content_hash(one), content_hash(other)))


def find_settled(project: Project, *, undone: bool = True) -> set[frozenset[str]]:
    """Return the pairs of which a model or a person decided to keep both; with those whose merge was *undone*."""
    rows = (row for scope in SCOPES if scope in project.stores for row in project.state(scope).dedup_log())
    return {
        make_key(row.new_text, row.existing_text)
        for row in rows
        if (undone and row.review_status == "reversed")
        or row.decision == "llm_keep"
        or (row.decision == "fallback_keep" and row.review_status == "confirmed")
    }


def keep_apart(project: Project, memories: Sequence[Memory], reason: str) -> list[int]:
    """Note that each two of *memories* say different things, and return the numbers of the rows of the log."""
    rows = [
        _make_kept_row(project, new, old, reason, decision="fallback_keep") for old, new in combinations(memories, 2)
    ]
    return project.state(project.default_scope).log_dedup(rows)


def merge_by_model(project: Project, clusters: Sequence[Merge], plan: Plan) -> None:
    """Add *clusters* to the guesses of *plan*; what the model, if there is one, says of them becomes steps or is kept."""
    judge_all = _open_judge(project, plan) if clusters else None
    if judge_all is None:
        plan.guesses.extend(clusters)
        return
    from memsync.llm.judge import judge

    texts = {memory.id: memory for store in project.stores.values() for memory in store.memories().values()}
    asked = [(cluster, id_) for cluster in clusters for id_ in cluster.drop]
    told = [(texts[id_].content, texts[cluster.keep].content) for cluster, id_ in asked]
    judged = judge(judge_all, told, percent=project.settings.batch_percent)
    if judged.failed:
        plan.notes.append(f"not every pair was judged: {judged.failed}")
    said = {id_: one for (_, id_), one in zip(asked, judged.judgements, strict=True)}
    for cluster in clusters:
        keep = texts[cluster.keep]
        same = tuple(id_ for id_ in cluster.drop if (one := said[id_]) and one.word in _SAME)
        merged = tuple(id_ for id_ in same if not list_losses(keep.content, texts[id_].content))  # whoever agreed
        content = ""
        if merged != same:
            here = project.store(cluster.scope)  # no word of what is private goes into the text of what is not
            joined = tuple(id_ for id_ in same if here.get(id_) and not find_doubt(texts[id_].content, keep.content))
            content = _join(judge_all, [texts[id_].content for id_ in (keep.id, *joined)])
            merged = joined if content else merged
        left = tuple(id_ for id_ in cluster.drop if said[id_] is None or id_ in {*same} - {*merged})
        if merged:
            why = "one text of all" if content else next((one.reason for id_ in merged if (one := said[id_])), "")
            plan.steps.append(_narrow(cluster, merged, why)._replace(content=content or None, decision="llm_reject"))
        elif left:
            plan.guesses.append(_narrow(cluster, left, ""))
        project.state(cluster.scope).log_dedup(
            _make_kept_row(project, texts[id_], keep, one.reason, decision="llm_keep")
            for id_ in cluster.drop
            if (one := said[id_]) and one.word not in _SAME
        )


def _join(llm: Llm, texts: Sequence[str]) -> str:
    """Return one text, shorter than all of *texts*, that has every value of each, as the model words it; "" without one."""
    from memsync.llm.judge import join

    content = join(llm, texts) if len(texts) > 1 else ""
    is_shorter = len(content) < sum(map(len, texts))
    return content if is_shorter and not any(list_losses(content, text) for text in texts) else ""


def _open_judge(project: Project, plan: Plan) -> Llm | None:
    from memsync.llm.llm import is_configured, open_llm

    if not project.settings.llm_verify or not is_configured(project.settings):
        return None
    try:
        return open_llm(project)
    except LlmError as error:
        plan.notes.append(f"no model was asked: {error}")
        return None


def _narrow(cluster: Merge, drop: tuple[str, ...], why: str) -> Merge:
    """Return *cluster* with these to drop alone."""
    saw = {id_: mark for id_, mark in cluster.saw.items() if id_ in (cluster.keep, *drop)}
    return cluster._replace(drop=drop, saw=saw, why=why or cluster.why)


def _make_kept_row(project: Project, new: Memory, old: Memory, reason: str, *, decision: Decision) -> Dedup:
    return Dedup(
        created_at=project.clock(),
        new_text=new.content,
        existing_id=old.id,
        existing_text=old.content,
        similarity=None,
        decision=decision,
        reasoning=reason,
        owner=new.author,
        review_status="confirmed",
    )
