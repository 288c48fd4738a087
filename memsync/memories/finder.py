"""Searching all stores in reach: the warm index, its cache on disk, and the one-shot query.

The cache is derived and may be deleted at any time. It says which files, with
which stamps, it was made from; if one differs, only what changed is done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from memsync.errors import StoreError
from memsync.format.codec import Line
from memsync.index import cache, delta
from memsync.index.rank import Allow, Ranking
from memsync.memories.asking import DELTA, CacheReader, Held, as_lists
from memsync.memories.elsewhere import Elsewhere
from memsync.memories.known import (
    Known,
    Snapshot,
    describe_lines,
    find_delta,
    name_arrays,
    read_arrays,
    recognise,
    take_down,
)
from memsync.records import SCOPES, Change, Memory, Scope
from memsync.store import files
from memsync.store.lock import lock
from memsync.store.places import Place
from memsync.store.reading import NOWHERE, Stamps
from memsync.store.store import Store
from memsync.system.heap import collector_paused
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.index.core import Arrays, Index
    from memsync.index.rank import Record
    from memsync.store.table import Table

log = Log(__name__)
T = TypeVar("T")
Read = Callable[[int], "Record | None"]
Listener = Callable[[Sequence[Change]], None]

_PATIENCE: Final = 60.0  # seconds; a hook's own clock is shorter


class Finder:
    """Answers queries over *stores*. The first may be answered from the cache alone, without reading a store."""

    def __init__(
        self,
        stores: Mapping[Scope, Store],
        place: Place | None,
        *,
        embedder: str,
        stop_words: bool,
        reader: CacheReader | None = None,
    ) -> None:
        self._stores = stores
        self._place = place
        self._stop_words = stop_words
        places = {scope: store.place for scope, store in stores.items()}
        self.reader = reader or CacheReader(places, place, embedder=embedder, stop_words=stop_words)
        self.path, self.file, self.meaning = self.reader.path, self.reader.file, self.reader.meaning
        self._made: tuple[Index, list[Listener]] | None = None  # the last index, and what keeps it up to date
        self._asked = False
        self._mutex = RLock()
        self._saved = ""
        self._cached: cache.Cached | None = None  # whose arrays the index has
        self.elsewhere = Elsewhere()
        self._known: Known | None = None
        for scope, store in stores.items():
            store.before_write = partial(self.note, scope)
        self.is_made_anew = False  # of all memories, because there was no cache to begin with

    def search(self, text: str, *, limit: int, allow: Allow, is_mine: Callable[[Memory], bool]) -> Ranking:
        """Return the best *limit* of the allowed memories.

        Raises:
            StoreUnreadable, OutsideTree
        """
        how: dict[str, Any] = {"limit": limit, "allow": allow, "is_mine": is_mine}
        with self._mutex:
            is_first, self._asked = (self.file.keeps or not self._asked) and self._warm is None, True
        if is_first and (found := self._ask_once(text, how)) is not None:
            return found
        if is_first and not self._make_in_turn() and (found := self._ask_once(text, how)) is not None:
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
        return self._ask_once(text, how)

    def expect_write(self, store: Store) -> None:
        """Have *store* take its lines from the cache, where that fits, instead of reading all of them: it is about to be written."""
        if self._warm is None and self.reader.may_ask:
            self.file.keeps, store.recognise = True, partial(self._recognise, store)

    def _recognise(self, store: Store, stamp: files.Stamp, file: BinaryIO) -> list[Line] | Table | None:
        if self._warm is not None or (held := self.file.load(self._cached)) is None:
            return None
        if held.about["stamps"].get(store.place.scope) != as_lists((stamp, files.ABSENT)):
            with suppress(StoreError):
                held = self.with_cache(lambda found, _: found) or held  # which catches up with others
        return recognise(held, store, stamp, file)

    def note(self, scope: Scope) -> None:
        """Take down what the cache has of the store of *scope*, which is about to be written: the caller holds its lock.

        With that, `save` can say what came and went without an index.
        """
        if self._warm is not None or not self.reader.may_ask:
            return
        if self._known is None and self._is_fresh(held := self.file.load(self._cached)) and held:
            self._known = Known(held, {})
        if self._known:
            take_down(self._known, self._stores[scope])

    def prepare(self) -> None:
        """Have the warm index ready; the next writer saves it when its write is done.

        Raises:
            StoreUnreadable, OutsideTree
        """
        from contextlib import nullcontext

        with self._mutex:
            if self._warm is None:
                with nullcontext() if (known := self._load_arrays()) else self._turn():
                    self._make_index(known or self._load_arrays())
                    if self.is_made_anew:
                        self.save()

    def refresh(self) -> None:
        """Take in what changed in the stores; the index follows them."""
        for store in self._stores.values():
            store.refresh()

    @property
    def index(self) -> Index:
        """The warm index, from the cache where that still fits, kept up to date by the stores."""
        with self._mutex:
            if (index := self._warm) is None:
                self._wait_for_another()
                with self._turn():
                    index = self._make_index(self._load_arrays())
                    self.save()
            return index

    def rest(self) -> None:
        """Have a large index count as this process's memory no longer, until somebody asks again."""
        self.file.rest(self._cached)

    def _wait_for_another(self) -> None:
        """Have a large index made by a process of its own, where this one stays."""
        if self.path and self._is_for_another() and not self._is_fresh(self.file.load(self._cached)):
            self.elsewhere.wait_for(self.path)

    def _is_for_another(self) -> bool:
        return self.elsewhere.is_for(store.path for store in self._stores.values())

    def _make_in_turn(self) -> bool:
        """Have the warm index ready, unless another process has just saved one that fits the files; whether it is."""
        with self._mutex:
            self._wait_for_another()
        with self._mutex, self._turn():
            if self._warm is None and (not self.reader.may_ask or not self._is_fresh(self.file.load(self._cached))):
                self._make_index(self._load_arrays())
                self.save()
            return self._warm is not None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let one process make the index, while others wait for what it saves; nothing depends on it but time."""
        from contextlib import ExitStack

        with ExitStack() as stack:
            if self._place and self.path:
                with suppress(OSError, StoreError):
                    self.make_room(self._place, self.path)
                    stack.enter_context(lock(self.path.with_name("lock"), wait=_PATIENCE, is_told=False))
            stack.enter_context(collector_paused())
            yield

    @property
    def _warm(self) -> Index | None:
        """The index, unless an update of it was cut off, or a store tells another one."""
        index, listeners = self._made or (None, None)
        return index if [store.followers.listener for store in self._stores.values()] == listeners else None

    def _make_index(self, known: Arrays | None) -> Index:
        from memsync.index.core import Index

        self.refresh()
        self.is_made_anew = known is None
        held = {scope: store.memories() for scope, store in self._stores.items()}
        index = Index([], self.meaning, stop_words=self._stop_words)
        index.let_go = self.rest
        index.start([(scope, memory) for scope in held for memory in held[scope].values()], known)
        listeners: list[Listener] = [partial(self._apply, index, scope) for scope in self._stores]
        for listener, (scope, store) in zip(listeners, self._stores.items(), strict=True):
            store.follow(listener, held[scope])
        self._made = index, listeners
        return index

    def _apply(self, index: Index, scope: Scope, changes: Sequence[Change]) -> None:
        try:
            index.apply(scope, changes)
        except BaseException:  # Ctrl-C: an index that is half up to date must not be told of any store's changes
            for store in self._stores.values():
                store.followers.let_go()
            raise

    def rebuild(self) -> int:
        """Rebuild the index from the files, whatever the cache says, and return how many memories it has."""
        with self._mutex, self._turn():
            index = self._make_index(None)
            self._saved = ""
            self.save()
            return len(index)

    def status(self) -> dict[str, Any]:
        """Return where the cache is, whether it fits the files, and what finds by meaning."""
        held = self.file.load(self._cached)
        return {
            "path": str(self.path) if self.path else None,
            "memories": held.delta.live if held else 0,
            "bytes": self.path.stat().st_size if held and self.path else 0,
            "fresh": self._is_fresh(held),
            "embedder": self.reader.describe_kind()["embedder"] or "none",
            "vectors": bool(held and "vectors.numbers" in held.cached.views),
            "degraded": self.meaning.failed if self.meaning else "",
        }

    def find_problems(self) -> Iterator[tuple[Path, tuple[int, int, str]]]:
        """Yield each file with lines that were left out: how many, and the number and the problem of the first."""
        for scope, store in self._stores.items():
            # A store that was not read is known by what the cache says of it.
            first = store.first_problem() if store.stamp is not None else self.reader.problems.get(scope)
            if first:
                yield store.place.memories, first

    def save(self) -> None:
        """Write the cache, or what changed since, if it is not what was written or read last; where that fails, there is none."""
        if self.path is None or self._place is None:
            return
        if (index := self._warm) is None:
            self._save_changes(self._place)
            return
        now = {scope: store.stamp or NOWHERE for scope, store in self._stores.items()}
        wanted = self._describe(now)
        try:
            if wanted == self._saved:
                self._drop_delta(self.path.with_name(DELTA))
                return
            if self.elsewhere.may_save and self._is_for_another():
                self._save_elsewhere(index, wanted)
                return
            if (found := self._snapshot(index, now, wanted)) is not None:
                self._save_snapshot(index, found, self._place, self.path)
        except (OSError, StoreError) as error:
            log.info("the index is not cached: %s", error)

    def _save_snapshot(self, index: Index, found: Snapshot, place: Place, path: Path) -> None:
        self.make_room(place, path)
        cache.save(path, found.arrays, json.loads(found.header), private=place.private)
        self._saved = found.header
        if found.has_more(self._stores):
            self.drop()  # a purge may have removed the cache meanwhile, and what it removed is here
        elif self.elsewhere.start and self.elsewhere.may_save and (known := self._load_arrays()):  # we stay
            index.adopt(known)

    def drop(self) -> None:
        """Remove the cache, which holds the words of what went until it is made anew."""
        self._known, self._saved = None, ""
        self.file.let_go()
        if self.path:
            with suppress(OSError):
                delta.drop(self.path)
                delta.drop(self.path.with_name(DELTA))

    def _drop_delta(self, path: Path) -> None:
        """Remove a delta with which the cache does not fit, as it does without: it speaks of memories of another home."""
        if path.exists() and not self._is_fresh(self.file.load(self._cached)):
            delta.drop(path)

    def _save_elsewhere(self, index: Index, wanted: str) -> None:
        """Have another process save what changed, as *wanted*; at a later rest its arrays take the place of ours."""
        if not self.elsewhere.is_done or not self._is_fresh(held := self.file.load(self._cached)):
            self.elsewhere.save(wanted)
        elif known := self._load_arrays(held):
            index.adopt(known)

    def _save_changes(self, place: Place) -> None:
        known, self._known = self._known, None
        self.file.let_go()
        try:
            since = known and find_delta(known, self._stores, self.meaning, stop_words=self._stop_words)
            if known is None or since is None:
                return
            if len(since.dead) + len(since.late) > delta.MOST:
                _ = self.index  # made anew, and saved
            else:
                self.file.put(known.held, since, private=place.private)
        except (OSError, StoreError, LookupError) as error:
            log.info("what changed is not cached: %s", error)

    @staticmethod
    def make_room(place: Place, path: Path) -> None:
        """Make the directories of the cache."""
        files.prepare(place)
        files.make_dirs(path.parent, private=place.private)

    def _snapshot(self, index: Index, now: Mapping[Scope, Stamps], wanted: str) -> Snapshot | None:
        """Return a cache that is *wanted* of the stores as they are *now*; None if a write is under way."""
        records, arrays = index.snapshot()
        spans = {scope: store.spans() for scope, store in self._stores.items()}
        if len(records) != sum(len(found) for _, found in spans.values()):
            return None
        lines, raws = list[int](), list[bytes]()
        for scope, memory in records:
            span = spans[scope][1].get(memory.id)
            if span is None or ((found := span[3].memory) is not memory and found != memory):
                return None
            lines += [SCOPES.index(scope) + len(SCOPES) * span[0], *span[1:3]]
            raws.append(span[3].raw)
        sums, _ = delta.sum_lines(raw + b"\n" for raw in raws)
        stamps = {scope: stamp for scope, (stamp, _) in spans.items()}
        header = wanted if stamps == now else self._describe(stamps)
        return Snapshot(header, name_arrays(records, lines, sums, arrays), stamps, records)

    def _describe(self, stamps: Mapping[Scope, Stamps]) -> str:
        """Return the header of a cache made now, as JSON."""
        about = {
            **self.reader.describe_kind(),
            "unrelated": self.meaning.unrelated if self.meaning and not self.meaning.failed else None,
            "made": self._warm.made if self._warm else None,
            "stamps": stamps,
            **describe_lines(self._stores, self._stores),
        }
        return json.dumps(about, sort_keys=True)

    def _is_fresh(self, held: Held | None) -> bool:
        """Tell whether *held* was made as we would make it, and from the files as they are now."""
        stamps = {scope: as_lists(store.look()) for scope, store in self._stores.items()}
        return held is not None and self.reader.is_made_alike(held.cached) and held.about["stamps"] == stamps

    def _load_arrays(self, held: Held | None = None) -> Arrays | None:
        """Return the arrays of the cache, *held* or not, as far as they can be used: at least with the same terms."""
        held = held or self.file.load(self._cached)
        if held is None or not self.reader.is_made_alike(cached := held.cached, "lexicon", "stop_words"):
            return None
        has_vectors = self.reader.is_made_alike(cached, "embedder") and "vectors.numbers" in cached.views
        if has_vectors != (self.meaning is not None):
            return None
        if has_vectors and self.meaning:
            self.meaning.calibrate(cached.about["unrelated"])
        self._saved, self._cached = json.dumps(cached.about, sort_keys=True), cached
        return read_arrays(cached, has_vectors=has_vectors)

    def _ask_once(self, text: str, how: dict[str, Any]) -> Ranking | None:
        """Answer from the cache alone, if it was made from the files as they are now."""
        return self.with_cache(partial(self._ask_cached, text, how))

    def with_cache(self, ask: Callable[[Held, Read], T]) -> T | None:
        """Return what *ask* makes of the cache and of what reads the record of a slot; None if the cache does not fit the files."""
        return self.reader.with_cache(ask, self._cached)

    def _ask_cached(self, text: str, how: dict[str, Any], held: Held, record: Read) -> Ranking:
        return self.reader.open(held, record).search(text, **how)

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any memory answers *text* with a confidence of *floor*; True in doubt."""
        return self._warm is not None or self.reader.can_reach(text, floor)
