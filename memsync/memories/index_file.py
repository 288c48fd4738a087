"""The database of the index: kept beside the stores, and brought up to date with their files when somebody asks.

It is derived: where it is missing, damaged, of another version, locked or not to be written, the files answer.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from memsync.errors import ConfigError, MemsyncError, NotIndexed, StoreError
from memsync.format import codec
from memsync.format.codec import Line
from memsync.index.database import VERSION, Database, Row
from memsync.index.embed import Meaning
from memsync.index.embedders import choose
from memsync.index.scale import LEXICON
from memsync.records import SCOPES, Change, Memory, Scope
from memsync.store import database, files
from memsync.store.reading import NOWHERE, Reading, Stamps
from memsync.system.digests import sha256
from memsync.system.logs import Log
from memsync.system.programs import collector_paused

if TYPE_CHECKING:
    from memsync.index.cold import Cold
    from memsync.index.core import Index
    from memsync.index.database import KnownLine
    from memsync.index.rank import Record
    from memsync.store.places import Layout, Place
    from memsync.store.settings import Settings

T = TypeVar("T")
log = Log(__name__)

NAME: Final = "index.db"  # below the local files of a store
MOST: Final = 128  # changes that are taken in one by one; of more, making all anew is quicker
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


class _Seen(NamedTuple):
    """What a store has at one moment: the line of each id, or of each that is new, the stamps of its files, the first problem in them, and which ids changed."""

    lines: Mapping[str, Line]
    stamps: Stamps
    problem: tuple[int, int, str] | None
    told: frozenset[str]


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
        self.is_made_anew = False  # of all memories, because there were no rows to begin with
        self._readings, self._place, self._stop_words = readings, place, stop_words
        name = self.meaning.id if self.meaning else ""
        self._kind = {"version": VERSION, "lexicon": LEXICON, "stop_words": stop_words, "embedder": name}
        self._mutex = threading.RLock()
        self._kept: tuple[sqlite3.Connection, int] | None = None
        self._is_open = False  # for a transaction
        self._shut_until = 0.0  # by the clock of the process, because others held it
        self._cold: tuple[object, Cold] | None = None  # what answers, and of which state of the rows
        self._watches: dict[Scope, _Watch] = {}

    def ask(self, work: Callable[[Database], T], *, is_locked: bool = False, makes: bool = False) -> T | None:
        """Return what *work* makes of rows that fit the files as they are now; None where there are none.

        Where that *makes* them, the rows are made of all memories, if bringing them up to date would take as long.

        Raises:
            StoreError: a file of memories is out of bounds.
        """
        if not self.may_answer or not self._mutex.acquire(blocking=not is_locked):
            return None
        try:
            with self._opened() as rows:
                if rows and (
                    self._begin(rows) or (not is_locked and self._bring_up(rows, makes=makes) and self._begin(rows))
                ):
                    return work(rows)
            return None
        finally:
            self._mutex.release()

    def ask_cold(self, work: Callable[[Cold], T], *, is_locked: bool = False, makes: bool = False) -> T | None:
        """Return what *work* makes of what answers queries by the rows, as `ask` does."""
        return self.ask(lambda rows: work(self._make_cold(rows)), is_locked=is_locked, makes=makes)

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
            log.info("no index at %s: %s", self.path, error)
            if isinstance(error, sqlite3.Error):
                self._give_up(error)
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
            self._give_up(error)
        except BaseException:
            self.close()
            raise
        finally:
            self._is_open = False

    def _give_up(self, error: Exception) -> None:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_HELD):
            self._shut_until = monotonic() + _PAUSE
        if name.startswith(_IN_THE_WAY):
            self.close()
        else:
            self.drop()  # damaged, or forged: it is made anew

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
                    return self._read_known(rows, scope) if rows and self._is_ours(rows.read_meta()) else {}
                return {}
            finally:
                self._mutex.release()

        return read

    def _read_known(self, rows: Database, scope: Scope) -> Mapping[bytes, Line]:
        return make_known(rows.read_lines(scope))

    def _bring_up(self, rows: Database, *, makes: bool) -> bool:
        """Have *rows* as the files are: change by change, or where that *makes* them all anew; tell whether they are."""
        rows.ask("BEGIN IMMEDIATE")
        if not (is_done := self._catch_up(rows)) and makes:
            self._fill(rows)
            is_done = True
        rows.ask("COMMIT" if is_done else "ROLLBACK")
        return is_done

    def _catch_up(self, rows: Database) -> bool:
        """Take in what the files say now, one change after the other; False where all must be made anew."""
        meta, now = rows.read_meta(), self._look()
        if not self._is_ours(meta) or meta["stamps"].keys() != now.keys():
            return False
        self._calibrate(meta)
        return all(self._follow(rows, scope) for scope in now if meta["stamps"][scope] != now[scope])

    def _follow(self, rows: Database, scope: Scope) -> bool:
        """Take in what the file of *scope* says now; False if that is too much."""
        from memsync.index.tokens import Tokenizer  # a list and a hook before a tool ask the rows for no words

        was = rows.read_meta()["stamps"][scope]
        with self._readings[scope].held():
            if self._is_told(scope, was):
                seen = self._see(scope)
                came, gone = [id_ for id_ in seen.told if id_ in seen.lines], rows.find_slots(scope, seen.told)
            elif found := self._compare(rows, scope):
                seen, gone = found
                came = [*seen.lines]
            else:
                known = rows.read_lines(scope)
                seen = self._see(scope, partial(make_known, known))
                old = dict(map(itemgetter(0, 2), known))
                new = {id_: line.raw for id_, line in seen.lines.items() if line.is_record}
                if not self._is_at_home(scope):
                    new = {id_: self._keep(scope, raw) for id_, raw in new.items()}
                came = [id_ for id_, raw in new.items() if raw != old.get(id_)]
                gone = [one[1] for one in known if new.get(one[0]) != one[2]]
        if len(came) + len(gone) > MOST:
            return False
        rows.remove(gone)
        made = [row for id_ in came if (row := self._make_row(scope, seen.lines[id_]))]
        rows.add(made, Tokenizer(stop_words=self._stop_words), self.meaning)
        self._write_meta(rows, {scope: seen})
        return True

    def _compare(self, rows: Database, scope: Scope) -> tuple[_Seen, list[int]] | None:
        """Return the lines that no row has, and the slots whose lines are gone, of a file that nobody has read.

        None where it must be read: where not each line, by itself, is a record with an id of its own and nothing to say of.
        """
        reading = self._readings[scope]
        if reading.stamp is not None or not self._is_at_home(scope) or (slots := rows.read_plain(scope)) is None:
            return None
        if (found := reading.compare(slots)) is None:
            return None
        lines, stamps = found
        gone = [*slots.values()]
        new = {line.id: line for line in lines if line.is_record and not line.problem and line.id}
        if len(new) < len(lines) or not set(gone).issuperset(rows.find_slots(scope, new)):
            return None
        return _Seen(new, stamps, None, frozenset()), gone

    def _is_told(self, scope: Scope, was: Any) -> bool:
        """Tell whether we are told of each change since the stamps of *scope* were these."""
        watch = self._watches.get(scope)
        is_told = watch and self._readings[scope].followers.listener is watch.listener
        return bool(watch and is_told and as_lists(watch.since) == was)

    def _see(self, scope: Scope, known: Callable[[], Mapping[bytes, Line]] | None = None) -> _Seen:
        """Return what the store of *scope* has now, with what we were told of until now, and note from now on what changes."""
        reading, told = self._readings[scope], frozenset[str]()
        with reading.held():
            reading.refresh(known)
            stamps = reading.stamp or NOWHERE
            if watch := self._watches.get(scope):
                told = frozenset(watch.ids)
                watch.ids.clear()
                self._watches[scope] = watch._replace(since=stamps)
            return _Seen(reading.current_lines(), stamps, reading.first_problem(), told)

    def _write_meta(self, rows: Database, seen: Mapping[Scope, _Seen]) -> None:
        """Say from which files the rows of these stores are now, and which of their lines have problems."""
        meta = rows.read_meta()
        stamps = {**meta.get("stamps", {}), **{scope: as_lists(one.stamps) for scope, one in seen.items()}}
        problems = {**meta.get("problems", {}), **{scope: one.problem for scope, one in seen.items()}}
        rows.write_meta({"stamps": stamps, "problems": problems})
        self._cold = None

    def _fill(self, rows: Database, index: Index | None = None) -> dict[Scope, _Seen]:
        """Make the rows of all memories, and return what they were; no text that has a vector, in *index* or else in the rows, is embedded again."""
        from memsync.index.bulk import fill, list_vectors, read_vectors
        from memsync.index.tokens import Tokenizer

        is_ours = self._is_ours(rows.read_meta())
        self.is_made_anew |= not is_ours
        seen = {scope: self._see(scope) for scope in self._readings}
        made = [row for scope in seen for line in seen[scope].lines.values() if (row := self._make_row(scope, line))]
        with collector_paused():
            known = list_vectors(index) if index is not None else read_vectors(rows) if is_ours else {}
            fill(rows, made, Tokenizer(stop_words=self._stop_words), self.meaning, known)
        rows.write_meta({**self._kind, "unrelated": self.meaning.unrelated if self.meaning else None})
        self._write_meta(rows, seen)
        return seen

    def save(self, index: Index | None, *, makes: bool = True) -> None:
        """Have the rows as the files are, where there are rows or an *index* that was made of them; all anew if that *makes* them."""
        with self._mutex, self._opened() as rows:
            if rows is None or (index is None and not self._is_ours(rows.read_meta())):
                return
            if index is None or self.may_answer or rows.count_vectors() == index.made:
                self._bring_up(rows, makes=makes)
                return
            rows.ask("BEGIN IMMEDIATE")
            self._fill(rows, index)  # which has what would have to be asked for again
            rows.ask("COMMIT")

    def load(self, *, is_lean: bool = False) -> tuple[Index, Mapping[Scope, Mapping[str, Memory]]]:
        """Return a warm index of what the files say, by way of the rows, and the memories that it has.

        One process makes the rows, while others wait; one that `is_lean` has to have them, and holds a third less.

        Raises:
            NotIndexed: there are no rows for one that is lean.
            StoreError: a file of memories is out of bounds.
        """
        with self._mutex:
            with self._opened() as rows:
                if rows and (self._begin(rows) or (self._bring_up(rows, makes=not is_lean) and self._begin(rows))):
                    seen = {scope: self._see(scope, partial(self._read_known, rows, scope)) for scope in self._readings}
                    if rows.read_meta()["stamps"] == {scope: as_lists(one.stamps) for scope, one in seen.items()}:
                        return self._load(rows, seen, is_lean=is_lean)
            if is_lean:
                raise NotIndexed
            rows = Database(sqlite3.connect(":memory:"))
            return self._load(rows, self._fill(rows))

    def _load(
        self, rows: Database, seen: Mapping[Scope, _Seen], *, is_lean: bool = False
    ) -> tuple[Index, dict[Scope, dict[str, Memory]]]:
        from memsync.index.bulk import load_arrays
        from memsync.index.core import Index

        self._calibrate(rows.read_meta())
        with collector_paused():
            arrays = load_arrays(rows, has_vectors=self.meaning is not None, is_lean=is_lean)
            held = {s: {id_: line.memory for id_, line in one.lines.items() if line.memory} for s, one in seen.items()}
            order = rows.ask("SELECT scope, id FROM record ORDER BY slot")
            records = [(scope := SCOPES[number], held[scope][id_]) for number, id_ in order]
            return Index(records, arrays, self.meaning, stop_words=self._stop_words), held

    def _make_row(self, scope: Scope, line: Line) -> Row | None:
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
                "bytes": rows.count_bytes() if rows and meta else 0,
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
