"""Local state in SQLite: use of memories, sessions, dedup decisions, tokens spent. Disposable: losing it loses no memory.

Every failure of the database is logged and otherwise ignored; a corrupt file
is replaced by an empty one.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast, get_args

from memsync.errors import StoreError
from memsync.records import format_time, parse_time, utc_now
from memsync.store import database
from memsync.store.files import ABSENT, Stamp, make_local, prepare, stamp
from memsync.system.limits import read_object
from memsync.system.logs import Log

if TYPE_CHECKING:
    import sqlite3

    from memsync.store.places import Place

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS usage (
    id TEXT PRIMARY KEY, access_count INTEGER NOT NULL DEFAULT 0, last_accessed_at TEXT);
CREATE TABLE IF NOT EXISTS known (id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS screened (
    rules TEXT NOT NULL, flaw TEXT NOT NULL, marks BLOB NOT NULL, PRIMARY KEY (rules, flaw));
CREATE TABLE IF NOT EXISTS session_memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, memory_id TEXT NOT NULL,
    action TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE (session_id, memory_id, action));
CREATE TABLE IF NOT EXISTS workflow_state (
    session_id TEXT PRIMARY KEY, variables TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS idx_session_memories_session ON session_memories (session_id);
CREATE INDEX IF NOT EXISTS idx_session_memories_memory ON session_memories (memory_id);
CREATE TABLE IF NOT EXISTS dedup_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, new_text TEXT NOT NULL,
    existing_id TEXT NOT NULL, existing_text TEXT NOT NULL, similarity REAL, decision TEXT NOT NULL,
    reasoning TEXT NOT NULL, review_status TEXT NOT NULL DEFAULT 'unreviewed', owner TEXT, rejected BLOB);
CREATE INDEX IF NOT EXISTS idx_dedup_log_status ON dedup_log (review_status, decision);
CREATE TABLE IF NOT EXISTS skill_outcomes (
    id TEXT PRIMARY KEY, successes INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS llm_spent (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL);
"""

# What one state takes over from another that is attached as `other`: all of it, or of some ids.
ABSORB_USE: Final = (
    """INSERT INTO main.usage SELECT * FROM other.usage
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))
    ON CONFLICT (id) DO UPDATE SET access_count = max(access_count, excluded.access_count),
    last_accessed_at = max(last_accessed_at, excluded.last_accessed_at)""",
    """INSERT INTO main.skill_outcomes SELECT * FROM other.skill_outcomes
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))
    ON CONFLICT (id) DO UPDATE SET successes = max(successes, excluded.successes),
    failures = max(failures, excluded.failures)""",
    """INSERT OR REPLACE INTO main.known (id, fingerprint) SELECT id, fingerprint FROM other.known
    WHERE :ids IS NULL OR id IN (SELECT value FROM json_each(:ids))""",
    """INSERT OR IGNORE INTO main.session_memories (session_id, memory_id, action, created_at)
    SELECT session_id, memory_id, action, created_at FROM other.session_memories
    WHERE :ids IS NULL OR memory_id IN (SELECT value FROM json_each(:ids)) ORDER BY id""",
)
ABSORB_REST: Final = (
    "INSERT OR IGNORE INTO main.screened SELECT * FROM other.screened",
    """INSERT INTO main.workflow_state SELECT * FROM other.workflow_state WHERE true
    ON CONFLICT (session_id) DO UPDATE SET variables = excluded.variables, updated_at = excluded.updated_at
    WHERE excluded.updated_at > updated_at""",
    """INSERT INTO main.dedup_log
    (created_at, new_text, existing_id, existing_text, similarity, decision, reasoning, owner, rejected, review_status)
    SELECT created_at, new_text, existing_id, existing_text, similarity, decision, reasoning, owner, rejected,
    review_status FROM other.dedup_log WHERE (created_at, new_text, existing_id, decision)
    NOT IN (SELECT created_at, new_text, existing_id, decision FROM main.dedup_log) ORDER BY id""",
)
HAND_BACK: Final = (
    """UPDATE main.dedup_log SET review_status = o.review_status FROM other.dedup_log o
    WHERE o.review_status != 'unreviewed' AND (o.created_at, o.new_text, o.existing_id, o.decision)
    = (dedup_log.created_at, dedup_log.new_text, dedup_log.existing_id, dedup_log.decision)""",
    """DELETE FROM other.dedup_log WHERE (created_at, new_text, existing_id, decision)
    IN (SELECT created_at, new_text, existing_id, decision FROM main.dedup_log)""",
)

