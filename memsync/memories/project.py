"""What a command can reach: the stores of a project, their local state, the settings and the index."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from memsync.errors import GitRefused, MemoryNotFound, NoStore, SecretFound, StoreError
from memsync.memories.decay import Decay
from memsync.memories.filters import Filters
from memsync.memories.finder import Finder
from memsync.memories.results import Entry
from memsync.poison.fingerprints import RULES, fingerprint, instruction_of
from memsync.records import ALLOW_TAG, Clock, Memory, Scope, find_id, utc_now
from memsync.store import config
from memsync.store.files import create, make_dirs
from memsync.store.places import Layout, key_file, locate, under_way
from memsync.store.state import Action, Dedup, Known, State, Usage
from memsync.store.store import Store
from memsync.store.trust import Approvals, Instruction

if TYPE_CHECKING:
    from memsync.secrets import Allow

# Whether a new and an old text say the same, and why; None: nobody could be asked.
Verify = Callable[[str, str], "tuple[bool, str] | None"]

E = TypeVar("E", bound=Entry)
log = logging.getLogger(__name__)

_BATCH: Final = 500
_LATE: Final = 1.0  # seconds that a decision may wait for others before it is logged


class Project:
    """The stores in reach of a directory: its project's, its private one and the user's."""

    def __init__(self, layout: Layout, *, clock: Clock = utc_now, env: Mapping[str, str] = os.environ) -> None:
        self.layout = layout
        self.clock = clock
        self.env = env
        self._session = ""
        self._used: list[tuple[Scope, str, Action, datetime]] = []
        self._known: dict[Scope, dict[str, Known]] = {}
        self._flaws: dict[str, str] = {}  # by fingerprint
        self._judged: list[tuple[Scope, Dedup]] = []
        self._logged_at = time.monotonic()
        self.allows_secrets = False  # the user says, at the terminal, that what looks like a secret is none
        self.verify: Verify | None = None  # asked about texts that may say the same; nobody, unless somebody sets it
        places = (layout.project, layout.stealth, layout.global_)
        self.stores: dict[Scope, Store] = {place.scope: Store(place) for place in places if place}

    @classmethod
    def open(cls, path: str | Path = ".", *, clock: Clock = utc_now, env: Mapping[str, str] = os.environ) -> Self:
        """Open the project that *path* is in. Creates nothing.

        Raises:
            ConfigError: a settings file cannot be read.
        """
        project = cls(locate(Path(path), env), clock=clock, env=env)
        for note in filter(None, (*project.layout.notes, project.loaded.unreadable)):
            log.warning("%s", note)
        return project

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Bring what was written to canonical form. It is durable already, so a failure is only logged."""
        self._flush()
        for store in self.stores.values():
            try:
                if store.in_log_form:
                    store.export()
                    self._commit(store)
            except StoreError as error:
                log.warning("everything is stored, but the file was not put in order: %s", error)
        if "finder" in self.__dict__:
            self.finder.save()

    def _commit(self, store: Store) -> None:
        """In mode auto-commit, commit what was exported; where that cannot be, it stays in the work tree."""
        if store.place.scope != "project" or self.layout.git is None or self.settings.mode != "auto-commit":
            return
        from memsync.git.commit import commit

        try:
            if held := commit(self.layout, store, self.allowed_secrets).held:
                log.warning("everything is stored, but not committed: %s", held)
        except GitRefused as error:
            log.warning("everything is stored, but not committed: %s", error)

    @cached_property
    def loaded(self) -> config.Loaded:
        """The settings and where they come from."""
        loaded = config.load(self.layout)
        if (project := self.stores.get("project")) is not None:
            project.on_commit = loaded.settings.mode == "on-commit" and self.layout.git is not None
            project.hold = self._why_hold
        return loaded

    def _why_hold(self) -> str:
        """Return why the project's file should stay as it is just now; "" if nothing speaks against a write."""
        git, place = self.layout.git, self.layout.project
        if git and place and (git.git_dir / "info" / "sparse-checkout").exists() and not place.memories.exists():
            return "the sparse checkout leaves it out"
        return under_way(git) and f"{under_way(git)} is under way"

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def instructions(self) -> list[Instruction]:
        """What the repository brings that acts, approved or not: settings, and workflow files."""
        from memsync.store.workflow import instructions  # above this, and mostly nothing is there

        project = self.layout.project
        has_files = project is not None and (project.directory / "workflows").is_dir()
        return [*self.loaded.instructions, *(instructions(self.layout) if has_files else ())]

    @property
    def waiting(self) -> list[Instruction]:
        """Those of the instructions that the user has neither approved nor refused; they are not in force."""
        approvals = Approvals(self.layout)
        return [one for one in self.instructions if approvals.wait(one)]

    @cached_property
    def author(self) -> str | None:
        """The name on new memories: the setting, else git's."""
        from memsync.store.checkout import user_name

        return self.settings.author or user_name(self.layout.root or self.layout.start)

    @contextmanager
    def in_session(self, id_: str) -> Iterator[None]:
        """Work for the agent session *id_*, whichever one this process was started by."""
        before, self._session = self._session, id_
        try:
            yield
        finally:
            self._session = before

    @property
    def session_id(self) -> str | None:
        """The agent session that this runs in, if somebody or the environment names one."""
        return self._session or self.env.get("MEMSYNC_SESSION_ID") or self.env.get("CLAUDE_CODE_SESSION_ID") or None

    @property
    def default_scope(self) -> Scope:
        """Where a memory goes when the caller does not say."""
        return "stealth" if self.settings.stealth else "project"

    def store(self, scope: Scope) -> Store:
        """Return the store of *scope*.

        Raises:
            NoStore: there is none here.
        """
        self.layout.place(scope)
        return self.stores[scope]

    def store_to_write(self, scope: Scope) -> Store:
        """Return the store of *scope* for a write.

        Raises:
            NoStore: there is none here, or stealth is on and it is the project's.
        """
        store = self.store(scope)
        self.allow_write(scope, store.place.memories)
        return store

    def allow_write(self, scope: Scope, path: Path) -> None:
        """Refuse a write to *path*, which is of *scope*, where stealth forbids it; get the private store ready.

        Raises:
            NoStore: stealth is on, and it is the project's.
        """
        if scope == "project" and self.settings.stealth:
            raise NoStore(
                f"stealth is on, so {path} stays as it is; "
                "use --private or --global, or `memsync memory config --stealth off`"
            )
        if scope == "stealth":
            self.keep_key()

    def vetted(self, memory: Memory, scope: Scope, *, dry_run: bool = False) -> Memory:
        """Return *memory* as it may be stored in *scope*: the writer's home is `~`.

        Every write of a text passes here; a *dry_run* notes no consent. The private store takes secrets; no agent is shown them unasked.

        Raises:
            SecretFound: it looks like it holds one, and would be shared.
        """
        from memsync import secrets
        from memsync.store import consent

        home = self.env.get("HOME") or os.path.expanduser("~")
        user = self.env.get("USER") or self.env.get("USERNAME")
        memory = memory._replace(content=secrets.tidy(memory.content, home=home, user=user or ""))
        found = [] if scope == "stealth" else secrets.scan_memory(memory, self.allowed_secrets)
        if found and not self.allows_secrets:
            raise SecretFound(secrets.describe(found))
        if found and not dry_run:
            consent.consent(self.layout, found)
            self.__dict__.pop("allowed_secrets", None)
        return memory._replace(tags=(*memory.tags, ALLOW_TAG)) if found and ALLOW_TAG not in memory.tags else memory

    @cached_property
    def allowed_secrets(self) -> Allow:
        """What the settings and the user say is no secret."""
        from memsync.store.consent import load_allowed

        return load_allowed(self.layout, self.settings.allow_secrets)

    def keep_key(self) -> None:
        """Note in `.git` which stealth store the clone uses, so that a new remote does not hide it."""
        if self.layout.git is None:
            return
        path = key_file(self.layout.git)
        try:
            make_dirs(path.parent, private=False)
            create(path, f"{self.layout.place('stealth').directory.name}\n".encode(), private=False)
        except StoreError as error:
            log.info("the key of the stealth store is not kept: %s", error)

    def refresh(self) -> None:
        """Take in what others wrote since; cheap when nothing changed."""
        for store in self.stores.values():
            store.refresh()

    def problems(self) -> list[tuple[Path, tuple[int, int, str]]]:
        """Return, for each file with lines that were left out, how many, and the first: its number and why."""
        found = []
        for scope, store in self.stores.items():
            first = store.first_problem() if store.stamp is not None else self.finder.problems.get(scope)
            if first:
                found.append((store.place.memories, first))
        return found

    @cached_property
    def finder(self) -> Finder:
        """What answers queries over all stores.

        Raises:
            ConfigError: the setting names no embedder.
        """
        places = (self.layout.project, self.layout.stealth, self.layout.global_)
        usable = [place for place in places if place and place.directory.is_dir()]
        if self.settings.stealth:
            usable = [place for place in usable if place.private]
        settings = self.settings
        return Finder(self.stores, next(iter(usable), None), embedder=settings.embedder, stop_words=settings.stop_words)

    def get(self, ref: str, scope: Scope | None = None) -> Entry:
        """Return the memory that *ref* names: an id or an unambiguous prefix.

        Raises:
            MemoryNotFound, AmbiguousId
        """
        self.refresh()
        stores = {scope: self.store(scope)} if scope else self.stores
        is_whole = any(store.get(ref) for store in stores.values())
        id_ = ref if is_whole else find_id(ref, (id_ for store in stores.values() for id_ in store.memories()))
        for where, store in stores.items():
            if memory := store.get(id_):
                return self.marked(self.entry(where, memory))
        raise MemoryNotFound(ref)  # another thread removed it just now

    def entries(self, filters: Filters) -> Iterator[Entry]:
        """Yield every memory that passes *filters*."""
        self.refresh()
        for scope, store in self.stores.items():
            if scope in filters.scopes:
                usage = self.state(scope).usage()
                for memory in store.memories().values():
                    if filters.allow(entry := self.entry(scope, memory, usage)):
                        yield entry

    def entry(self, scope: Scope, memory: Memory, usage: Mapping[str, Usage] | None = None) -> Entry:
        """Return *memory* with its local numbers and what its importance is worth now."""
        count, last = (self.state(scope).usage() if usage is None else usage).get(memory.id, Usage(0, None))
        effective = self._decay.effective(memory, last, self.clock())
        return Entry(memory=memory, scope=scope, effective_importance=effective, access_count=count)

    def marked(self, entry: E) -> E:
        """Return *entry* with what is no longer so of the files that it speaks of, and why it should be read first."""
        return self.screened(self._anchored(entry))

    def screened(self, entry: E) -> E:
        """Return *entry* with why no agent is given it unasked, if it is flagged and nobody has approved it."""
        why = self.flaw(entry)
        return replace(entry, flagged=why) if why and not self.is_approved(entry) else entry

    def flaw(self, entry: Entry) -> str:
        """Return why *entry* reads like an order to an agent; "" if it does not. What was read here once is not read again."""
        mark = fingerprint(entry.memory)
        known = self.state(entry.scope).known().get(entry.id)
        if known == (mark, RULES):
            return ""
        if mark not in self._flaws:
            from memsync.poison.screen import flaw_of

            self._flaws[mark] = flaw_of(entry.memory)
        return self._flaws[mark]

    def is_approved(self, entry: Entry) -> bool:
        """Tell whether a person of this machine has approved *entry* as it is."""
        return Approvals(self.layout).cover(instruction_of(entry.memory, self.stores[entry.scope].place.memories))

    def seen(self, entry: Entry) -> Known:
        """Return what is known of *entry* once it is written or shown."""
        return Known(fingerprint(entry.memory), 0 if self.flaw(entry) else RULES)

    def _anchored(self, entry: E) -> E:
        root = self.layout.root
        if not entry.memory.anchors or root is None or entry.scope == "global":
            return entry
        from memsync.memories.anchors import trouble

        return replace(entry, stale=tuple(why for text in entry.memory.anchors if (why := trouble(text, root))))

    @cached_property
    def _decay(self) -> Decay:
        settings = self.settings
        return Decay(enabled=settings.decay_enabled, rate=settings.decay_rate, floor=settings.decay_floor)

    def is_taken(self, id_: str) -> bool:
        """Tell whether any store has a line with that id."""
        return any(store.knows(id_) for store in self.stores.values())

    def id_count(self) -> int:
        """Return how many ids there are."""
        return sum(map(len, self.stores.values()))

    def state(self, scope: Scope) -> State:
        """Return where the use of memories of *scope* is counted: never in the work tree under stealth."""
        return self._states["stealth" if scope == "project" and self.settings.stealth else scope]

    @cached_property
    def _states(self) -> dict[Scope, State]:
        places = ((scope, store.place) for scope, store in self.stores.items())
        return {
            scope: State(place.local / "state.db", private=place.private, tree=place.tree) for scope, place in places
        }

    def record(self, entries: Iterable[Entry], action: Action) -> None:
        """Note locally that *entries* were used; never fails, never touches a tracked file.

        Written in batches, and by `close`: a process that is killed forgets some uses and nothing else.
        """
        now = self.clock()
        for entry in entries:
            self._used.append((entry.scope, entry.memory.id, action, now))
            self._known.setdefault(entry.scope, {})[entry.id] = self.seen(entry)
        if len(self._used) >= _BATCH:
            self._flush()

    def log_dedup(self, scope: Scope, row: Dedup) -> None:
        """Note a decision on a new text: at once where another text than the stored one was kept out, else in batches."""
        self._judged.append((scope, row))
        is_late = time.monotonic() - self._logged_at > _LATE
        if row.decision in ("llm_reject", "fallback_reject") or is_late or len(self._judged) >= _BATCH:
            self.write_dedup_log()

    def write_dedup_log(self) -> None:
        """Write the decisions that wait for the next batch."""
        judged, self._judged = self._judged, []
        self._logged_at = time.monotonic()
        for scope in dict.fromkeys(scope for scope, _ in judged):
            self.state(scope).log_dedup(row for where, row in judged if where == scope)

    def _flush(self) -> None:
        self.write_dedup_log()
        used, self._used = self._used, []
        known, self._known = self._known, {}
        session = self.session_id
        for scope in dict.fromkeys(scope for scope, *_ in used):
            rows = [row[1:] for row in used if row[0] == scope]
            state = self.state(scope)
            uses = [(id_, now) for id_, action, now in rows if action in ("accessed", "injected")]
            state.record_use(uses, known.get(scope, {}))
            if session:
                state.record_session(session, rows)
