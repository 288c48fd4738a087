"""Connections to the database of a hub: who asks, and what a failure means. Knows no tables but those of the schema."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self

from memsync.errors import HubError, NotInstalled, Remedy, UsageError
from memsync.hub import config
from memsync.hub.embedded import Embedded
from memsync.hub.schema import INDEXES, READER, SCHEMA, STEPS, VECTORS
from memsync.records import format_time

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

log = logging.getLogger(__name__)

_WRITING: Final = 0x6D656D73  # of the advisory lock that one writer at a time holds
_PATIENCE: Final = 30.0
NEAREST: Final = 100  # vectors that the graph is asked for at once


class Database:
    """A pool of connections to the hub at *dsn*. Each block is one transaction: all of it happens, or nothing.

    Where it cannot be reached, *start* is called before that is believed.
    """

    def __init__(
        self, dsn: str, *, most: int = 16, patience: float = _PATIENCE, start: Callable[[], object] | None = None
    ) -> None:
        from psycopg import Connection
        from psycopg_pool import ConnectionPool

        self.dsn = dsn
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # whoever asks is told in our words
        self._kind = _starting(start) if start else Connection
        self._pool: ConnectionPool[Any] = ConnectionPool(
            dsn,
            connection_class=self._kind,
            min_size=0,
            max_size=most,
            open=True,
            timeout=patience,
            kwargs={"connect_timeout": 10},
            configure=_configure,
            check=_check,
            reconnect_timeout=patience,  # else it would go on with longer and longer pauses, and refuse who asks when all is well again
        )

    def answers(self, seconds: int = 2) -> bool:
        """Tell whether the database answers within *seconds*, by a connection of its own: the pool may be waiting."""
        import psycopg

        try:
            with self._kind.connect(self.dsn, connect_timeout=seconds, autocommit=True) as connection:
                connection.execute(f"set statement_timeout = {1000 * seconds}")
                connection.execute(f"select 1 from {SCHEMA}.meta limit 1")
        except psycopg.Error:
            return False
        return True

    def close(self) -> None:
        """Close every connection."""
        self._pool.close(timeout=2)

    @contextmanager
    def writing(self) -> Iterator[Connection[Any]]:
        """Give a connection as the hub's owner, in one transaction.

        Raises:
            HubError: the database is not there, is lost in between, or refuses.
        """
        with _explaining(), self._pool.connection() as connection:
            yield connection

    @contextmanager
    def writing_each(self) -> Iterator[Connection[Any]]:
        """Do what `writing` does, where each statement is a transaction of its own.

        Raises:
            HubError
        """
        with self.writing() as connection:
            connection.autocommit = True
            try:
                yield connection
            finally:
                if not connection.closed:
                    connection.autocommit = False

    @contextmanager
    def writing_alone(self, *, unless: Callable[[Connection[Any]], bool] | None = None) -> Iterator[Connection[Any]]:
        """Do what `writing` does while nobody else writes memories: two syncs at once do their repositories in turn.

        Beside others who do so, where *unless* says that this is the time for it.

        Raises:
            HubError
        """
        with self.writing() as connection:
            if unless is not None:
                connection.execute("select pg_advisory_xact_lock_shared(%s)", [_WRITING])
                if unless(connection):
                    yield connection
                    return
                connection.rollback()  # gives the shared lock back: two who both wait for more would wait for ever
            connection.execute("select pg_advisory_xact_lock(%s)", [_WRITING])
            yield connection

    @contextmanager
    def reading(self, principal: int) -> Iterator[Connection[Any]]:
        """Give a connection on which only what *principal* may read is there.

        Raises:
            HubError
        """
        with self.writing() as connection:
            set_locally(
                connection, {"memsync.principal": str(principal), "transaction_read_only": "on", "role": READER}
            )
            yield connection


def set_locally(connection: Connection[Any], values: Mapping[str, str]) -> None:
    """Set these parameters of the database for the transaction, in one question to it."""
    calls = ", ".join(f"set_config('{name}', %({name})s, true)" for name in values)
    connection.execute(f"select {calls}".encode(), values)


def _starting(start: Callable[[], object]) -> type[Connection[Any]]:
    """Return connections that *start* the server once where it does not answer: an embedded one ends when nobody asks."""
    from psycopg import Connection, OperationalError

    class Started(Connection[Any]):
        @classmethod
        def connect(cls, *words: Any, **options: Any) -> Self:
            try:
                return super().connect(*words, **options)
            except OperationalError:
                start()
                return super().connect(*words, **options)

    return Started


def _check(connection: Connection[Any]) -> None:
    """Raise where the server has closed *connection*, without a question to it: first comes what it said, then its end."""
    for _ in range(2):
        connection.pgconn.consume_input()


def _configure(connection: Connection[Any]) -> None:
    # What is asked often is parsed once. A plan that is kept would not know the list of repositories, and go through all of it for every row.
    connection.execute(f"set search_path = {SCHEMA}, public; set plan_cache_mode = force_custom_plan")
    connection.execute(f"set hnsw.iterative_scan = strict_order; set hnsw.ef_search = {NEAREST}")  # pgvector's graph
    connection.commit()


@contextmanager
def _explaining() -> Iterator[None]:
    import psycopg
    from psycopg_pool import PoolTimeout

    try:
        yield
    except PoolTimeout:
        raise HubError("the hub's database is not reached; is it running, and may it be reached from here?") from None
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
        raise HubError(
            "this database has no hub, or one of another version; ",
            Remedy("hub init"),
            " makes it or brings it up to date",
        ) from None
    except psycopg.errors.DiskFull as error:
        raise HubError(f"the hub's disk is full ({_first_line(error)}); free some space, then sync again") from None
    except psycopg.OperationalError as error:
        raise HubError(f"the hub's database does not answer ({_first_line(error)}); nothing was changed") from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise HubError(f"the hub's database refuses this ({_first_line(error)})") from None
    except psycopg.ProgrammingError as error:
        if error.sqlstate:
            raise
        raise HubError("this is not the address of a database; write it as postgresql://USER@HOST/NAME") from None


def as_dicts(names: str, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return *rows* by the *names* of their columns, times as memsync spells them."""
    return [
        {
            name: format_time(value) if isinstance(value, datetime) else value
            for name, value in zip(names.split(), row, strict=True)
        }
        for row in rows
    ]


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def open_database(settings: config.Settings, *, patience: float = _PATIENCE) -> Database:
    """Return the database of the hub, started where it is embedded; for a connection whoever asks waits *patience* seconds.

    Raises:
        HubError, NotInstalled
    """
    if settings.server:
        raise HubError("this needs the hub's database, and yours is reached over its server; ask whoever runs it")
    require_driver()
    if settings.dsn:
        return Database(settings.dsn, patience=patience)
    embedded = Embedded(config.find_directory())
    return Database(embedded.ensure(), start=embedded.ensure)


