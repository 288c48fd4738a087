"""Importing memories: deciding on each item as if those before it had been written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from memsync.errors import InvalidMemory
from memsync.format import codec, versions
from memsync.format.scopes import read_scope
from memsync.index.dedup import MERGED, Thresholds, decide, may_merge
from memsync.index.statements import hold_content
from memsync.memories.edits import expect_write, find_successors, say_replaced
from memsync.memories.fingerprints import fingerprint
from memsync.memories.similar import Found, thresholds_of
from memsync.records import FIELDS, SCOPES, Memory, Scope, check_size, content_hash, new_id, shown_id, take_over, tick
from memsync.store import bystealth
from memsync.store.state import Dedup
from memsync.system.programs import collector_paused

if TYPE_CHECKING:
    from memsync.memories.project import Project

# which of many texts may say the same as a new one, by shared words alone: for whole files at once, without an index


_COMMON: Final = 64  # texts from which a word says nothing; only texts made of such words alone are missed
_LOOKED_AT: Final = 32  # texts whose words are compared
_MOST: Final = 6  # texts nominated
_ALIKE: Final = 0.8  # share of the shorter text's words that must be in the other


class Nominees:
    """Texts by id, found again by their words; a text that holds all words of another, or nearly, is found by it."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._numbers: dict[str, int] = {}  # by id; they are counted in half the time
        self._ids: list[str] = []
        self._words: list[frozenset[str]] = []
        self._sizes: list[int] = []
        self._having = defaultdict[str, dict[int, None]](dict)
        self._last: tuple[str, frozenset[str]] = "", frozenset()
        self._waiting = [*texts]  # for one that somebody looks for in earnest

    def put(self, id_: str, text: str) -> None:
        """Hold *text* under *id_*, in place of what was there."""
        self._waiting.append((id_, text))

    def _take_in(self, id_: str, text: str) -> None:
        number = self._numbers.setdefault(id_, len(self._ids))
        if number == len(self._ids):
            self._ids.append(id_)
            self._words.append(frozenset())
            self._sizes.append(0)
        for word in self._words[number]:
            del self._having[word][number]
        words = self._words[number] = self._read(text)
        self._sizes[number] = len(words)
        having = self._having
        for word in words:
            having[word][number] = None

    def near(self, text: str) -> list[str]:
        """Return the ids of the texts that share most words with *text*, the nearest first."""
        for each in self._waiting:
            self._take_in(*each)
        self._waiting.clear()
        words, having, sizes = self._read(text), self._having, self._sizes
        in_order = sorted(words)  # a set has another order in each process, and not all texts are looked at
        known = [numbers for word in in_order if (numbers := having.get(word))]
        rare = [numbers for numbers in known if len(numbers) < _COMMON]
        size = len(words)
        most = len(known) - len(rare)  # that any text can have besides those it was found by
        shared = Counter(chain.from_iterable(rare))
        likely = [number for number, count in shared.items() if count > 1]
        likely.sort(key=shared.__getitem__, reverse=True)
        if len(likely) < _LOOKED_AT:  # then those with one word, as they come
            likely += islice((number for number, count in shared.items() if count == 1), _LOOKED_AT - len(likely))
        found = list[tuple[float, str]]()
        for number in likely[:_LOOKED_AT]:
            shorter = min(size, sizes[number])
            least = _ALIKE * shorter
            if shared[number] + most >= least and (both := len(words & self._words[number])) >= least:
                found.append((-both / shorter, self._ids[number]))
        return [id_ for _, id_ in sorted(found)[:_MOST]]

    def _read(self, text: str) -> frozenset[str]:
        """Return the words of *text*; the last text is read once, to be looked for and then to be held."""
        if text != self._last[0]:
            self._last = text, hold_content(text)
        return self._last[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one item of an import."""

    status: Literal["created", "updated", "duplicate", "skipped"]
    where: str
    id: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or with `dry_run` would do, item by item."""

    outcomes: tuple[Outcome, ...]
    dry_run: bool
    beside: Mapping[Scope, int] = field(
        default_factory=dict
    )  # how much of it went to stores that are not the project's

    def count(self, status: str) -> int:
        """Return how many items ended as *status*."""
        return sum(outcome.status == status for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts, and every item that was not simply created."""
        counts = {name: self.count(name) for name in ("created", "updated", "duplicate", "skipped")}
        items = [outcome for outcome in self.outcomes if outcome.status != "created"]
        return {**counts, "dry_run": self.dry_run, "beside": self.beside, "items": items}


def import_candidates(
    project: Project,
    candidates: Iterable[Candidate],
    scope: Scope | None,
    *,
    dry_run: bool = False,
    restoring: bool = False,
    is_mine: bool = True,
) -> ImportReport:
    """Store what *candidates* say; `Project.import_` says more."""
    author = project.author if is_mine else None
    sorted_ = _sort_by_scope(candidates, scope, project.default_scope)
    if dry_run:
        project.stores.refresh()
        return _report(_plan(project, sorted_, scope, author, dry_run=True, restoring=restoring), sorted_, dry_run=True)
    stores = {one: project.store_to_write(one) for one in SCOPES if one in sorted_}  # in the order of their locks
    for store in stores.values():
        expect_write(project, store)
    project.stores.refresh()
    with ExitStack() as held, collector_paused():
        for store in stores.values():
            held.enter_context(store.writing())
        plans = _plan(project, sorted_, scope, author, restoring=restoring)
        for one, plan in plans.items():
            stores[one].write(plan.added.values(), {id_: _list_fields(memory) for id_, memory in plan.edited.items()})
        if private := plans.get("private"):
            local = stores["private"].place.local
            bystealth.drop(local, {*private.edited, *private.named})
            bystealth.add(local, [] if scope else [m for id_, m in private.added.items() if id_ not in private.named])
    for one, plan in plans.items():
        if is_mine:
            mine = {id_: fingerprint(new) for id_, new in plan.added.items() if new.author in (None, author)}
            project.state(one).record_use((), mine)
        project.state(one).log_dedup(plan.list_decisions(project.author))
    return _report(plans, sorted_, dry_run=False)


def _sort_by_scope(
    candidates: Iterable[Candidate], scope: Scope | None, default: Scope
) -> dict[Scope, dict[int, Candidate]]:
    """Return *candidates*, numbered, by the store that each goes to: *scope*, else where a copy says that it belongs, else *default*."""
    found: dict[Scope, dict[int, Candidate]] = {}
    for number, one in enumerate(candidates):
        memory, said = read_scope(one.memory) if one.memory else (None, None)
        found.setdefault(scope or said or default, {})[number] = replace(one, memory=memory, scope=said)
    return found


def _report(
    plans: Mapping[Scope, Plan], sorted_: Mapping[Scope, Mapping[int, Candidate]], *, dry_run: bool
) -> ImportReport:
    """Tell what became of each candidate, in the order in which they came."""
    numbers = ((scope, len(plan.added) + len(plan.edited)) for scope, plan in plans.items() if scope != "project")
    beside: dict[Scope, int] = {scope: number for scope, number in numbers if number}
    numbered = {n: end for scope, plan in plans.items() for n, end in zip(sorted_[scope], plan.outcomes, strict=True)}
    return ImportReport(outcomes=tuple(numbered[n] for n in sorted(numbered)), dry_run=dry_run, beside=beside)


def _plan(
    project: Project,
    sorted_: Mapping[Scope, Mapping[int, Candidate]],
    chosen: Scope | None,
    author: str | None,
    *,
    dry_run: bool = False,
    restoring: bool = False,
) -> dict[Scope, Plan]:
    """Decide on all candidates: on the project's last, because what is private or global is not to become the project's too."""
    plans: dict[Scope, Plan] = {}
    for scope in (one for one in reversed(SCOPES) if one in sorted_):
        store = project.store(scope)
        plans[scope] = plan = Plan(
            get=store.get,
            by_hash=store.by_hash,
            vet=partial(project.vetting.vet, scope=scope, dry_run=dry_run),
            newer=lambda id_: find_successors(project.stores, id_),
            like=Nominees((memory.id, memory.content) for memory in store.memories().values()),
            thresholds=thresholds_of(project.settings),
            is_taken=project.stores.is_taken,
            count=project.stores.count_ids(),
            now=tick(project.clock(), None),
            elsewhere=partial(_find_elsewhere, project, dict(plans), scope, chosen),
            author=author,
            restoring=restoring,
        )
        plan.take(sorted_[scope].values())
        plan.like = Nominees()  # what was decided needs no words, and what is written needs room
    return plans


_MOVES: Final[Mapping[Scope, str]] = {"project": "share", "private": "unshare", "global": "unshare --global"}


def _find_elsewhere(
    project: Project, plans: Mapping[Scope, Plan], scope: Scope, chosen: Scope | None, memory: Memory, hash_: str
) -> str:
    """Say why *memory* may not become one of *scope*: another store, or what *plans* bring there, has it; "" if it may."""
    for other, store in project.stores.items():
        if other == scope:
            continue
        plan = plans.get(other)
        where = "in the project" if other == "project" else other
        if memory.id and (store.get(memory.id) or (plan and memory.id in plan.added)):
            move = f"`memsync {_MOVES[scope]} {shown_id(memory.id)}` moves it"
            return f"{shown_id(memory.id)} is {where} here already, and an id has one scope; {move}"
        same = store.by_hash(hash_)
        if scope == "project" and not chosen and (same or (plan and hash_ in plan.hashes)):
            as_ = f", as {shown_id(same.id)}" if same else ""
            return f"the same text is {where} here{as_}; --scope project imports it all the same"
    return ""


def _list_fields(memory: Memory) -> dict[str, Any]:
    """Return every field of *memory* for an edit: its defaults too, so that they replace what was there."""
    named = {"memory_type": memory.memory_type, "importance": memory.importance, "tags": list(memory.tags)}
    return {**codec.fields_of(memory), **named}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item of a foreign file: a memory (its id may be empty), or why there is none, or none that may be stored.

    `scope` is what a copy of ours says of where it belongs.
    """

    where: str
    memory: Memory | None
    problem: str = ""
    scope: Scope | None = None


class Folded(NamedTuple):
    """An item that came in, and the memory that it was folded into, as that was."""

    new: Memory
    into: Found


@dataclass(slots=True, kw_only=True)
class Plan:
    """Decides on candidates one after another, as if those before had been written already."""

    get: Callable[[str], Memory | None]
    by_hash: Callable[[str], Memory | None]
    vet: Callable[[Memory], Memory]
    newer: Callable[[str], Collection[str]]
    like: Nominees
    thresholds: Thresholds
    is_taken: Callable[[str], bool]
    count: int
    now: datetime
    elsewhere: Callable[[Memory, str], str] = lambda _, __: ""
    author: str | None = None  # of what names none
    restoring: bool = (
        False  # what comes was stored before: it is neither changed, nor refused, nor compared with others
    )
    named: set[str] = field(default_factory=set)  # ids that a copy says are of this very store
    folded: list[Folded] = field(default_factory=list)
    added: dict[str, Memory] = field(default_factory=dict)
    edited: dict[str, Memory] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    hashes: dict[str, dict[str, None]] = field(default_factory=dict)  # ids, as they came to that text

    def list_decisions(self, owner: str | None) -> Iterator[Dedup]:
        """Yield what the dedup log should say of each item that was folded into a memory."""
        for new, into in self.folded:
            memory, (decision, reason) = into.memory, (into.verdict.decision, into.verdict.reason)
            rejected = codec.encode(memory if into.verdict.relation == "contains" else new)
            yield into.as_decision(new.content, self.now, owner, decision=decision, reason=reason, rejected=rejected)

    def take(self, candidates: Iterable[Candidate]) -> None:
        """Decide on each candidate: a new memory, a newer version, a copy, or nothing to keep."""
        for one in candidates if self.restoring else map(self._clean, candidates):
            self._take(one)

    def _take(self, candidate: Candidate) -> None:
        memory = candidate.memory
        if memory is None or candidate.problem:
            return self._end(candidate, "skipped", (memory and memory.id) or None, candidate.problem)
        known = self._find(memory.id)
        hash_ = content_hash(memory.content)
        if known is not None:
            return self._take_known(candidate, known, memory, hash_)
        if why := self.elsewhere(memory, hash_):
            return self._end(candidate, "skipped", memory.id or None, why)
        if not self.restoring and (same := self._find_same_text(hash_)):
            return self._end(candidate, "duplicate", same, self._find_replaced(same) or f"the same text as {same}")
        if not self.restoring and (into := self._find_saying(memory)):
            return self._fold(candidate, memory, into)
        if not memory.id:
            memory = memory._replace(id=self._new_id(memory), author=memory.author or self.author)
        self.added[memory.id] = memory
        self._keep(memory, hash_)
        return self._end(candidate, "created", memory.id, "")

    def _keep(self, memory: Memory, hash_: str) -> None:
        same = self.hashes.setdefault(hash_, {})
        same.pop(memory.id, None)
        same[memory.id] = None
        self.like.put(memory.id, memory.content)

    def _find_saying(self, memory: Memory) -> Found | None:
        """Return the memory that says the same as *memory*, or less, decided as when a text is remembered."""
        for id_ in self.like.near(memory.content):
            known = self._find(id_)
            if not known or known.conflict_of is not None or not may_merge(memory.content, known.content):
                continue
            verdict = decide(memory.content, known.content, 1.0, thresholds=self.thresholds)
            is_same = verdict.decision in MERGED and not (known.archived_at and verdict.relation == "contains")
            if is_same and (known.archived_at is None or self.newer(known.id)):
                return Found(known, verdict)
        return None

    def _find_replaced(self, id_: str) -> str:
        """Say what the archived memory *id_* was replaced by; empty if it was not."""
        old = self._find(id_)
        newer = self.newer(id_) if old and old.archived_at else ()
        return say_replaced(old, newer) if old and newer else ""

    def _fold(self, candidate: Candidate, memory: Memory, into: Found) -> None:
        known, verdict = into
        self.folded.append(Folded(memory if memory.id else memory._replace(id=self._new_id(memory)), into))
        if verdict.relation != "contains":
            why = self._find_replaced(known.id) or f"{known.id} says it: {verdict.reason}"
            return self._end(candidate, "duplicate", known.id, why)
        richer = known._replace(
            content=memory.content, updated_at=tick(self.now, known.written_at), **take_over(known, memory)
        )
        (self.added if known.id in self.added else self.edited)[known.id] = richer
        self._keep(richer, content_hash(richer.content))
        return self._end(candidate, "updated", known.id, f"more than {known.id} said")

    def _find(self, id_: str) -> Memory | None:
        return self.added.get(id_) or self.edited.get(id_) or (self.get(id_) if id_ else None)

    def _find_same_text(self, hash_: str) -> str | None:
        stored = self.by_hash(hash_)
        ids = dict.fromkeys((stored.id,) if stored else ()) | self.hashes.get(hash_, {})
        found = (memory for id_ in ids if (memory := self._find(id_)) and content_hash(memory.content) == hash_)
        same = min(found, key=lambda memory: memory.archived_at is not None, default=None)
        return same.id if same else None

    def _take_known(self, candidate: Candidate, known: Memory, memory: Memory, hash_: str) -> None:
        is_copy = content_hash(known.content) == hash_
        if not is_copy and (memory.written_at or self.now) <= (known.written_at or self.now):
            return self._end(candidate, "skipped", known.id, f"older than what is stored as {known.id}")
        is_older = (memory.written_at or self.now) < (known.written_at or self.now)
        both = known if is_older else versions.unite(known, memory)
        if (
            is_copy
            and both._replace(content=known.content, created_at=known.created_at, updated_at=known.updated_at) == known
        ):
            return self._end(candidate, "duplicate", known.id, "the same id and text")
        target = self.added if known.id in self.added else self.edited
        target[known.id] = both
        self._keep(both, hash_)
        why = "the same text, with more beside it" if is_copy else "newer than what was stored"
        return self._end(candidate, "updated", known.id, why)

    def _end(
        self,
        candidate: Candidate,
        status: Literal["created", "updated", "duplicate", "skipped"],
        id_: str | None,
        why: str,
    ) -> None:
        if candidate.scope and id_:
            self.named.add(id_)
        self.outcomes.append(Outcome(status=status, where=candidate.where, id=id_, reason=why))

    def _clean(self, candidate: Candidate) -> Candidate:
        """Return *candidate* with its memory as it may be stored, missing times filled in, or with why it may not."""
        memory = candidate.memory
        if memory is None:
            return candidate
        created = memory.created_at or self.now
        try:
            texts = {f.name: f.clean(getattr(memory, f.name)) for f in FIELDS if f.clean and f.kind in ("text", "list")}
            cleaned = memory._replace(created_at=created, updated_at=memory.updated_at or created, **texts)
            check_size(cleaned)
            return replace(candidate, memory=self.vet(cleaned))
        except InvalidMemory as error:
            return replace(candidate, problem=str(error))

    def _new_id(self, memory: Memory) -> str:
        def is_taken(id_: str) -> bool:
            return id_ in self.added or self.is_taken(id_)

        return new_id(memory.content, self.now, is_taken=is_taken, count=self.count + len(self.added))
