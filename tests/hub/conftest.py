"""One PostgreSQL for all tests of a session, embedded as users have it; a database for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filling import commit, require_server
from helpers import GitRepo

from memsync.hub import database
from memsync.hub.config import Settings
from memsync.hub.embedded import Embedded
from memsync.hub.hub import Hub, load_embedder

TEMPLATE = "hub_template"
NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Return the server that all workers share; the last of them removes it."""
    require_server()
    import fcntl

    shared = tmp_path_factory.getbasetemp()
    shared = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "hub-server"
    shared.mkdir(mode=0o700, exist_ok=True)
    with (shared / "users").open("w") as users, (shared / "making").open("w") as making:
        fcntl.flock(users, fcntl.LOCK_SH)
        server = Embedded(shared, idle=120)
        server.ensure()
        fcntl.flock(making, fcntl.LOCK_EX)
        _have_template(server)
        fcntl.flock(making, fcntl.LOCK_UN)
        yield server
        fcntl.flock(users, fcntl.LOCK_UN)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        server.remove()


def _have_template(server: Embedded) -> None:
    with server.connect("postgres") as connection:
        if connection.execute("select 1 from pg_database where datname = %s", [TEMPLATE]).fetchone():
            return
        connection.execute("alter system set fsync = off")
        connection.execute("select pg_reload_conf()")
        connection.execute(f"create database {TEMPLATE}")
    meaning = load_embedder("builtin")
    assert meaning is not None
    database.migrate(dsn_of(server, TEMPLATE), dim=256, embedder=meaning.id)


def dsn_of(server: Embedded, name: str) -> str:
    return server.dsn.replace("dbname=memsync", f"dbname={name}")


@pytest.fixture
def dsn(server: Embedded) -> Iterator[str]:
    """Return a hub of this test alone, empty."""
    name = f"t{os.getpid()}_{next(NUMBERS)}"
    server.ensure()  # on a slow machine the tests in between take longer than an idle server stays
    with server.connect("postgres") as connection:
        connection.execute(f"create database {name} template {TEMPLATE}")
        yield dsn_of(server, name)
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def hub(dsn: str) -> Iterator[Hub]:
    """Return the hub, open, with the principals alice, who may read what `give` gives her, and mallory, who may nothing."""
    with Hub(Settings(dsn=dsn)) as hub:
        with hub.database.writing() as connection:
            connection.execute("insert into principal (name) values ('alice'), ('mallory')")
        yield hub


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., GitRepo]:
    """Return a function that makes a repository with these memories committed: texts, or whole lines."""

    def make(name: str, *texts: str) -> GitRepo:
        repo = GitRepo.create(tmp_path / "org" / name)
        commit(repo, *texts)
        return repo

    return make


@pytest.fixture
def serve(hub):
    """Return a function that serves the hub."""
    from serving import Served

    served = []

    def start(**options):
        served.append(Served(hub, **options))
        return served[-1]

    yield start
    for one in served:
        one.stop()