# What is taken out with memories that are purged: their use, and each decision or session that has a text of theirs.
PURGE: Final = (
    "DELETE FROM usage WHERE id IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM known WHERE id IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM session_memories WHERE memory_id IN (SELECT value FROM json_each(:ids))",
    """DELETE FROM dedup_log WHERE existing_id IN (SELECT value FROM json_each(:ids))
    OR new_text IN (SELECT value FROM json_each(:texts)) OR existing_text IN (SELECT value FROM json_each(:texts))
    OR EXISTS (SELECT 1 FROM json_each(:ids) WHERE instr(rejected, CAST(value AS BLOB)))""",
    "DELETE FROM workflow_state WHERE EXISTS (SELECT 1 FROM json_each(:texts) WHERE instr(variables, value))",
)


log = Log(__name__)

Action = Literal["injected", "shown", "created", "accessed", "updated", "heeded", "ignored", "contradicted"]
OUTCOMES: Final = ("heeded", "ignored", "contradicted")  # of what a session was given
_VERDICTS: Final = (
    "SELECT memory_id, action, created_at FROM session_memories"
    " WHERE action IN ('heeded', 'ignored', 'contradicted') ORDER BY id"
)
_FORGET_VERDICTS: Final = (
    "DELETE FROM session_memories WHERE memory_id = ?1 AND session_id = coalesce(?2, session_id)"
    " AND action IN ('heeded', 'ignored', 'contradicted')"
)

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
# A rejection of the very same text holds nothing to bring back, and agents repeat themselves.
_PRUNE: Final = (
    "DELETE FROM dedup_log WHERE decision = 'hash_exact' AND rejected IS NULL"
    " AND id <= (SELECT max(id) FROM dedup_log) - ?"
)
_COPIES: Final = 1_000
MARK: Final = 16  # bytes; those of one flaw lie in one piece, which is read in a third of the time of rows
_SCREENED: Final = "SELECT marks, flaw FROM screened WHERE rules = ?"
_VARIABLES: Final = "SELECT variables FROM workflow_state WHERE session_id = ?"
_DEDUP_COLUMNS: Final = (
    "created_at, new_text, existing_id, existing_text, similarity, decision, reasoning, owner, rejected, review_status"
)


KEPT_DAYS: Final = 60


class Usage(NamedTuple):
    """How often a memory was recalled, and when last."""

    access_count: int
    last_accessed_at: datetime | None


class Outcomes(NamedTuple):
    """How often working by a skill went well, and how often not; at least one of them."""

    successes: int
    failures: int


Decision = Literal[
    "hash_exact", "auto_reject", "subsumed", "llm_reject", "llm_keep", "fallback_reject", "fallback_keep"
]
ReviewStatus = Literal["unreviewed", "confirmed", "reversed"]
DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)
DECISION_ALIASES: Final[Mapping[str, Decision]] = {
    "haiku_reject": "llm_reject",
    "haiku_keep": "llm_keep",
}  # of older logs


class Dedup(NamedTuple):
    """One row of the dedup log.

    `rejected` is the line of the record that was not kept, new or old, as `codec.encode`
    spells it: what a reversal brings back. None: both texts are kept.
    `number` and `review_status` are given by the log.
    """

    created_at: datetime
    new_text: str
    existing_id: str
    existing_text: str
    similarity: float | None
    decision: Decision
    reasoning: str = ""
    owner: str | None = None
    rejected: bytes | None = None
    review_status: ReviewStatus = "unreviewed"
    number: int = 0


class SessionUse(NamedTuple):
    """What happened to a memory in an agent session, and when."""

    session_id: str
    action: Action
    at: datetime | None


