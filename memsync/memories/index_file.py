"""The database of the index: kept beside the stores, and brought up to date with their files when somebody asks.

It is derived: where it is missing, damaged, of another version, locked or not to be written, the files answer.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from memsync.errors import ConfigError, MemsyncError, StoreError
from memsync.format import codec
from memsync.format.codec import Line
from memsync.index.database import VERSION, Database, Row
from memsync.index.embed import Meaning
from memsync.index.embedders import choose
from memsync.index.scale import LEXICON
from memsync.index.tokens import Tokenizer
from memsync.records import Change, Memory, Scope
from memsync.store import database, files
from memsync.store.reading import NOWHERE, Reading, Stamps
from memsync.system.digests import sha256
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.index.cold import Cold
    from memsync.index.core import Arrays, Index
    from memsync.index.database import KnownLine
    from memsync.index.rank import Record
    from memsync.store.places import Layout, Place
    from memsync.store.settings import Settings

T = TypeVar("T")
log = Log(__name__)

NAME: Final = "index.db"  # below the local files of a store
MOST: Final = 128  # changes that are taken in one by one; of more, making all anew is quicker
_NO_LINE: Final = Line(b"")
_BUILT: Final = frozenset({"builtin", "none"})  # the embedders without which nothing but the database is needed
# What SQLite says of a database that may well be sound: others hold it, or the disk is full or read-only.
_IN_THE_WAY: Final = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_READONLY",
    "SQLITE_FULL",
    "SQLITE_CANTOPEN",
    "SQLITE_PERM",
)
_HELD: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_PAUSE: Final = 30.0  # seconds for which the files answer after that, or each question of a command would wait as long
_PATIENCE: Final = 5.0  # seconds that one waits for another who makes the index; a hook's own clock is shorter


class _Watch(NamedTuple):
    """What changed in a store since the rows were as it was: its stamps then, and the ids that *listener* was told of."""

    since: Stamps
    ids: set[str]
    listener: Callable[[Sequence[Change]], None]


class IndexFile:
    """The rows of the memories that *readings* have, in the local files of *place*.

    Threads may share it. Who holds the lock of a store asks with `is_locked`, and gets nothing where others must be waited for.

    Raises:
        ConfigError: there is no such embedder.
    """

    def __init__(
        self, readings: Mapping[Scope, Reading], place: Place | None, *, embedder: str, stop_words: bool
    ) -> None:
        try:
            self.meaning: Meaning | None = choose(embedder)
        except ValueError as error:
            raise ConfigError(f"memory.embedder: {error}") from None
        self.path = place.local / NAME if place else None
        self.may_answer = embedder in _BUILT
        self.problems: Mapping[str, Any] = {}  # the first one of each store, as the rows that were asked last have it
        self._readings, self._place, self._stop_words = readings, place, stop_words
        name = self.meaning.id if self.meaning else ""
        self._kind = {"version": VERSION, "lexicon": LEXICON, "stop_words": stop_words, "embedder": name}
        self._mutex = threading.RLock()
        self._kept: tuple[sqlite3.Connection, int] | None = None
        self._is_open = False  # for a transaction
        self._shut_until = 0.0  # by the clock of the process, because others held it
        self._cold: tuple[object, Cold] | None = None  # what answers, and of which state of the rows
        self._watches: dict[Scope, _Watch] = {}

    def ask(self, work: Callable[[Database], T], *, is_locked: bool = False) -> T | None:
        """Return what *work* makes of rows that fit the files as they are now; None where there are none.

        Raises:
            StoreError: a file of memories is out of bounds.
        """
        if not self.may_answer or not self._mutex.acquire(blocking=not is_locked):
            return None
        try:
            with self._opened() as rows:
                if rows and (self._begin(rows) or (not is_locked and self._catch_up(rows) and self._begin(rows))):
                    return work(rows)
            return None
        finally:
            self._mutex.release()

    def ask_cold(self, work: Callable[[Cold], T], *, is_locked: bool = False) -> T | None:
        """Return what *work* makes of what answers queries by the rows, as `ask` does."""
        return self.ask(lambda rows: work(self._make_cold(rows)), is_locked=is_locked)

    def can_reach(self, text: str, floor: float) -> bool:
        """Tell whether any memory answers *text* with a confidence of *floor*; True in doubt.

        Raises:
            StoreError
        """
        return self.ask_cold(lambda cold: cold.can_reach(text, floor)) is not False

    def _make_cold(self, rows: Database) -> Cold:
        from memsync.index.cold import Cold

        state = self._kept, rows.ask("PRAGMA data_version").fetchone()
        if self._cold is None or self._cold[0] != state:
            self._calibrate(rows.read_meta())
            self._cold = state, Cold(rows, partial(self.read_record, rows), self.meaning, stop_words=self._stop_words)
        return self._cold[1]

    def _calibrate(self, meta: Mapping[str, Any]) -> None:
        if self.meaning:
            self.meaning.calibrate(meta["unrelated"])

    def _begin(self, rows: Database) -> bool:
        """Begin to read rows that fit the files; False where they do not."""
        rows.ask("BEGIN")
        meta = rows.read_meta()
        if not self._fits(meta):
            rows.ask("ROLLBACK")
            return False
        self.problems = meta["problems"]
        return True

    def _fits(self, meta: Mapping[str, Any]) -> bool:
        return self._is_ours(meta) and meta["stamps"] == self._look()

    def _is_ours(self, meta: Mapping[str, Any]) -> bool:
        return all(meta.get(name) == value for name, value in self._kind.items())

    def _look(self) -> dict[Scope, Any]:
        return {scope: as_lists(reading.look()) for scope, reading in self._readings.items()}

    @contextmanager
    def _opened(self) -> Iterator[Database | None]:
        """Open the database for one transaction; None where it cannot be had, or within another one.

        Whatever is wrong with it, the files have it right.
        """
        try:
            connection = None if self._is_open or monotonic() < self._shut_until else self._connect()
        except (sqlite3.Error, StoreError, OSError) as error:
            self._pause_if_held(error)
            log.info("no index at %s: %s", self.path, error)
            connection = None
        if connection is None:
            yield None
            return
        self._is_open = True
        try:
            yield Database(connection)
            connection.commit()
        except MemsyncError:
            with suppress(sqlite3.Error):
                connection.rollback()
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the files have it right
            log.info("the index was not used: %s", error)
            self._pause_if_held(error)
            if getattr(error, "sqlite_errorname", "").startswith(_IN_THE_WAY):
                self.close()
            else:
                self.drop()  # damaged, or forged: it is made anew
        except BaseException:
            self.close()
            raise
        finally:
            self._is_open = False

    def _pause_if_held(self, error: Exception) -> None:
        if getattr(error, "sqlite_errorname", "").startswith(_HELD):
            self._shut_until = monotonic() + _PAUSE

    def _connect(self) -> sqlite3.Connection | None:
        if self._place is None or self.path is None:
            return None
        if self._kept and files.stamp(self.path).inode != self._kept[1]:
            self.close()
        if self._kept is None:
            files.prepare(self._place)
            self._kept = database.connect(self.path, wait=_PATIENCE)
            self._kept[0].isolation_level = None
            self._kept[0].execute("PRAGMA secure_delete = ON")  # or words of what was purged stay in free pages
        return self._kept[0]

    def close(self) -> None:
        """Hold no file open."""
        with self._mutex:
            self._cold = None
            if self._kept:
                self._kept[0].close()
                self._kept = None

    def drop(self) -> None:
        """Remove the database; it is made anew when somebody asks."""
        with self._mutex:
            self.close()
            if self.path:
                database.remove(self.path)

    def read_by(self, readings: Mapping[Scope, Reading]) -> None:
        """Have the files read by *readings* from now on."""
        self._readings = readings

    def watch(self, scope: Scope) -> None:
        """Note from now on which memories of *scope* change, so that `save` need not look for them: its lock is held, and it was read."""
        reading = self._readings[scope]
        if reading.followers.listener is None:
            ids: set[str] = set()
            note = partial(_note, ids, _ignore)
            reading.followers.listener = note
            self._watches[scope] = _Watch(reading.stamp or NOWHERE, ids, note)

    def follow(self, scope: Scope, listener: Callable[[Sequence[Change]], object], since: Mapping[str, Memory]) -> None:
        """Do what `watch` does, and tell *listener* what changed *since* and what changes."""
        ids: set[str] = set()
        note = partial(_note, ids, listener)
        with self._readings[scope].held():  # or what a thread writes before the ids are cleared is in no row
            self._watches[scope] = _Watch(self._readings[scope].follow(note, since), ids, note)
            ids.clear()

    def known_of(self, scope: Scope) -> Callable[[], Mapping[bytes, Line]]:
        """Return what reads the lines of *scope* that the rows know, by their bytes; none where others must be waited for."""

        def read() -> Mapping[bytes, Line]:
            if not self._mutex.acquire(blocking=False):
                return {}
            try:
                with self._opened() as rows:
                    return make_known(rows.read_lines(scope)) if rows and self._is_ours(rows.read_meta()) else {}
                return {}
            finally:
                self._mutex.release()

        return read

    def _catch_up(self, rows: Database) -> bool:
        """Take in what the files say now, one change after the other; False where all must be made anew."""
        rows.ask("BEGIN IMMEDIATE")
        meta, now = rows.read_meta(), self._look()
        is_done = self._is_ours(meta) and meta["stamps"].keys() == now.keys()
        if is_done:
            self._calibrate(meta)
            changed = [scope for scope in now if meta["stamps"][scope] != now[scope]]
            is_done = all(self._follow(rows, scope) for scope in changed)
        rows.ask("COMMIT" if is_done else "ROLLBACK")
        return is_done

    def _follow(self, rows: Database, scope: Scope) -> bool:
        """Take in what the file of *scope* says now; False if that is too much."""
        reading, meta = self._readings[scope], rows.read_meta()
        with reading.held():
            if (ids := self._list_changed(scope, meta["stamps"][scope])) is None:
                known = rows.read_lines(scope)
                reading.refresh(partial(make_known, known))
                lines = reading.current_lines()
                old = {id_: raw for id_, _, raw, *_ in known}
                new = {id_: self._keep(scope, line.raw) for id_, line in lines.items() if line.is_record}
                came = [id_ for id_, raw in new.items() if raw != old.get(id_)]
                gone = [slot for id_, slot, raw, *_ in known if new.get(id_) != raw]
            else:
                reading.refresh()
                lines = reading.current_lines()
                came, gone = [id_ for id_ in ids if id_ in lines], rows.find_slots(scope, ids)
            if len(came) + len(gone) > MOST:
                return False
            rows.remove(gone)
            made = [row for id_ in came if (row := self._make_row(scope, lines[id_]))]
            rows.add(made, Tokenizer(stop_words=self._stop_words), self.meaning)
            self._write_meta(rows, meta, [scope])
        return True

    def _list_changed(self, scope: Scope, was: Any) -> set[str] | None:
        """Return the ids of what changed since the stamps of *scope* were these; None if nobody was told."""
        watch = self._watches.get(scope)
        is_told = watch and self._readings[scope].followers.listener is watch.listener
        return watch.ids if watch and is_told and as_lists(watch.since) == was else None

    def _write_meta(self, rows: Database, meta: Mapping[str, Any], scopes: Iterable[Scope]) -> None:
        """Say from which files the rows of *scopes* are now, and which of their lines have problems."""
        stamps, problems = dict(meta.get("stamps", {})), dict(meta.get("problems", {}))
        for scope in scopes:
            reading = self._readings[scope]
            stamps[scope], problems[scope] = as_lists(reading.stamp or NOWHERE), reading.first_problem()
            if watch := self._watches.get(scope):
                watch.ids.clear()
                self._watches[scope] = watch._replace(since=reading.stamp or NOWHERE)
        rows.write_meta({"stamps": stamps, "problems": problems})
        self._cold = None

    def save(self, index: Index | None) -> bool:
        """Take in what was written here since; False where all must be made anew: of *index*, or of what there was."""
        with self._mutex, self._opened() as rows:
            if rows is None:
                return True
            if not self._is_ours(rows.read_meta()):
                return index is None
            has_other_vectors = index is not None and not self.may_answer and rows.count_vectors() != index.made
            return not has_other_vectors and self._catch_up(rows)
        return True

    def make(self, start: Callable[[Callable[[], Arrays | None]], Index]) -> Index:
        """Return the index that *start* makes, which may load the arrays that the rows have, and have the rows as it is.

        One process makes them, while others wait.

        Raises:
            StoreError: a file of memories is out of bounds.
        """
        made: Index | None = None
        with self._mutex:
            with self._opened() as rows:
                if rows:
                    # Who only loads them holds up nobody.
                    rows.ask("BEGIN" if self._fits(rows.read_meta()) else "BEGIN IMMEDIATE")
                    meta = rows.read_meta()
                    made = start(partial(self._load, rows, meta))
                    self._fill(rows, made, meta)
            return made or start(_load_nothing)

    def _load(self, rows: Database, meta: Mapping[str, Any]) -> Arrays | None:
        """Return the arrays of the rows, as far as they can be used: vectors, if nothing else."""
        if not self._is_ours(meta):
            return None
        from memsync.index.bulk import load_arrays

        self._calibrate(meta)
        return load_arrays(rows, has_vectors=self.meaning is not None)

    def _fill(self, rows: Database, index: Index, meta: Mapping[str, Any]) -> None:
        """Have the rows as *index* and the readings are, unless they fit already, or a thread has written meanwhile."""
        from memsync.index.bulk import split_arrays

        with ExitStack() as stack:
            for reading in self._readings.values():
                stack.enter_context(reading.held())
            records, arrays = index.snapshot()
            lines = {scope: reading.current_lines() for scope, reading in self._readings.items()}
            live = sum(line.is_record for found in lines.values() for line in found.values())
            found = ((scope, lines[scope].get(memory.id, _NO_LINE)) for scope, memory in records)
            made = [row for scope, line in found if (row := self._make_row(scope, line))]
            is_same = len(made) == live and all(
                row.memory == record[1] for row, record in zip(made, records, strict=True)
            )
            if is_same and (not self._fits(meta) or rows.count_vectors() != index.made):
                rows.fill(split_arrays(made, arrays))
                rows.write_meta({**self._kind, "unrelated": self.meaning.unrelated if self.meaning else None})
                self._write_meta(rows, {}, self._readings)

    def _make_row(self, scope: Scope, line: Line) -> Row | None:
        """Return the row of a *line*; None if it is no record."""
        memory = line.memory
        is_known = self._is_at_home(scope) and not line.problem and not line.nameless
        return Row(scope, memory, self._keep(scope, line.raw), is_known) if memory else None

    def _keep(self, scope: Scope, raw: bytes) -> bytes:
        """Return what a row keeps of a line: beside another store than its own only what tells it from others."""
        return raw if self._is_at_home(scope) else sha256(raw).digest()

    def _is_at_home(self, scope: Scope) -> bool:
        return self._place is not None and self._place.scope == scope

    def read_record(self, rows: Database, slot: int) -> Record | None:
        """Return the record of *slot*: of its row, or by its store where the row is not beside that."""
        if (found := rows.read_line(slot)) is None:
            return None
        scope, id_, raw = found
        if self._is_at_home(scope):
            memory = codec.decode(raw).memory
        else:
            self._readings[scope].refresh()
            memory = self._readings[scope].get(id_)
        return (scope, memory) if memory else None

    def describe(self) -> dict[str, Any]:
        """Return where the database is, how many memories it has, and whether they fit the files."""
        with self._mutex, self._opened() as rows:
            meta = rows.read_meta() if rows else {}
            return {
                "path": str(self.path) if self.path else None,
                "memories": rows.count() if rows and meta else 0,
                "bytes": self.path.stat().st_size if meta and self.path else 0,
                "fresh": self._fits(meta),
                "embedder": self._kind["embedder"] or "none",
                "vectors": bool(meta and self.meaning),
                "degraded": self.meaning.failed if self.meaning else "",
            }
        return {}


def _note(ids: set[str], listener: Callable[[Sequence[Change]], object], changes: Sequence[Change]) -> None:
    ids.update(change.id for change in changes)
    listener(changes)


def _ignore(_: Sequence[Change]) -> None: ...


def _load_nothing() -> None: ...


def open_index(layout: Layout, settings: Settings) -> IndexFile:
    """Return the index of the stores in *layout*, for who has opened none.

    Raises:
        ConfigError: there is no such embedder.
    """
    readings = {place.scope: Reading(place) for place in layout.places}
    place = find_place(layout, stealth=settings.stealth)
    return IndexFile(readings, place, embedder=settings.embedder, stop_words=settings.stop_words)


def find_place(layout: Layout, *, stealth: bool) -> Place | None:
    """Return where the index is kept: in the first store that has a directory, and never in the work tree under *stealth*."""
    return next((p for p in layout.places if p.directory.is_dir() and (p.private or not stealth)), None)


def as_lists(stamps: Stamps) -> list[list[int]]:
    """Return *stamps* as they come out of JSON."""
    return [list(stamp) for stamp in stamps]


def make_known(lines: Sequence[KnownLine]) -> dict[bytes, Line]:
    """Return those of *lines*, by their bytes, that are records of which nothing is to be said, to be read late."""
    plain = [one for one in lines if one[-1]]
    if not plain:
        return {}
    ids, _, raws, forms, replaces, _ = zip(*plain, strict=True)
    return dict(zip(raws, codec.make_late(raws, ids, forms, replaces), strict=True))