def require_driver(extra: str = "hub") -> None:
    """Do nothing unless what speaks with PostgreSQL, and comes with *extra*, is missing.

    Raises:
        NotInstalled
    """
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise NotInstalled("the hub", "psycopg", extra)


def check_given(dsn: str) -> str:
    """Return *dsn*, which somebody has given.

    Raises:
        UsageError: it is empty, as where a variable of the shell is not set.
    """
    if not dsn.strip():
        raise UsageError(
            "the address of the database is empty; leave it out for MEMSYNC_HUB_DSN or a hub on this machine"
        )
    return dsn


def check_address(dsn: str) -> None:
    """Refuse what is not the address of a database; the message does not repeat what may be a password.

    Raises:
        UsageError
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(dsn)
    except ProgrammingError:
        raise UsageError(
            "this is not the address of a PostgreSQL; write it as postgresql://USER@HOST/DATABASE"
        ) from None


def migrate(dsn: str, *, dim: int, embedder: str) -> list[str]:
    """Bring the hub at *dsn* up to date and return what was done; doing it again does nothing.

    All in one transaction: what is interrupted has not happened.

    Raises:
        HubError
    """
    import psycopg

    with _explaining(), psycopg.connect(dsn, connect_timeout=10) as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", [_WRITING])
        _have_schema(connection)
        done = _have_steps(connection)
        done += _have_vectors(connection, dim, embedder)
        for name, statement in INDEXES.items() if done else ():
            if dim or not name.startswith("embedding"):
                connection.execute(statement)
        return done


def _have_schema(connection: Connection[Any]) -> None:
    import psycopg

    try:
        connection.execute("create extension if not exists vector")
    except psycopg.Error as error:
        raise HubError(
            f"this PostgreSQL has no pgvector ({_first_line(error)}); install it, or let an owner of the database create the extension vector"
        ) from None
    connection.execute(f"create schema if not exists {SCHEMA}")
    connection.execute(f"set local search_path = {SCHEMA}, public")
    if not connection.execute("select 1 from pg_roles where rolname = %s", [READER]).fetchone():
        connection.execute(f"create role {READER} nologin")
    connection.execute(f"grant {READER} to current_user")
    connection.execute("create table if not exists step (number int primary key)")


def _have_steps(connection: Connection[Any]) -> list[str]:
    known = {row[0] for row in connection.execute("select number from step")}
    if max(known, default=0) > len(STEPS):
        raise HubError("this database has a hub of a newer memsync; update memsync here as well")
    new = [(number, step) for number, step in enumerate(STEPS, 1) if number not in known]
    for number, step in new:
        connection.execute(step.encode())  # psycopg takes bytes for a text that nobody has composed
        connection.execute("insert into step values (%s)", [number])
    return [f"step {number} of the schema" for number, _ in new]


def _have_vectors(connection: Connection[Any], dim: int, embedder: str) -> list[str]:
    """Have a place for the vectors of *embedder*; those of another one go, and the next sync makes them anew."""
    found = connection.execute("select value from meta where key = 'embedder'").fetchone()
    if found and found[0] == embedder:
        return []
    connection.execute("drop table if exists embedding")
    if dim:
        connection.execute(VECTORS.format(dim=dim).encode())
    connection.execute(
        "insert into meta values ('embedder', %s) on conflict (key) do update set value = excluded.value", [embedder]
    )
    return [f"vectors by {embedder or 'none'}"]


def drop(dsn: str) -> None:
    """Remove the hub at *dsn* from its database; what else is there stays.

    Raises:
        HubError
    """
    import psycopg

    with _explaining(), psycopg.connect(dsn, connect_timeout=10) as connection:
        connection.execute(f"drop schema if exists {SCHEMA} cascade")
