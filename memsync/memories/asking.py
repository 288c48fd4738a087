"""Asking the cache of the index alone, by a process that ends soon: no store is opened for it, and no index made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from memsync.errors import ConfigError, StoreError
from memsync.index import cache, delta
from memsync.index.cache import Cached
from memsync.index.delta import Delta
from memsync.index.embed import Meaning, choose
from memsync.index.scale import LEXICON
from memsync.index.sound import is_sound
from memsync.records import SCOPES, Memory, Scope
from memsync.store import files
from memsync.system.logs import Log

if TYPE_CHECKING:
    from typing import TypeVar

    from memsync.index.heads import Heads
    from memsync.index.oneshot import OneShot
    from memsync.index.rank import Record
    from memsync.store.places import Layout, Place
    from memsync.store.reading import Stamps
    from memsync.store.settings import Settings

    T = TypeVar("T")
    Read = Callable[[int], Record | None]
    Files = tuple[BinaryIO | None, BinaryIO | None]

log = Log(__name__)

INDEX: Final = "index/index.bin"  # below the local files of a store
DELTA: Final = "delta.bin"
_HELD: Final = 1 << 24  # bytes of a cache that a process that stays holds: it would soon map them again
BUILT: Final = frozenset({"builtin", "none"})  # the embedders without which nothing but the cache is needed


class Held:
    """A cache and what changed since it was made, if anything did."""

    def __init__(self, cached: Cached, since: Delta | None) -> None:
        self.cached = cached
        self.delta = since or Delta(cached.about, cached.views["lines"], (), (), cached.views["sums"])
        self._asked: OneShot | None = None

    def ask(self, record: Read, meaning: Meaning | None, *, stop_words: bool) -> OneShot:
        """Return what answers queries by it, always the same; *record* reads the record of a slot from now on."""
        if self._asked is None:
            from memsync.index.oneshot import OneShot

            self._asked = OneShot(self.cached, meaning, stop_words=stop_words, delta=self.delta)
        self._asked.record = record
        return self._asked

    @cached_property
    def heads(self) -> Heads:
        """The heads of all records."""
        from memsync.index.heads import Heads

        return Heads(self.cached.views, self.delta)

    @property
    def about(self) -> Mapping[str, Any]:
        """From which files, with which problems, both together were made."""
        return self.delta.about


class CacheFile:
    """The file of a cache, with what changed since beside it; it is mapped when somebody asks, and again when they ask again, unless it `keeps` it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.keeps = False
        self._kept: tuple[object, Held | None] = None, None
        self._last: Cached | None = None  # that was loaded since the last rest

    def load(self, known: Cached | None = None) -> Held | None:
        """Return the cache, if its arrays can be those of an index; what is *known* is not mapped again."""
        if self._path is None:
            return None
        try:
            seen = files.stamp(self._path), files.stamp(self._path.with_name(DELTA))
        except OSError:
            return None  # its directory may not be read
        if self._kept[0] == seen:
            return self._kept[1]
        found = _map(self._path, known)
        self._kept = (seen, found) if self.keeps else (None, None)
        self._last = found.cached if found else self._last
        return found

    def put(self, held: Held, since: Delta | None, *, private: bool) -> Held:
        """Return the cache of *held* with what changed *since*, which is left beside it for the next one, where that can be done."""
        found = Held(held.cached, since)
        if self._path is not None:
            path = self._path.with_name(DELTA)
            try:
                delta.save(path, since, held.cached, private=private) if since else delta.drop(path)
                if since and cache.load(self._path, held.cached) is not held.cached:
                    delta.drop(path)  # a purge has removed the cache meanwhile, and what it removed is here
            except (OSError, StoreError) as error:
                log.info("what changed is not cached: %s", error)
            if self.keeps:
                self._kept = (files.stamp(self._path), files.stamp(path)), found
        return found

    def rest(self, known: Cached | None) -> None:
        """Have the pages that were read of what is *known*, and of what was loaded since, count as this process's memory no longer, if they are many."""
        for cached in filter(None, (known, self._last)):
            cached.let_go(_HELD)
        self._last = None

    def let_go(self) -> None:
        """Keep nothing any more."""
        self.keeps, self._kept = False, (None, None)


def _map(path: Path, known: Cached | None) -> Held | None:
    if (found := cache.load(path, known)) is None:
        return None
    try:
        is_whole = found is known or (is_sound(found.views, found.let_go) and _is_head_sound(found.about))
        return Held(found, delta.load(path.with_name(DELTA), found)) if is_whole else None
    except (LookupError, TypeError, ValueError):
        return None  # not of our making
    finally:
        found.let_go()


def _is_head_sound(about: Mapping[str, Any]) -> bool:
    """Tell whether what a cache says about itself can be ours."""
    return isinstance(about["stamps"], dict) and isinstance(about["unrelated"], float | int | None)


