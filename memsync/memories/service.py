"""`Memsync`: remember, recall and the rest, as plain calls with typed results."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import AmbiguousId, MemoryNotFound
from memsync.format.codec import decode, fields_of
from memsync.memories.anchors import anchors_of
from memsync.memories.edits import noted, refuse_copy, still_there, unarchive
from memsync.memories.filters import Filters, as_hit, most_important
from memsync.memories.project import Project
from memsync.memories.results import Entry, Recall, Remembered
from memsync.poison.fingerprints import fingerprint, instruction_of
from memsync.records import (
    DEFAULT_SOURCE,
    DEFAULT_TYPE,
    Memory,
    Scope,
    check_size,
    check_words,
    clean_content,
    clean_importance,
    clean_tags,
    clean_type,
    find_id,
    tick,
)
from memsync.store.exported import Exported
from memsync.store.trust import Approvals

if TYPE_CHECKING:
    from memsync.memories.imports import Candidate, Plan
    from memsync.memories.results import ImportReport, Stats, StoreStatus
    from memsync.skills.skills import Skills
    from memsync.store.watch import Watcher

# What somebody bothers to say is worth more than the 0.5 of a record without a number (seed 002).
REMEMBER_IMPORTANCE: Final = 0.7
_ALL: Final = Filters()
_EVERYTHING: Final = Filters(archived=True)


class Memsync(Project):
    """The memories in reach of a directory: its project's, its private ones and the user's.

    Use as a context manager, or call `close()`: it brings what was written to
    canonical form. Every write is durable before its call returns.
    """

    def list(self, filters: Filters = _ALL, *, limit: int | None = None) -> builtins.list[Entry]:
        """Return the memories that pass *filters*, most important first."""
        return [self.marked(entry) for entry in most_important(self.entries(filters))[:limit]]

    def recall(self, query: str | None = None, filters: Filters = _ALL, *, limit: int | None = None) -> Recall:
        """Return the memories that answer *query*, best first; nothing if nothing does.

        Without a query: the most important ones. What was returned counts as used.

        Raises:
            ConfigError, StoreUnreadable, OutsideTree
        """
        if query and query.strip():
            found = self.search(query, filters, limit=limit)
        else:
            limit = self.settings.recall_limit if limit is None else limit
            found = Recall(hits=tuple(as_hit(entry) for entry in self.list(filters, limit=limit)))
        self.record(found, "accessed")
        return found

    def search(self, query: str, filters: Filters = _ALL, *, limit: int | None = None) -> Recall:
        """Do what `recall` does with a query, without counting it as a use.

        Raises:
            ConfigError, StoreUnreadable, OutsideTree
        """
        entries: dict[tuple[Scope, str], Entry] = {}
        usage = {scope: self.state(scope).usage() for scope in self.stores}

        def allow(scope: Scope, memory: Memory) -> float | None:
            entry = entries[scope, memory.id] = self.entry(scope, memory, usage[scope])
            return entry.effective_importance if filters.allow(entry) else None

        limit = self.settings.recall_limit if limit is None else limit
        found = self.finder.search(query, limit=limit, allow=allow, is_mine=self.is_mine)
        hits = tuple(self.marked(as_hit(entries[match.scope, match.memory.id], match)) for match in found.matches)
        return Recall(
            hits=hits, query=query, gate=found.gate, floor=found.floor, degraded=found.degraded, refused=found.refused
        )

    def is_mine(self, memory: Memory) -> bool:
        """Tell whether the user of this machine wrote *memory*, as far as it says."""
        return memory.author is not None and memory.author == self.author

    def is_new(self, entry: Entry) -> bool:
        """Tell whether this machine has neither written nor shown *entry* as it is: what a record says of itself is no proof."""
        known = self.state(entry.scope).known().get(entry.id)
        return known is None or known.fingerprint != fingerprint(entry.memory)

    def stats(self, filters: Filters = _EVERYTHING) -> Stats:
        """Count the memories that pass *filters*."""
        from memsync.memories.results import Stats

        entries = list(self.entries(filters))
        count = len(entries)
        used = sorted((e for e in entries if e.access_count), key=lambda e: (-e.access_count, e.memory.id))
        return Stats(
            total=count,
            by_type=_counted(e.memory.memory_type for e in entries),
            by_scope=_counted(e.scope for e in entries),
            by_source=_counted(e.memory.source_type for e in entries),
            by_tag=_counted(tag for e in entries for tag in e.memory.tags),
            average_importance=round(sum(e.memory.importance for e in entries) / count, 4) if count else 0.0,
            archived=sum(e.memory.archived_at is not None for e in entries),
            most_used=tuple(used[:5]),
        )

    @cached_property
    def skills(self) -> Skills:
        """The skills in reach."""
        from memsync.skills.skills import Skills

        return Skills(self)

    def watcher(self) -> Watcher:
        """Return what keeps memories, skills and the index up to date while it runs: `with project.watcher(): …`."""
        from memsync.store.watch import Watcher

        stores, skills = self.stores.values(), self.skills.stores.values()
        # Not the pending files: beside them every write of ours is an event, and each question looks at them anyway.
        memories = {store.place.memories: store.refresh for store in stores}
        return Watcher({**memories, **{store.directory: self.skills.refresh for store in skills}})

    def remember(
        self,
        content: str,
        *,
        memory_type: str = DEFAULT_TYPE,
        importance: float | None = None,
        tags: Collection[str] = (),
        scope: Scope | None = None,
        source_type: str = DEFAULT_SOURCE,
        supersedes: Collection[str] = (),
        anchors: Collection[str] = (),
    ) -> Remembered:
        """Store *content*, unless the scope already holds what says the same (docs/dedup.md).

        The same text in the same words is not stored twice: its tags are united, and the larger
        importance is kept. What it *supersedes* is archived: hidden, kept, and brought back by `restore`.
        When one of its *anchors* (PATH or PATH#SYMBOL) or a file that it names changes, recall says so.

        Raises:
            MemoryNotFound, AmbiguousId, InvalidMemory, NoStore, StoreError: nothing was written.
        """
        memory = Memory(
            id="",
            content=clean_content(content),
            memory_type=clean_type(memory_type),
            importance=REMEMBER_IMPORTANCE if importance is None else clean_importance(importance),
            tags=clean_tags(tags),
            source_type=source_type,
            source_session_id=self.session_id,
            author=self.author,
        )
        from memsync.memories.remember import Draft, remember  # the lexicon of the guards, which no recall needs

        is_chosen, scope = scope is not None, scope or self.default_scope
        if self.layout.root and scope != "global":
            memory = memory._replace(anchors=anchors_of(memory.content, anchors, self.layout.root))
        said = None if importance is None else memory.importance
        if self.verify is None and self.settings.llm_provider:
            from memsync.llm.verify import verifier

            self.verify = verifier(self)
        replaces = self._named(supersedes)
        check_size(memory._replace(supersedes=tuple(entry.id for entry in replaces)))
        draft = Draft(self.vetted(memory, scope), scope, said, replaces, is_chosen)
        return remember(self, draft)

    def _named(self, refs: Collection[str]) -> tuple[Entry, ...]:
        return tuple({entry.id: entry for entry in map(self.get, refs)}.values())

    def update(
        self,
        ref: str,
        *,
        content: str | None = None,
        memory_type: str | None = None,
        importance: float | None = None,
        tags: Collection[str] | None = None,
        scope: Scope | None = None,
        supersedes: Collection[str] = (),
    ) -> Remembered:
        """Change the given fields of one memory; every other value of its line keeps its bytes.

        What it *supersedes* from now on is archived, as by `remember`.

        Raises:
            MemoryNotFound, AmbiguousId, InvalidMemory, StoreError: nothing was written.
        """
        wanted: dict[str, Any] = {
            "content": None if content is None else clean_content(content),
            "memory_type": None if memory_type is None else clean_type(memory_type),
            "importance": None if importance is None else clean_importance(importance),
            "tags": None if tags is None else clean_tags(tags),
        }
        from memsync.memories.remember import update

        check_words(wanted["tags"] or (), "tag")
        return update(self, self.get(ref, scope), wanted, self._named(supersedes))

    def forget(self, ref: str, scope: Scope | None = None) -> Entry:
        """Remove one memory, and return it; `restore` brings it back.

        Raises:
            MemoryNotFound, AmbiguousId, StoreError: nothing was removed.
        """
        entry = self.get(ref, scope)
        store = self.store_to_write(entry.scope)
        with store.writing():
            old = still_there(store, entry.memory.id)
            store.remove([old.id], tick(self.clock(), old.written_at))
        return entry

    def restore(self, ref: str, scope: Scope | None = None) -> Remembered:
        """Bring an archived memory back, or undo the last `forget` or `update` of one on this machine.

        Doing it twice undoes nothing.

        Raises:
            MemoryNotFound, AmbiguousId, InvalidMemory, StoreError: nothing was written.
        """
        if archived := self._archived(ref, scope):
            return unarchive(self, archived)
        stores = {scope: self.store(scope)} if scope else self.stores
        live = {id_: where for where, store in self.stores.items() for id_ in store.memories()}
        earlier = {
            where: {id_: raw for id_, raw in store.replaced().items() if live.get(id_, where) == where}
            for where, store in stores.items()
        }
        id_ = find_id(ref, (id_ for lines in earlier.values() for id_ in lines))
        where = next(where for where, lines in earlier.items() if id_ in lines)
        store = self.store_to_write(where)
        with store.writing():
            now = store.get(id_)
            if before := decode(store.replaced().get(id_, b"")).memory:
                self.vetted(before, where)
                refuse_copy(store, id_, before.content)
            store.restore(id_, tick(self.clock(), now.written_at if now else None))
            memory = still_there(store, id_)
        reason = "its earlier version is back" if now else "it is back"
        return Remembered(status="updated", entry=noted(self, where, memory, "updated"), reason=reason)

    def _archived(self, ref: str, scope: Scope | None) -> Entry | None:
        try:
            entry = self.get(ref, scope)
        except (MemoryNotFound, AmbiguousId):
            return None
        return entry if entry.memory.archived_at else None

    def import_(
        self, candidates: Iterable[Candidate], *, scope: Scope | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Store what *candidates* say: all of it, or on an error nothing.

        Raises:
            NoStore, StoreError: nothing was written.
        """
        is_chosen, scope = scope is not None, scope or self.default_scope
        self.refresh()
        if dry_run:
            return self._plan(scope, candidates, dry_run=True).report(dry_run=True)
        store = self.store_to_write(scope)
        with store.writing():
            plan = self._plan(scope, candidates)
            store.write(plan.added.values(), {id_: _fields(memory) for id_, memory in plan.edited.items()})
            if scope == "stealth":
                from memsync.store import bystealth

                bystealth.drop(store.place.local, plan.edited.keys())
                bystealth.add(store.place.local, () if is_chosen else plan.added.values())
        if rows := plan.rows(self.author):
            self.state(scope).log_dedup(rows)
        return plan.report(dry_run=False)

    def _plan(self, scope: Scope, candidates: Iterable[Candidate], *, dry_run: bool = False) -> Plan:
        from memsync.dedup.nominate import Nominees
        from memsync.memories.imports import Plan
        from memsync.memories.remember import thresholds

        def vet(memory: Memory) -> Memory:
            return self.vetted(memory, scope, dry_run=dry_run)

        store, now = self.store(scope), tick(self.clock(), None)
        plan = Plan(
            store.get,
            store.by_hash,
            vet=vet,
            like=Nominees((memory.id, memory.content) for memory in store.memories().values()),
            thresholds=thresholds(self),
            is_taken=self.is_taken,
            count=self.id_count(),
            now=now,
        )
        for candidate in candidates:
            plan.take(candidate)
        return plan

    def export(self, scope: Scope) -> Exported:
        """Bring the file of *scope* to canonical form.

        Raises:
            NoStore, StoreError: nothing was changed.
        """
        return self.store_to_write(scope).export()

    def flagged(self) -> builtins.list[Entry]:
        """Return the memories that read like orders to an agent and wait for approval, the most important first."""
        return most_important(one for entry in self.entries(_EVERYTHING) if (one := self.screened(entry)).flagged)

    def approve(self, entry: Entry) -> None:
        """Let agents be given *entry*, which is flagged, as it is now: a person has read it.

        Raises:
            NoStore: there is no home store to note it in.
            StoreError
        """
        self.keep_key()
        Approvals(self.layout).add([instruction_of(entry.memory, self.stores[entry.scope].place.memories)])

    def revoke(self, entry: Entry) -> bool:
        """Take the approvals of *entry* back, and tell whether there was one.

        Raises:
            StoreError
        """
        return bool(
            Approvals(self.layout).remove([instruction_of(entry.memory, self.stores[entry.scope].place.memories).name])
        )

    def status(self) -> builtins.list[StoreStatus]:
        """Return each store at a glance.

        Raises:
            StoreUnreadable, OutsideTree
        """
        from memsync.memories.results import StoreStatus

        flagged = self.flagged()
        return [
            StoreStatus(
                scope=scope,
                path=store.place.memories,
                memories=len(store.memories()),
                problems=len(store.problems()),
                pending=not store.is_canonical(),
                waiting=store.waiting,
                new=sum(self.is_new(self.entry(scope, memory)) for memory in store.memories().values()),
                flagged=sum(entry.scope == scope for entry in flagged),
            )
            for scope, store in self.stores.items()
        ]


def _fields(memory: Memory) -> dict[str, Any]:
    """Return every field of *memory* for an edit: its defaults too, so that they replace what was there."""
    named = {"memory_type": memory.memory_type, "importance": memory.importance, "tags": list(memory.tags)}
    return {**fields_of(memory), **named}


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())
