"""Searching all stores in reach: by the rows of the index for a first question, by a warm index from then on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memsync.memories.index_file import IndexFile
from memsync.records import Change, Memory, Scope
from memsync.store.store import Store
from memsync.system.texts import count

if TYPE_CHECKING:
    from memsync.index.cold import Cold
    from memsync.index.core import Index
    from memsync.index.rank import Allow, Ranking, Record


_LARGE: Final = (
    16_000_000  # bytes of memories: to make the rows of 35,000 records takes seconds and hundreds of megabytes
)


class Finder:
    """Answers queries over *stores*. The first is answered by the rows of *file*, and so is each one where the process `is_brief`.

    One that `is_lean` makes no rows of a large store, which another process does: it has a warm index of them from the first question on.
    """

    def __init__(
        self, stores: Mapping[Scope, Store], file: IndexFile, *, is_brief: bool, is_lean: bool = False
    ) -> None:
        self.is_lean = (
            is_lean and file.may_answer and sum(max(one.size, 0) for s in stores.values() for one in s.look()) > _LARGE
        )
        self.file, self.meaning, self.is_brief = file, file.meaning, is_brief or self.is_lean
        file.read_by(stores)
        self._stores = stores
        self._mutex = threading.RLock()
        self._made: tuple[Index, list[object]] | None = None  # the warm index, and what keeps it up to date
        self._asked = False
        for scope, store in stores.items():
            store.before_write = partial(file.watch, scope)

    def search(self, text: str, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool]) -> Ranking:
        """Return the best *limit* of the allowed memories.

        Raises:
            NotIndexed: it is lean, and there are no rows yet.
            StoreUnreadable, OutsideTree
        """
        how: dict[str, Any] = {"limit": limit, "allow": allow, "is_mine": is_mine}
        with self._mutex:
            is_cold, self._asked = (self.is_brief or not self._asked) and self._warm is None and not self.is_lean, True
        if is_cold and (found := self.file.ask_cold(lambda cold: cold.search(text, **how), makes=True)) is not None:
            return found
        self.refresh()
        return self.index.search(text, **how)

    def nominate(self, text: str, *, limit: int, allow: Allow) -> Ranking | None:
        """Return what is most like *text*, which is about to be written: the caller may hold a store's lock.

        None: call `prepare` first, without the lock, for it takes the locks of all stores.

        Raises:
            StoreUnreadable, OutsideTree
        """
        how: dict[str, Any] = {"limit": limit, "allow": allow, "is_mine": lambda _: False, "weighed": 0}
        if (index := self._warm) is not None:
            return index.search(text, **how)
        return self.file.ask_cold(lambda cold: cold.search(text, **how), is_locked=True)

    def find_sharing(self, terms: Iterable[int], share: float, *, limit: int, allow: Allow) -> list[Record]:
        """Return what `Index.find_sharing` does: what is most like a record by its words alone, no model is asked.

        Raises:
            NotIndexed, StoreUnreadable, OutsideTree
        """

        def look(index: Index | Cold) -> list[Record]:
            return index.find_sharing(terms, share, limit=limit, allow=allow)

        found = self.file.ask_cold(look, makes=not self.is_lean) if self._warm is None else None
        return look(self.index) if found is None else found

    def prepare(self) -> None:
        """Have an index that `nominate` can ask.

        Raises:
            StoreUnreadable, OutsideTree
        """
        if not self.is_brief or self.file.ask(bool, makes=True) is None:
            _ = self.index

    def refresh(self) -> None:
        """Take in what changed in the stores; the index follows them."""
        for store in self._stores.values():
            store.refresh()

    @property
    def index(self) -> Index:
        """The warm index, from the rows where those still fit, kept up to date by the stores.

        Raises:
            NotIndexed: it is lean, and there are no rows yet.
            StoreUnreadable, OutsideTree
        """
        with self._mutex:
            return self._warm or self._load(is_lean=self.is_lean)

    def _load(self, *, is_lean: bool) -> Index:
        index, held = self.file.load(is_lean=is_lean)
        for scope in self._stores:
            self.file.follow(scope, partial(self._apply, index, scope), held[scope])
        self._made = index, [store.followers.listener for store in self._stores.values()]
        return index

    @property
    def _warm(self) -> Index | None:
        """The index, unless an update of it was cut off, or a store tells another one."""
        index, listeners = self._made or (None, [None])
        is_told = None not in listeners and listeners == [store.followers.listener for store in self._stores.values()]
        return index if is_told else None

    def _apply(self, index: Index, scope: Scope, changes: Sequence[Change]) -> None:
        is_done = False
        try:
            is_done = index.apply(scope, changes)
        finally:
            if not is_done:  # or Ctrl-C: an index that is half up to date must not be told of any store's changes
                for store in self._stores.values():
                    store.followers.let_go()

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any memory answers *text* with a confidence of *floor*; True in doubt."""
        return self._warm is not None or self.file.can_reach(text, floor)

    def rebuild(self) -> int:
        """Make the index from the files, whatever its rows say, and return how many memories it has."""
        with self._mutex:
            self.file.drop()
            self._made = None
            return len(self._load(is_lean=False))

    def find_problems(self) -> Iterator[tuple[Path, tuple[int, int, str]]]:
        """Yield each file with lines that were left out: how many, and the number and the problem of the first."""
        for scope, store in self._stores.items():
            # A store that was not read is known by what the rows say of it.
            first = store.first_problem() if store.stamp is not None else self.file.problems.get(scope)
            if first:
                yield store.place.memories, tuple(first)

    def tell_problems(self) -> list[str]:
        """Return in a sentence for each file what `find_problems` yields."""
        return [
            f"{count(bad, 'line')} of {path} cannot be used (line {number}: {why}); `memsync doctor` shows them"
            for path, (bad, number, why) in self.find_problems()
        ]

    def save(self) -> None:
        """Have the rows as the stores are now.

        Raises:
            StoreUnreadable, OutsideTree
        """
        is_read = any(store.stamp is not None for store in self._stores.values())
        if is_read:
            self.file.save(self._warm, makes=not self.is_lean)
        self.file.close()