class State:
    """The state.db of one store. Each call opens, does its work and closes, so processes never wait long.

    With `is_brief` the process ends or rests soon, and one connection serves all calls until `close`, one at a time.
    """

    is_brief = False

    def __init__(self, path: Path, *, private: bool, place: Place | None = None) -> None:
        self.path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._private = private
        self._place = place
        self._kept: sqlite3.Connection | None = None
        self._inode = 0  # of the file that was opened last
        self._read: dict[tuple[str, tuple[str, ...]], tuple[tuple[Stamp, Stamp], Mapping[Any, Any]]] = {}

    def usage(self) -> Mapping[str, Usage]:
        """Return the use of every memory that was ever used."""
        return self._mapping("SELECT id, access_count, last_accessed_at FROM usage", _usage_of)

    def known(self) -> Mapping[str, str]:
        """Return which memories were written or shown on this machine, and as what: ids, and fingerprints of what they said."""
        return self._mapping("SELECT id, fingerprint FROM known", dict)

    def screened(self, rules: str) -> Mapping[bytes, str]:
        """Return the marks of what was found by *rules* to hold no secret, and why it reads like an order, or ""."""
        return self._mapping(_SCREENED, _Flaws, (rules,))

    def record_screened(self, rules: str, flaws: Mapping[bytes, str]) -> None:
        """Note by its mark what was found by *rules*, and forget what was found by others."""
        with self._database() as db:
            if db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("DELETE FROM screened WHERE rules != ?", (rules,))
                held = {flaw: _Flaws([(marks, flaw)]) for marks, flaw in db.execute(_SCREENED, (rules,))}
                for flaw in dict.fromkeys(flaws.values()):
                    every = {*held.get(flaw, ()), *(mark for mark, why in flaws.items() if why == flaw)}
                    row = (rules, flaw, b"".join(sorted(every)))
                    db.execute("INSERT OR REPLACE INTO screened VALUES (?, ?, ?)", row)

    def _mapping(
        self, query: str, make: Callable[..., Mapping[Any, Any]], values: tuple[str, ...] = ()
    ) -> Mapping[Any, Any]:
        """Return what *make* makes of the rows of *query*; read again only if the database changed."""
        stamps = (seen := stamp(self.path), ABSENT if seen is ABSENT else stamp(self._wal))
        found = self._read.get((query, values))
        if found is None or found[0] != stamps:
            found = self._read[query, values] = stamps, make(self._select(query, values))
        return found[1]

    def _select(self, query: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of *query*; none where there is no database yet, which reading does not make."""
        rows: list[tuple[Any, ...]] = []
        if self.path.exists():
            with self._database() as db:
                rows += db.execute(query, values) if db else ()
        return rows

    def _write(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Do *query* for each of *rows* in one transaction; without any, nothing is opened."""
        if rows:
            with self._database() as db:
                if db:
                    db.executemany(query, rows)

    def record_use(self, uses: Iterable[tuple[str, datetime]], known: Mapping[str, str] = _NONE) -> None:
        """Count one more use for each id and time of *uses*, and note the fingerprints that are *known* from now on."""
        rows = [(id_, format_time(now)) for id_, now in uses]
        if not rows and not known:
            return
        with self._database() as db:
            if db:
                db.executemany(
                    "INSERT INTO usage VALUES (?, 1, ?) ON CONFLICT (id) DO UPDATE SET"
                    " access_count = access_count + 1,"
                    " last_accessed_at = max(last_accessed_at, excluded.last_accessed_at)",
                    rows,
                )
                db.executemany("INSERT OR REPLACE INTO known (id, fingerprint) VALUES (?, ?)", list(known.items()))

    def outcomes(self) -> Mapping[str, Outcomes]:
        """Return the outcomes of every skill that has any."""
        rows = self._select("SELECT id, successes, failures FROM skill_outcomes")
        return {id_: Outcomes(*counts) for id_, *counts in rows}

    def record_outcome(self, id_: str, *, success: bool) -> None:
        """Count one more outcome of a skill."""
        column = "successes" if success else "failures"
        self._write(
            f"INSERT INTO skill_outcomes (id, {column}) VALUES (?, 1)"  # noqa: S608 - one of two names
            f" ON CONFLICT (id) DO UPDATE SET {column} = {column} + 1",
            [[id_]],
        )

    def record_session(self, session_id: str, rows: Iterable[tuple[str, Action, datetime]]) -> None:
        """Note what happened in the session: id, action and time; a second time changes nothing."""
        self._write(
            "INSERT OR IGNORE INTO session_memories (session_id, memory_id, action, created_at) VALUES (?, ?, ?, ?)",
            [(session_id, id_, action, format_time(now)) for id_, action, now in rows],
        )

    def record_verdict(self, session_id: str, memory_id: str, verdict: str, now: datetime) -> None:
        """Note what became of a memory that the session was given, in place of what was noted before; only OUTCOMES are counted."""
        self._write(_FORGET_VERDICTS, [(memory_id, session_id)])
        if verdict in OUTCOMES:
            self.record_session(session_id, [(memory_id, cast("Action", verdict), now)])

    def verdicts(self) -> Mapping[str, list[tuple[str, str]]]:
        """Return of each memory that sessions heeded or not each outcome and its time, oldest first."""
        return self._mapping(_VERDICTS, _verdicts_of)

    def forget_verdicts(self, memory_id: str) -> None:
        """Count the outcomes of a memory anew."""
        self._write(_FORGET_VERDICTS, [(memory_id, None)])

    def session(self, session_id: str, action: Action) -> list[str]:
        """Return the ids to which *action* happened in the session, oldest first."""
        query = "SELECT memory_id FROM session_memories WHERE session_id = ? AND action = ? ORDER BY id"
        return [id_ for (id_,) in self._select(query, (session_id, action))]

    def last_given(self) -> list[tuple[str, str]]:
        """Return each memory that a session was given unasked, and when that was last."""
        query = "SELECT memory_id, max(created_at) FROM session_memories WHERE action = 'injected' GROUP BY memory_id"
        return self._select(query)

    def uses_of(self, id_: str) -> list[SessionUse]:
        """Return in which sessions something happened to a memory, the latest first."""
        query = (
            "SELECT session_id, action, created_at FROM session_memories WHERE memory_id = ? ORDER BY id DESC LIMIT 50"
        )
        return [SessionUse(session, action, parse_time(at)) for session, action, at in self._select(query, (id_,))]

    def session_uses(self) -> list[tuple[str, str, str, str]]:
        """Return session, memory, action and time of everything that happened in sessions, oldest first."""
        return self._select("SELECT session_id, memory_id, action, created_at FROM session_memories ORDER BY id")

    def log_dedup(self, rows: Iterable[Dedup]) -> list[int]:
        """Append decisions to the dedup log and return their numbers; 0 for each that could not be written."""
        numbers: list[int] = []
        rows = list(rows)
        if not rows:
            return numbers
        with self._database() as db:
            for row in rows if db else ():
                assert db is not None
                query = f"INSERT INTO dedup_log ({_DEDUP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
                done = db.execute(query, (format_time(row.created_at), *row[1:10]))
                numbers.append(done.lastrowid or 0)
            if db and any(row.decision == "hash_exact" for row in rows):
                db.execute(_PRUNE, (_COPIES,))
        return numbers + [0] * (len(rows) - len(numbers))

    def dedup_log(self) -> list[Dedup]:
        """Return every row of the dedup log, the latest first."""
        rows = self._select(f"SELECT {_DEDUP_COLUMNS}, id FROM dedup_log ORDER BY id DESC")  # noqa: S608
        return [Dedup(parse_time(row[0]) or utc_now(), *row[1:]) for row in rows]

    def set_reviewed(self, numbers: Iterable[int], status: ReviewStatus) -> None:
        """Set the review status of rows of the dedup log."""
        rows = [(status, number) for number in numbers]
        self._write("UPDATE dedup_log SET review_status = ? WHERE id = ?", rows)

    def purge(self, ids: Collection[str], texts: Collection[str]) -> None:
        """Drop what is about the memories *ids* or holds one of *texts*, so that no byte of it stays in the files."""
        if not self.path.exists():
            return
        with self._database() as db:
            if db:
                db.execute("PRAGMA secure_delete = ON")
                values = {"ids": json.dumps([*ids]), "texts": json.dumps([*texts])}
                for query in PURGE:
                    db.execute(query, {name: value for name, value in values.items() if f":{name}" in query})
                db.commit()
                db.execute("VACUUM")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def absorb(self, other: State) -> None:
        """Take over what *other* knows; a second time changes nothing."""
        self._take_from(other, (*ABSORB_USE, *ABSORB_REST), None)

    def hand_back(self, to: State, ids: Collection[str]) -> None:
        """Give the use of *ids* to the state that this one absorbed, and drop the decisions that it has itself."""
        to._take_from(self, (*ABSORB_USE, *HAND_BACK), json.dumps(sorted(ids)))

    def _take_from(self, other: State, queries: Sequence[str], ids: str | None) -> None:
        if not other.path.exists():
            return
        with other._database():
            pass  # brings it to our schema, or begins it anew
        with self._database() as db:
            if db:
                db.execute("ATTACH DATABASE ? AS other", (str(other.path),))
                for query in queries:
                    db.execute(query, {"ids": ids} if ":ids" in query else {})

    def spend(self, day: str, tokens: int) -> int:
        """Add *tokens* (less than 0 gives back) to what LLMs used on *day*, and return the sum.

        Without a database only this call counts.
        """
        query = (
            "INSERT INTO llm_spent VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET"
            " tokens = max(tokens + excluded.tokens, 0) RETURNING tokens"
        )
        total = tokens
        with self._database() as db:
            if db:
                (total,) = db.execute(query, (day, tokens)).fetchone()
        return total

    def variables(self, session_id: str) -> dict[str, Any]:
        """Return the workflow variables of the session; none if it has none."""
        return _read_variables(self._select(_VARIABLES, (session_id,)))

    def sessions(self, most: int) -> list[tuple[str, dict[str, Any], str]]:
        """Return id, variables and time of the sessions that were touched last, the latest first."""
        query = "SELECT session_id, variables, updated_at FROM workflow_state ORDER BY updated_at DESC LIMIT ?"
        return [(id_, _read_variables([(text,)]), at) for id_, text, at in self._select(query, (most,))]

    def change_variables(
        self, session_id: str, now: datetime, change: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> bool:
        """Replace the session's variables by what *change* makes of them, in one transaction.

        Returns whether anything was written: None from *change* leaves them alone. Sessions
        that nobody touched for KEPT_DAYS are forgotten.
        """
        with self._database() as db:
            if db is None:
                return False
            db.execute("BEGIN IMMEDIATE")
            new = change(_read_variables(db.execute(_VARIABLES, (session_id,)).fetchall()))
            if new is None:
                return False
            text = json.dumps(new, ensure_ascii=False)
            db.execute("INSERT OR REPLACE INTO workflow_state VALUES (?, ?, ?)", (session_id, text, format_time(now)))
            old = format_time(now - timedelta(days=KEPT_DAYS))
            db.execute("DELETE FROM workflow_state WHERE updated_at < ?", (old,))
            return True
        return False

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection | None]:
        import sqlite3

        try:
            db = self._take_kept() or self._open()
        except (sqlite3.Error, StoreError, OSError) as error:
            log.info("no local state in %s: %s", self.path, error)
            yield None
            return
        try:
            with db:
                yield db
        except (sqlite3.OperationalError, UnicodeEncodeError) as error:  # half a character, as JSON can spell it
            log.info("local state in %s was not used: %s", self.path, error)
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)
        else:
            if self.is_brief and self._kept is None:
                self._kept = db
        finally:
            if self._kept is not db:
                db.close()

    def _take_kept(self) -> sqlite3.Connection | None:
        """Return the connection that was kept, unless somebody has put another file in the place of its own."""
        if self._kept and stamp(self.path).inode != self._inode:
            self.close()
        db, self._kept = self._kept, None
        return db

    def close(self) -> None:
        """Close what a brief process has kept open."""
        if self._kept:
            self._kept.close()
            self._kept = None

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        if self._place:
            prepare(self._place)
        else:
            make_local(self.path.parent, private=self._private)
        try:
            return self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)
            return self._connect()

    def _begin_anew(self, error: Exception) -> None:
        log.warning("%s is damaged (%s) and was started afresh; no memory is lost", self.path, error)
        database.remove(self.path)

    def _connect(self) -> sqlite3.Connection:
        db, self._inode = database.connect(self.path, wait=2.0)
        try:
            db.executescript(SCHEMA)
        except BaseException:
            db.close()
            raise
        return db


