"""`Project`: remember, recall and the rest, as plain calls with typed results, over the stores in reach of a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from math import inf
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

from memsync.errors import MemoryNotFound, NoStore, Remedy
from memsync.memories.filters import Filters, Order, as_hit, effective_importance, search, sort_by_importance
from memsync.memories.finder import Finder
from memsync.memories.index_file import IndexFile
from memsync.memories.journal import Journal, Use
from memsync.memories.results import Entry, Recall, Remembered
from memsync.memories.screening import Screening, Vetting
from memsync.memories.stores import Stores
from memsync.records import Clock, Fields, Memory, Scope, as_scope, clean_content, utc_now
from memsync.store import config
from memsync.store.changes import Exported
from memsync.store.places import Layout, locate
from memsync.store.state import Action, Usage
from memsync.store.store import Store
from memsync.system.logs import Log

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.memories.counts import Stats, StoreStatus
    from memsync.memories.imports import Candidate, ImportReport
    from memsync.skills.skills import Skills
    from memsync.store.watch import Watcher

_ALL: Final = Filters()
_EVERYTHING: Final = Filters(archived=True)
# Whether a new and an old text say the same, and why; None: nobody could be asked.
Verify = Callable[[str, str], "tuple[bool, str] | None"]
E = TypeVar("E", bound=Entry)
log = Log(__name__)


class Project:
    """The memories in reach of a directory: its project's, its private ones and the user's.

    Use as a context manager, or call `close()`: it brings what was written to canonical form. Every write is durable
    before its call returns. *loaded* takes the place of the settings files.

    Raises:
        ConfigError: a settings file cannot be read.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        clock: Clock = utc_now,
        env: Mapping[str, str] = os.environ,
        loaded: config.Loaded | None = None,
        index: IndexFile | None = None,
    ) -> None:
        self.layout = layout
        self.clock = clock
        self.env = env
        self.verify: Verify | None = None  # asked about texts that may say the same; nobody, unless somebody sets it
        self.is_brief = self.is_lean = False  # lean: it holds no warm index of a large store
        self.repo = ""  # what its entries name as their repository, where they stand among those of others
        self.stores = Stores(layout)
        self.state = self.stores.state
        self.journal = Journal(self.state, env)
        self.vetting = Vetting(layout, env)
        self._mutex = Lock()
        self._index: IndexFile | None = None
        self._take_settings(loaded or config.load(layout))
        self._index = index  # which somebody has asked already by these settings

    @classmethod
    def open(cls, path: str | Path = ".", *, clock: Clock = utc_now, env: Mapping[str, str] = os.environ) -> Self:
        """Open the project that *path* is in. Creates nothing.

        Raises:
            ConfigError: a settings file cannot be read.
        """
        project = cls(locate(Path(path), env), clock=clock, env=env)
        for note in filter(None, (*project.layout.warnings, project.loaded.unreadable)):
            log.warning("%s", note)
        return project

    @cached_property
    def screening(self) -> Screening:
        """What is known of memories that hold a secret, or read like orders; who meets none loads no rules."""
        return Screening(self.layout, self.state, self.journal.note_change)

    def reload(self) -> None:
        """Read the settings files again.

        Raises:
            ConfigError: one of them cannot be read; the settings stay as they were.
        """
        self._take_settings(config.load(self.layout))

    def with_settings(self, **values: Any) -> Self:
        """Return the same project with *values* instead of what the settings files say, by the names in `Settings`."""
        settings = self.settings._replace(**values)
        return type(self)(self.layout, clock=self.clock, env=self.env, loaded=self.loaded._replace(settings=settings))

    def _take_settings(self, loaded: config.Loaded) -> None:
        """Put *loaded* in force; what was made from other settings is made again."""
        self.loaded, self.settings = loaded, loaded.settings
        self._author: str | None = None
        self._finder: Finder | None = None  # its index may belong elsewhere now
        self._index = None
        self.vetting.use(loaded.settings.allow_secrets)
        self.stores.follow(loaded.settings)

    @property
    def has_changed(self) -> bool:
        """Whether something was written that is not noted for `memsync undo` yet."""
        return bool(self.journal.changes) or any(store.touched for store in self.stores.values())

    @property
    def author(self) -> str | None:
        """The name on new memories: the setting, else git's."""
        if self._author is None:
            from memsync.store.checkout import user_name

            self._author = self.settings.author or user_name(self.layout.root or self.layout.start) or ""
        return self._author or None

    @property
    def default_scope(self) -> Scope:
        """Where a memory goes when the caller does not say."""
        return "private" if self.settings.stealth else "project"

    def store(self, scope: Scope) -> Store:
        """Return the store of *scope*.

        Raises:
            InvalidMemory: there is no such scope.
            NoStore: there is none here.
        """
        return self.stores[self.layout.place(scope).scope]

    def store_to_write(self, scope: Scope) -> Store:
        """Return the store of *scope* for a write.

        Raises:
            NoStore: there is none here, or stealth is on and it is the project's.
        """
        store = self.store(scope)
        self.stores.allow_write(store.place.scope, store.place.memories)
        return store

    def expect_store(self, scope: Scope | None) -> None:
        """Refuse a write to *scope* that would make a project of a folder outside git, where nobody has run `init`.

        Raises:
            NoStore
        """
        place = self.layout.project
        if (
            place
            and self.layout.git is None
            and (scope or self.default_scope) == "project"
            and not (place.directory.is_dir() and set(os.listdir(place.directory)) - {place.local.name})
        ):
            said = f"{place.directory.parent} is in no git repository and has no memories yet; "
            raise NoStore(said, Remedy("init"), " makes it a project; or use ", Remedy("--global"))

    def be_brief(self) -> None:
        """Keep open what is asked more than once, because the process ends soon; `close` lets go of it."""
        self.stores.be_brief()
        self.is_brief = True

    @property
    def finder(self) -> Finder:
        """What answers queries over all stores: one for all threads, because a store tells one index what changes.

        Raises:
            ConfigError: the setting names no embedder.
        """
        return self._finder or self._make_finder()

    def _make_finder(self) -> Finder:
        with self._mutex:
            if self._finder is not None:
                return self._finder
            settings = self.settings
            if (file := self._index) is None:
                embedder, stop_words = settings.embedder, settings.stop_words
                file = IndexFile(self.stores, self.stores.index_place, embedder=embedder, stop_words=stop_words)
            self._finder = Finder(self.stores, file, is_brief=self.is_brief, is_lean=self.is_lean)
            return self._finder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Bring what was written to canonical form. It is durable already, so a failure is only logged."""
        self.journal.write()
        if above := self.__dict__.get("above"):
            above.close()
        if "screening" in self.__dict__:
            self.screening.save()
        if self.settings.sync_enabled and (written := [store for store in self.stores.values() if store.in_log_form]):
            from memsync.memories.reach import note_known
            from memsync.memories.syncing import export_written

            note_known(self)
            export_written(self, written)
        if self._finder:
            self._finder.save()
        self.stores.close()

    @cached_property
    def skills(self) -> Skills:
        """The skills in reach."""
        from memsync.skills.skills import Skills

        return Skills(self)

    @cached_property
    def above(self) -> Project | None:
        """What a store further up in the work tree holds, which this one inherits; set it to None to stay here."""
        if self.layout.git is None or self.layout.root == self.layout.git.root:
            return None
        from memsync.memories.reach import find_above

        return find_above(self)

    def watcher(self) -> Watcher:
        """Return what keeps memories, skills and the index up to date while it runs: `with project.watcher(): …`."""
        from memsync.store.watch import Watcher

        stores, skills = self.stores.values(), self.skills.stores.values()
        # Not the pending files: beside them every write of ours is an event, and each question looks at them anyway.
        memories = {store.place.memories: store.refresh for store in stores}
        folders = {store.directory: self.skills.refresh for store in skills}
        trees = {store.place.memories: store.place.tree for store in stores}
        trees |= {store.directory: store.place.tree for store in skills}
        return Watcher({**memories, **folders}, trees=trees)

    def get(self, ref: str, scope: Scope | None = None) -> Entry:
        """Return the memory that *ref* names: an id or an unambiguous prefix.

        Raises:
            MemoryNotFound, AmbiguousId
        """
        self.stores.refresh()
        try:
            where, memory = self.stores.find(ref, scope)
        except MemoryNotFound as error:
            from memsync.memories.reach import find_inherited

            return find_inherited(self, ref, error)
        return self.mark(self.entry(where, memory))

    def show(self, ref: str, scope: Scope | None = None) -> Entry:
        """Return what `get` does, for a process that only shows it: nothing else is read where that can be.

        Raises:
            MemoryNotFound, AmbiguousId
        """
        from memsync.memories.listing import find_one

        return (None if scope else find_one(self, ref)) or self.get(ref, scope)

    def entries(self, filters: Filters = _ALL) -> Iterator[Entry]:
        """Yield every memory that passes *filters*, all as they are at one moment: what is worth the same stays so."""
        self.stores.refresh()
        now = self.clock()
        for scope, store in self.stores.items():
            if scope in filters.scopes:
                usage = self.state(scope).usage()
                for memory in store.memories().values():
                    if filters.allow(entry := self.entry(scope, memory, usage, now)):
                        yield entry

    def entry(
        self, scope: Scope, memory: Memory, usage: Mapping[str, Usage] | None = None, now: datetime | None = None
    ) -> Entry:
        """Return *memory* with its local numbers and what its importance is worth *now*."""
        count, last = (self.state(scope).usage() if usage is None else usage).get(memory.id, Usage(0, None))
        effective = effective_importance(memory, last, now or self.clock(), self.settings)
        return Entry(memory=memory, scope=scope, effective_importance=effective, access_count=count, repo=self.repo)

    def mark(self, entry: E) -> E:
        """Return *entry* with what has changed in the files that it names, and why it should be read first."""
        if entry.repo != self.repo and self.above:
            return self.above.mark(entry)
        if entry.memory.anchors and (root := self.layout.root) and entry.scope != "global":
            from memsync.memories.citations import find_stale

            entry = replace(entry, stale=find_stale(entry.memory.anchors, root))
        return self.screening.screen(entry)

    def record(self, entries: Iterable[Entry], action: Action) -> None:
        """Note locally that *entries* were used, in batches; never fails."""
        now = self.clock()
        for entry in entries:
            if entry.repo != self.repo and self.above:
                self.above.record([entry], action)
                continue
            if action in ("created", "updated"):
                self.screening.own(entry)
            self.journal.add_use(Use(entry.scope, entry.id, action, now, self.screening.note(entry)))
        if self.journal.is_full:
            self.journal.write()

    def memories(self, filters: Filters = _ALL, *, limit: int | None = None, order: Order | None = None) -> list[Entry]:
        """Return the memories that pass *filters*, most important first; with *order*, what is less by that comes first."""
        found = None
        if limit is not None and order is None:
            from memsync.memories.listing import list_first

            found = list_first(self, filters, limit)
        if found is None:
            found = sort_by_importance(self.entries(filters), order)[:limit]
        return [self.mark(entry) for entry in found]

    def list_all(self, filters: Filters = _ALL, *, limit: int | None = None, order: Order | None = None) -> list[Entry]:
        """Return what `memories` does, with what is inherited; with *order*, what is less by that comes first."""
        if self.above is None:
            return self.memories(filters, limit=limit, order=order)
        from memsync.memories.reach import list_memories

        return list_memories(self, filters, limit=limit, order=order)

    def recall(self, query: str | None = None, filters: Filters = _ALL, *, limit: int | None = None) -> Recall:
        """Return the memories that answer *query*, best first; nothing if nothing does.

        Without a query: the most important ones. What was returned counts as used, unless it is a weak match.

        Raises:
            ConfigError, StoreUnreadable, OutsideTree
        """
        if query and query.strip():
            found = self.search(query, filters, limit=limit)
        else:
            limit = self.settings.recall_limit if limit is None else limit
            found = Recall(hits=tuple(as_hit(entry) for entry in self.list_all(filters, limit=limit)))
        self.record((hit for hit in found if not found.is_weak(hit)), "accessed")
        return found

    def search(self, query: str, filters: Filters = _ALL, *, limit: int | None = None) -> Recall:
        """Do what `recall` does with a query, without counting it as a use.

        Raises:
            ConfigError, StoreUnreadable, OutsideTree
        """
        look = search
        if self.above:
            from memsync.memories.reach import search_all as look
        limit = self.settings.recall_limit if limit is None else limit
        found = look(self, query, filters, limit=limit)
        if found.gate >= found.floor:
            from memsync.memories.newer import put_newer_first

            found = put_newer_first(self, found, filters.allow)
        return replace(found, hits=tuple(map(self.mark, found.hits[:limit])))

    def limit_of(self, unset: int) -> int:
        """Return memory.recall_limit where it is set, else *unset*."""
        return self.settings.recall_limit if "memory.recall_limit" in self.loaded.sources else unset

    def stats(self, filters: Filters = _EVERYTHING) -> Stats:
        """Count the memories that pass *filters*."""
        from memsync.memories.counts import count_memories

        return count_memories(list(self.entries(filters)))

    def remember(
        self,
        content: str,
        *,
        scope: Scope | None = None,
        private: bool = False,
        source_type: str | None = None,
        **fields: Unpack[Fields],
    ) -> Remembered:
        """Store *content*, unless the scope already holds what says the same (docs/dedup.md).

        It is found by its *cues* too: questions that it answers, symptoms, other names. Nobody is shown them. The same text in
        the same words is not stored twice: tags, cues, links and triggers are united, and the larger importance is kept. What it
        *supersedes* is archived: kept, and brought back by `restore`. When one of its *anchors* (PATH or PATH#SYMBOL) or
        a file that it names changes, recall says so. Its *links* (because:ID, needs:ID, see:ID, see:skill/NAME) come with it.
        Its *triggers* (`not: NAME`, `fails: TEXT`) say when an agent is given it. *private* is the scope `private`.

        Raises:
            MemoryNotFound, AmbiguousId, InvalidMemory, NoStore, StoreError: nothing was written.
        """
        from memsync.memories.naming import Named

        scope = "private" if private else as_scope(scope) if scope else None
        root = None if (scope or self.default_scope) == "global" else self.layout.root
        is_agents = self.journal.writer == "agent" and not fields.get("anchors")
        with Named(clean_content(content), root, is_agents=is_agents) as named:
            from memsync.memories.remember import remember  # the guards and their lexicon, while git looks

            return remember(self, content, fields, scope, named, source_type)

    def update(
        self,
        ref: str,
        *,
        content: str | None = None,
        scope: Scope | None = None,
        was: Memory | None = None,
        **fields: Unpack[Fields],
    ) -> Remembered:
        """Change the given fields of one memory; every other value of its line keeps its bytes.

        What it *supersedes* from now on is archived, as by `remember`. With *was*, what somebody
        has read, only if the memory is still that.

        Raises:
            MemoryNotFound, AmbiguousId, Changed, InvalidMemory, StoreError: nothing was written.
        """
        from memsync.memories.remember import update

        return update(self, ref, content, fields, scope, was)

    def forget(self, ref: str, scope: Scope | None = None, *, was: Memory | None = None) -> Entry:
        """Remove one memory, and return it; `restore` brings it back. With *was*, what somebody has read, only if it is still that.

        Raises:
            MemoryNotFound, AmbiguousId, Changed, StoreError: nothing was removed.
        """
        from memsync.memories import edits

        return edits.forget(self, ref, scope, was=was)

    def purge(self, ref: str, scope: Scope | None = None) -> str:
        """Remove one memory and all that this machine's history keeps of it, and return its id; commits keep what they have.

        Raises:
            MemoryNotFound, AmbiguousId, StoreError
        """
        from memsync.memories.purging import purge

        return purge(self, ref, scope)

    def restore(self, ref: str, scope: Scope | None = None) -> Remembered:
        """Bring an archived memory back, or undo the last `forget` or `update` of one on this machine.

        Doing it twice undoes nothing.

        Raises:
            MemoryNotFound, AmbiguousId, InvalidMemory, StoreError: nothing was written.
        """
        from memsync.memories import edits

        return edits.restore(self, ref, scope and as_scope(scope))

    def import_(
        self,
        candidates: Iterable[Candidate],
        *,
        scope: Scope | None = None,
        dry_run: bool = False,
        restoring: bool = False,
        is_mine: bool = True,
    ) -> ImportReport:
        """Store what *candidates* say: all of it, or on an error nothing.

        Without a *scope* each goes where the copy says that it belongs. *restoring* takes back a copy of memsync's own as it is: no
        record is compared with others, changed, or looked through for secrets. What names no other author *is_mine*: it is not new
        to this machine.

        Raises:
            NoStore, StoreError: nothing was written.
        """
        from memsync.memories.imports import import_candidates

        scope = scope and as_scope(scope)
        return import_candidates(self, candidates, scope, dry_run=dry_run, restoring=restoring, is_mine=is_mine)

    def export(self, scope: Scope) -> Exported:
        """Bring the file of *scope* to canonical form.

        Raises:
            NoStore, StoreError: nothing was changed.
        """
        return self.store_to_write(scope).export()

    def waiting_rules(self) -> list[Entry]:
        """Return what of the repository stops no call before it is approved; none where nothing is to stop one."""
        settings = self.settings
        entries = self.entries(_EVERYTHING) if settings.guard or settings.bump == "sure" else ()
        return sort_by_importance(e for e in map(self.mark, entries) if self.screening.waits_to_stop(e, settings))

    def flagged(self, *, seconds: float = inf) -> list[Entry]:
        """Return the memories that read like orders to an agent and wait for approval, the most important first.

        After *seconds* of screening what was never screened here, only those that were met until then.
        """
        end = self.screening.took + seconds
        entries = takewhile(lambda _: self.screening.took <= end, self.entries(_EVERYTHING))
        return sort_by_importance(entry for entry in map(self.screening.screen, entries) if entry.flagged)

    @property
    def is_behind(self) -> bool:
        """Whether there may be many memories that were never screened here: one was met, or the index was made of all."""
        has_met_one = "screening" in self.__dict__ and self.screening.is_behind
        return has_met_one or (self._finder is not None and self._finder.file.is_made_anew)

    def screen_all(self, *, seconds: float = inf) -> bool:
        """Screen every memory, so that no hook need do it; False if *seconds* were too few."""
        return self.screening.screen_all(self.entries(_EVERYTHING), seconds=seconds)

    def status(self, *, seconds: float = inf) -> list[StoreStatus]:
        """Return each store at a glance, with those flagged that `flagged` finds in *seconds*.

        Raises:
            StoreUnreadable, OutsideTree
        """
        from memsync.memories.counts import survey_store

        flagged = self.flagged(seconds=seconds)
        return [survey_store(self, store, flagged) for store in self.stores.values()]

    list = memories


# The name under which programs import it.
Memsync = Project
