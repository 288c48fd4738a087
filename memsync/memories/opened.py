"""What is open of a project: its stores, settings, index and journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from memsync.memories.finder import Finder
from memsync.memories.index_file import IndexFile
from memsync.memories.journal import Journal
from memsync.memories.stores import Stores
from memsync.memories.vetting import Vetting
from memsync.records import Clock, Scope, utc_now
from memsync.store import config
from memsync.store.places import Layout
from memsync.store.store import Store

if TYPE_CHECKING:
    from memsync.memories.screening import Screening

# Whether a new and an old text say the same, and why; None: nobody could be asked.
Verify = Callable[[str, str], "tuple[bool, str] | None"]


class Opened:
    """The stores in reach of a directory, and what works on them; `Project` adds the calls."""

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
        self.is_brief = False
        self.repo = ""  # what its entries name as their repository, where they stand among those of others
        self.stores = Stores(layout)
        self.state = self.stores.state
        self.journal = Journal(self.state, env)
        self.vetting = Vetting(layout, env)
        self._mutex = Lock()
        self._index: IndexFile | None = None
        self._take_settings(loaded or config.load(layout))
        self._index = index  # which somebody has asked already by these settings

    @cached_property
    def screening(self) -> Screening:
        """What is known of memories that hold a secret, or read like orders; who meets none loads no rules."""
        from memsync.memories.screening import Screening

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
        self.stores.allow_write(scope, store.place.memories)
        return store

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
            self._finder = Finder(self.stores, file, stop_words=settings.stop_words, is_brief=self.is_brief)
            return self._finder