def _usage_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, Usage]:
    return {id_: Usage(count, _parse(last)) for id_, count, last in rows}


def _verdicts_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for id_, verdict, at in rows:
        found.setdefault(id_, []).append((verdict, at))
    return found


class _Flaws(Mapping[bytes, str]):
    """The flaw of each mark, by rows of sorted marks: a dict of 100,000 takes ten times as much room, and the time of a hook to make."""

    def __init__(self, rows: Sequence[tuple[bytes, str]]) -> None:
        self._rows = rows

    def __getitem__(self, mark: bytes) -> str:
        for marks, flaw in self._rows:
            at = bisect_left(range(len(marks) // MARK), mark, key=partial(_cut, marks))
            if _cut(marks, at) == mark:
                return flaw
        raise KeyError(mark)

    def __iter__(self) -> Iterator[bytes]:
        return (_cut(marks, at) for marks, _ in self._rows for at in range(len(marks) // MARK))

    def __len__(self) -> int:
        return sum(len(marks) // MARK for marks, _ in self._rows)


def _cut(marks: bytes, at: int) -> bytes:
    return marks[MARK * at : MARK * at + MARK]


_parse: Final = lru_cache(maxsize=16_384)(parse_time)  # after each use all of them are read again


def _read_variables(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    return read_object(str(rows[0][0])) if rows else {}