class CacheReader:
    """Answers by the cache of the memories at *places*, which is in the local files of *place*, as long as it was made from the files as they are now.

    Raises:
        ConfigError: there is no such embedder.
    """

    def __init__(self, places: Mapping[Scope, Place], place: Place | None, *, embedder: str, stop_words: bool) -> None:
        self._places, self._is_private = places, bool(place and place.private)
        self._spec = embedder
        self._stop_words = stop_words
        self.path = place.local / INDEX if place else None
        self.file = CacheFile(self.path)
        self.problems: Mapping[str, Any] = {}
        try:
            self.meaning: Meaning | None = choose(embedder)
        except ValueError as error:
            raise ConfigError(f"memory.embedder: {error}") from None

    @property
    def may_ask(self) -> bool:
        """Whether nothing but the cache is needed for an answer."""
        return self._spec in BUILT

    def describe_kind(self) -> dict[str, Any]:
        """Return what a cache made now would say of its kind."""
        return {"lexicon": LEXICON, "stop_words": self._stop_words, "embedder": self.meaning.id if self.meaning else ""}

    def is_made_alike(self, cached: Cached, *names: str) -> bool:
        """Tell whether *cached* was made as we would make it, in everything or in what *names* say."""
        kind = self.describe_kind()
        return all(cached.about.get(name) == kind[name] for name in names or kind)

    def with_cache(self, ask: Callable[[Held, Read], T], known: Cached | None = None) -> T | None:
        """Return what *ask* makes of the cache and of what reads the record of a slot; None if the cache does not fit the files.

        If little has changed, it is made to fit them.

        Raises:
            StoreError: a file of memories is out of bounds.
        """
        held = self.file.load(known) if self.may_ask else None
        if held is None or not self.is_made_alike(held.cached):
            return None
        try:
            opened: dict[Scope, Files] = {}
            try:
                stamps = {scope: as_lists(_open_files(place, scope, opened)) for scope, place in self._places.items()}
                if held.about["stamps"] != stamps and (held := self._catch_up(held, stamps)) is None:
                    return None
                self.problems = dict(held.about["problems"])
                return ask(held, partial(_read_record, held.delta.lines, opened))
            finally:
                for one in filter(None, (file for both in opened.values() for file in both)):
                    one.close()
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the cache, the files have it right
            log.info("the cached index is of no use: %s", error)
            return None

    def _catch_up(self, held: Held, stamps: Mapping[Scope, list[list[int]]]) -> Held | None:
        """Return the cache with what others have written since; None if an index has to be made."""
        from memsync.memories.catchup import Maker, catch_up

        fits_alone = held.cached.about["stamps"] == stamps  # what is beside it may be of another home
        since = None if fits_alone else catch_up(Maker(held, self.meaning, self._stop_words), stamps, self._places)
        return self.file.put(held, since, private=self._is_private) if since or fits_alone else None

    def open(self, held: Held, record: Read) -> OneShot:
        """Return what answers queries by *held*."""
        if self.meaning:
            self.meaning.calibrate(held.cached.about["unrelated"])
        return held.ask(record, self.meaning, stop_words=self._stop_words)

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any memory answers *text* with a confidence of *floor*; True in doubt.

        Raises:
            StoreError
        """
        return self.with_cache(lambda held, record: self.open(held, record).can_reach(text, floor)) is not False

    def count_current(self) -> int | None:
        """Return how many memories are not archived, of which none is read; None if the cache does not fit the files.

        Raises:
            StoreError
        """
        return self.with_cache(lambda held, _: held.heads.count_current())


def open_reader(layout: Layout, settings: Settings) -> CacheReader:
    """Return what answers by the cache of the stores in *layout*, mapped once, because the process ends soon.

    Raises:
        ConfigError: there is no such embedder.
    """
    place = find_cache_place(layout, stealth=settings.stealth)
    places = {place.scope: place for place in layout.places}
    reader = CacheReader(places, place, embedder=settings.embedder, stop_words=settings.stop_words)
    reader.file.keeps = True
    return reader


def find_cache_place(layout: Layout, *, stealth: bool) -> Place | None:
    """Return where the index is kept: in the first store that has a directory, and never in the work tree under *stealth*."""
    return next((p for p in layout.places if p.directory.is_dir() and (p.private or not stealth)), None)


def as_lists(stamps: Stamps) -> list[list[int]]:
    """Return *stamps* as they come out of JSON."""
    return [list(stamp) for stamp in stamps]


def _open_files(place: Place, scope: Scope, opened: dict[Scope, Files]) -> Stamps:
    """Put both files of *place* among the *opened*, the pending one first as a store does; return their stamps."""
    path = files.resolve_inside(place.memories, place.tree)
    held, held_stamp = files.open_stamped(place.pending)
    opened[scope] = None, held
    file, stamp = files.open_stamped(path)
    opened[scope] = file, held
    return stamp, held_stamp


def _read_record(lines: Any, opened: Mapping[Scope, Files], slot: int) -> tuple[Scope, Memory] | None:
    """Read the line of *slot* from its file, opened when the cache was found to fit it."""
    from memsync.format import codec

    number, start, end = lines[3 * slot : 3 * slot + 3]
    which, at = divmod(number, len(SCOPES))
    scope = SCOPES[at]
    file = opened[scope][which]
    if file is None:
        return None
    file.seek(start)
    memory = codec.decode(file.read(end - start)).memory
    return (scope, memory) if memory else None
