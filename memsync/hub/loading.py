"""The first load of many repositories: by several processes, and with counts, words and indexes made once, at the end.

Until then the hub answers nobody, and whoever syncs next ends a load that was cut off.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from memsync.errors import HubError, Remedy
from memsync.hub import ingest
from memsync.hub.database import Database
from memsync.hub.schema import INDEXES
from memsync.index.embed import Meaning
from memsync.index.embedders import choose
from memsync.system import programs

if TYPE_CHECKING:
    from psycopg import Connection

LOADING: Final = "loading"  # what the hub notes during one
_NOTED: Final = "create table if not exists loaded_word (word text not null)"
_MANY: Final = 200  # repositories from which it pays
_PROCESSES: Final = 8
_SORTED: Final = "256MB"  # for counting terms and words
_GRAPH: Final = 1_500  # bytes of memory that a vector takes while the graph is built
_LEAST, _MOST = 256 << 20, 2 << 30  # bytes for that

P = ParamSpec("P")
T = TypeVar("T")


def is_loading(connection: Connection[Any]) -> bool:
    """Tell whether the hub is being loaded for the first time, and has neither indexes nor counts yet."""
    return connection.execute("select 1 from meta where key = %s", [LOADING]).fetchone() is not None


def begin(connection: Connection[Any], *, expected: int) -> bool:
    """Begin a first load, or go on with one; return whether this is one: a hub without records gets *expected* repositories.

    The caller's transaction holds the lock of writers.
    """
    if is_loading(connection):
        return True
    row = connection.execute("select exists (select from record)").fetchone()
    if expected < _MANY or (row and row[0]):
        return False
    connection.execute("insert into meta values (%s, '1')", [LOADING])
    connection.execute(_NOTED)
    for name in INDEXES:
        connection.execute(f"drop index if exists {name}".encode())
    return True


def end(database: Database, *, of_all: bool) -> None:
    """End a first load, also one that another process was killed in: count, learn the words, and build the indexes.

    A sync *of_all* is noted: what a webhook had synced says nothing of the others.

    Raises:
        HubError
    """
    with database.writing_alone() as connection:
        if is_loading(connection):
            connection.execute(_NOTED)
            # PostgreSQL empties a whole hash table for each part of it that did not fit, of which there may be thousands.
            connection.execute("set local enable_hashagg = off")
            connection.execute(f"set local work_mem = '{_SORTED}'".encode())
            ingest.recount(connection)
            ingest.learn_noted(connection)
            connection.execute("drop table loaded_word")
            build_indexes(connection)
            connection.execute("delete from meta where key = %s", [LOADING])
            connection.execute("analyze")
        connection.execute(
            "insert into meta select 'synced_at', to_char(now() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
            " where %s on conflict (key) do update set value = excluded.value",
            [of_all],
        )


def build_indexes(connection: Connection[Any]) -> None:
    """Build what is missing of the indexes, with the memory that the graph of all vectors needs, up to 2 GB."""
    has_vectors = connection.execute("select to_regclass('embedding')").fetchone() != (None,)
    row = connection.execute("select coalesce(sum(live), 0) from stats").fetchone()
    needed = min(max(int(row[0] if row else 0) * _GRAPH, _LEAST), _MOST)
    connection.execute(f"set local maintenance_work_mem = '{needed >> 10}kB'".encode())
    for name, statement in INDEXES.items():
        if has_vectors or not name.startswith("embedding"):
            connection.execute(statement.encode())


@contextmanager
def apart(
    database: Database, embedder: str
) -> Iterator[Callable[[Callable[Concatenate[Database, Meaning | None, ...], T]], Callable[..., T]]]:
    """Give what calls a function in one of several processes, each with a database and an *embedder* of its own.

    One Python screens and reads a thousand records a second, and PostgreSQL waits for it. In threads alone this would
    stay so.
    """
    with (
        programs.keep_safe_path(),
        ProcessPoolExecutor(
            max_workers=max(1, min(os.cpu_count() or 1, _PROCESSES)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open,
            initargs=(database.dsn, embedder),
        ) as processes,
    ):

        def bind(call: Callable[Concatenate[Database, Meaning | None, ...], T]) -> Callable[..., T]:
            def run(*values: Any) -> T:
                try:
                    return processes.submit(_run, call, values).result()
                except BrokenProcessPool:
                    raise HubError(
                        "a process of the load was ended from outside; ", Remedy("hub sync"), " goes on"
                    ) from None

            return run

        yield bind


_own: list[Any] = []


def _open(dsn: str, embedder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    _own[:] = [Database(dsn, most=1), choose(embedder)]


def _run(call: Callable[..., T], values: tuple[Any, ...]) -> T:
    database, meaning = _own
    return call(database, meaning, *values)
