"""The hub as its faces use it: opened for one user or for a server, with the embedder that it was made with."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memsync.errors import ConfigError, HubError, MemsyncError, Remedy, UsageError
from memsync.hub import access, config, database, loading, nominate, search, sync
from memsync.hub.embedded import Embedded
from memsync.hub.nominate import Filters
from memsync.index.embed import Meaning
from memsync.index.embedders import choose
from memsync.net import clean_url
from memsync.safety.guard import quoted

if TYPE_CHECKING:
    from psycopg import Connection


class Hub:
    """One hub: its database, and whom the caller stands for."""

    def __init__(self, settings: config.Settings, *, patience: float = 30.0) -> None:
        self.settings = settings
        self.database = database.open_database(settings, patience=patience)
        self.meaning = load_embedder(settings.embedder)

    @classmethod
    def open(cls, *, patience: float = 30.0) -> Self:
        """Open this user's hub; whoever asks waits *patience* seconds for its database.

        Raises:
            HubError, NotInstalled
        """
        return cls(config.load(), patience=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()

    def owner(self, name: str = "") -> access.Bearer:
        """Return whom a command stands for: the owner of an embedded hub, else the principal *name*.

        Whoever has the address of the database may do anything; naming somebody says for whom it is done.

        Raises:
            HubError: nobody is named, or nobody has that name.
        """
        if not name and not self.settings.is_embedded:
            raise HubError(
                "for whom? ", Remedy("hub search --as NAME QUERY"), " asks for one of those that ", Remedy("hub grants"),
                " lists",
            )  # fmt: skip
        with self.database.writing() as connection:
            if not name:
                access.have_principal(connection, config.LOCAL)
            principal = access.find_principal(connection, name or config.LOCAL)
        return access.Bearer(0, principal, name or config.LOCAL, frozenset(access.SCOPES))

    def add(self, addresses: Sequence[str], *, branch: str = "") -> list[str]:
        """Add repositories and return the names of the new ones; who adds one to an embedded hub may read it.

        Their default *branch* is asked for where they can be reached, and has to be said where a CI will push it.
        """
        principal = self.owner().principal if self.settings.is_embedded else None
        return sync.add(self.database, addresses, principal=principal, branch=branch)

    def search(
        self, text: str, *, principal: str = "", limit: int = 15, filters: Filters | None = None
    ) -> search.HubRecall:
        """Return what the hub has on *text* for *principal*."""
        who = self.owner(principal)
        return search.search(self.database, self.meaning, who, text, limit=limit, filters=filters)

    def status(self) -> dict[str, Any]:
        """Return what the hub has, how fresh it is, and which repositories need a look."""
        with self.database.writing() as connection:
            return read_status(connection)


def read_status(connection: Connection[Any]) -> dict[str, Any]:
    """Return what the hub has, how fresh it is, and its repositories."""
    about = nominate.meta(connection)
    rows = connection.execute(
        "select name, url, branch, commit, state, note, memories, skills, left_out, changed_at, pushed, held_at from repo order by name, url"
    )
    names = "name url branch commit state note memories skills left_out changed_at pushed held_at"
    repositories = database.as_dicts(names, rows)
    size = connection.execute(
        "select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = current_schema() and c.relkind = 'r'"
    ).fetchone()
    return {
        "repositories": repositories,
        "memories": sum(one["memories"] for one in repositories),
        "skills": sum(one["skills"] for one in repositories),
        "bytes": int(size[0]) if size else 0,
        "embedder": about.get("embedder", ""),
        "synced_at": about.get("synced_at"),
        "loading": loading.is_loading(connection),
    }


def load_embedder(spec: str) -> Meaning | None:
    """Return the embedder that *spec* names.

    Raises:
        ConfigError: there is none of that name.
    """
    try:
        return choose(spec)
    except ValueError as error:
        raise ConfigError(f"the hub's embedder: {error}") from None


def init(dsn: str | None, embedder: str) -> list[str]:
    """Make a hub, or bring it up to date, and note it as this user's; return what was done.

    Without a *dsn* it is where `MEMSYNC_HUB_DSN` says, else on this machine.

    Raises:
        UsageError, HubError, NotInstalled, ConfigError
    """
    dsn = os.environ.get("MEMSYNC_HUB_DSN", "") if dsn is None else database.check_given(dsn)
    if dsn.startswith(("http://", "https://")):
        return _use_server(dsn)
    database.require_driver("hub" if dsn else "hub-local")
    settings = config.Settings(dsn=dsn, embedder=embedder)
    meaning = load_embedder(embedder)
    probe = meaning.query("which version of node does the build need") if meaning else None
    if meaning and probe is None:
        raise HubError(f"the embedder {embedder} does not answer ({meaning.failed or 'no vector'}); see docs/recall.md")
    if dsn:
        database.check_address(dsn)
    address = dsn or Embedded(config.find_directory()).ensure()
    done = database.migrate(address, dim=len(probe[0]) if probe else 0, embedder=meaning.id if meaning else "")
    config.save(settings)
    if meaning:
        with Hub(settings) as hub, hub.database.writing() as connection:
            connection.execute(
                "insert into meta values ('unrelated', %s) on conflict (key) do update set value = excluded.value",
                [repr(meaning.unrelated)],
            )
    return done


def _use_server(url: str) -> list[str]:
    try:
        server = clean_url(url, "the address of the hub's server", "MEMSYNC_HUB_TOKEN")
    except ValueError as error:
        raise UsageError(str(error)) from None
    config.save(config.Settings(server=server, token=os.environ.get("MEMSYNC_HUB_TOKEN", "")))
    return [f"asks {server}"]


def ask(text: str, *, principal: str = "", limit: int = 15, filters: Filters | None = None) -> search.HubRecall:
    """Return what this user's hub has on *text*, wherever that hub is.

    Raises:
        HubError, NotInstalled
    """
    settings = config.load()
    if settings.server:
        from memsync.hub import client

        return client.search(settings, text, limit=limit, filters=filters or Filters())
    with Hub(settings) as hub:
        return hub.search(text, principal=principal, limit=limit, filters=filters)


def ask_beside(
    text: str, known: Collection[tuple[str, str]], *, limit: int = 15, filters: Filters | None = None
) -> search.HubRecall:
    """Return what this user's hub has on *text* but for what is *known* here, by its id and its text.

    Raises:
        HubError, NotInstalled
    """
    found = ask(text, limit=limit, filters=filters)
    here = {(id_, quoted(content)) for id_, content in known} | set(known)  # a server has quoted it already
    return replace(found, hits=tuple(hit for hit in found.hits if (hit.memory.id, hit.memory.content) not in here))


def _list_repositories(settings: config.Settings) -> list[sync.Known]:
    """Return the repositories of a hub that can be read; what is broken, or another version's, may be dropped too."""
    with suppress(MemsyncError), Hub(settings) as hub, hub.database.writing() as connection:
        return sync.list_known(connection)
    return []


def drop() -> str:
    """Remove this user's hub with all that it has, and return where it was.

    Raises:
        HubError
    """
    settings = config.load()
    if not settings.server:
        for one in _list_repositories(settings):
            one.refuse_if_held()
    if settings.dsn:
        database.drop(settings.dsn)
    elif settings.is_embedded:
        Embedded(config.find_directory()).remove()
    config.forget()
    return settings.server or ("the database" if settings.dsn else str(config.find_directory()))


def read_list(path: Path) -> list[str]:
    """Return the addresses in the file *path*, one a line, without comments."""
    lines = path.read_text("utf-8").splitlines()
    return [text for line in lines if (text := line.split("#", 1)[0].strip())]
