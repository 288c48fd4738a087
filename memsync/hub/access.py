"""Who may read which repositories of the hub, until when; tokens; and what was asked, without the texts.

A grant that has run out denies, by the clock of the database alone. Tokens are kept as hashes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.errors import HubError, Remedy, UsageError
from memsync.hub import sync
from memsync.hub.database import as_dicts

if TYPE_CHECKING:
    from psycopg import Connection

    from memsync.hub.ci import Job

SCOPES: Final = ("search", "push", "metrics")
PREFIX: Final = "msh_"
_ENDED_FOR: Final = timedelta(days=30)  # that a token which counts no more is listed
MIRRORED_FOR: Final = timedelta(hours=24)  # that what a forge said is believed


class Bearer(NamedTuple):
    """Whom a token stands for, and what with it may be done; a CI's own token is for one `job`, and for nobody."""

    token: int
    principal: int
    name: str
    scopes: frozenset[str]
    job: Job | None = None


def have_principal(connection: Connection[Any], name: str) -> int:
    """Return the principal *name*, who is made if there is none."""
    name = name.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise UsageError("a principal needs a name of at most 200 letters, such as alice or team:payments")
    connection.execute("insert into principal (name) values (%s) on conflict do nothing", [name])
    return find_principal(connection, name)


def find_principal(connection: Connection[Any], name: str) -> int:
    """Return the principal *name*.

    Raises:
        HubError: there is none.
    """
    row = connection.execute("select id from principal where name = %s", [name]).fetchone()
    if row is None:
        raise HubError(
            f"the hub knows nobody called {name!r}; ", Remedy("hub grant", name, "REPOSITORY"), " lets them in"
        )
    return int(row[0])


def grant(
    connection: Connection[Any],
    principal: int,
    repos: Iterable[int],
    *,
    lasting: timedelta | None,
    source: str,
    may_push: bool = False,
) -> int:
    """Let *principal* read *repos*, and push to them, for *lasting*, or until it is taken back; return how many."""
    ids = list(repos)
    connection.execute(
        "insert into access (principal, repo, until, source, may_push)"
        " select %s, repo, now() + %s, %s, %s from unnest(%s::int[]) as u (repo)"
        " on conflict (principal, repo) do update"
        " set until = excluded.until, source = excluded.source, may_push = excluded.may_push",
        [principal, lasting, source, may_push, ids],
    )
    return len(ids)


def revoke(connection: Connection[Any], principal: int, repos: Iterable[int]) -> int:
    """Take back that *principal* may read *repos*; return how many grants there were."""
    return connection.execute(
        "delete from access where principal = %s and repo = any(%s)", [principal, list(repos)]
    ).rowcount


def may_push(connection: Connection[Any], principal: int, repo: int) -> bool:
    """Tell whether *principal*, or a group of theirs, may push to *repo* now."""
    query = (
        "select 1 from access where repo = %(repo)s and may_push and (until is null or until > now()) and (principal = %(who)s"
        " or principal in (select team from member where principal = %(who)s and (until is null or until > now())))"
    )
    return connection.execute(query, {"repo": repo, "who": principal}).fetchone() is not None


def join(
    connection: Connection[Any], group: int, members: Iterable[int], *, lasting: timedelta | None, source: str
) -> int:
    """Make *members* of *group* for *lasting*, or until they are taken out; return how many. What it may read, they may."""
    ids = [one for one in members if one != group]
    return connection.execute(
        "insert into member (principal, team, until, source) select who, %s, now() + %s, %s from unnest(%s::int[]) as u (who)"
        " on conflict (principal, team) do update set until = excluded.until, source = excluded.source",
        [group, lasting, source, ids],
    ).rowcount


def leave(connection: Connection[Any], group: int, members: Iterable[int]) -> int:
    """Take *members* out of *group*; return how many were in it."""
    query = "delete from member where team = %s and principal = any(%s)"
    return connection.execute(query, [group, list(members)]).rowcount


def list_members(connection: Connection[Any]) -> list[dict[str, Any]]:
    """Return who is in which group, until when, and who said so."""
    rows = connection.execute(
        "select g.name, p.name, m.until, m.source, m.until is not null and m.until <= now() from member m"
        " join principal g on g.id = m.team join principal p on p.id = m.principal order by 1, 2"
    )
    return as_dicts("group member until source expired", rows)


def mirror_members(connection: Connection[Any], source: str, told: Mapping[str, Iterable[str]]) -> int:
    """Make the members that *source* knows those that it *told*, by group, and return how many there are."""
    connection.execute("delete from member where source = %s", [source])
    count = 0
    for group, names in told.items():
        ids = [have_principal(connection, name) for name in names]
        count += join(connection, have_principal(connection, group), ids, lasting=MIRRORED_FOR, source=source)
    return count


def mirror(connection: Connection[Any], source: str, told: Mapping[str, Iterable[int]], repos: Iterable[int]) -> int:
    """Make the grants by *source* on *repos* those that it *told*, by principal, and return how many there are.

    Grants that a person made stay while they count. One that is not told any more ends at once, one that is ends some time after the
    source was last asked.
    """
    connection.execute("delete from access where source = %s and repo = any(%s)", [source, list(repos)])
    count = 0
    for name, ids in told.items():
        principal = have_principal(connection, name)
        count += connection.execute(
            "insert into access (principal, repo, until, source)"
            " select %s, repo, now() + %s, %s from unnest(%s::int[]) as u (repo)"
            " on conflict (principal, repo) do update set until = excluded.until, source = excluded.source"
            " where access.until <= now()",
            [principal, MIRRORED_FOR, source, list(ids)],
        ).rowcount
    return count


def list_grants(connection: Connection[Any]) -> list[dict[str, Any]]:
    """Return who may read what, until when, and who said so."""
    rows = connection.execute(
        "select p.name, r.name, r.url, a.until, a.source, a.until is not null and a.until <= now(), a.may_push from access a"
        " join principal p on p.id = a.principal join repo r on r.id = a.repo order by 1, 2"
    )
    return as_dicts("principal repository url until source expired may_push", rows)


def make_token(
    connection: Connection[Any],
    principal: int,
    *,
    name: str,
    scopes: Sequence[str],
    lasting: timedelta | None,
    is_session: bool = False,
) -> str:
    """Make a token for *principal* and return it; nobody can read it again. That of a session is in a browser, and may make others.

    Raises:
        UsageError: there is no such scope.
    """
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise UsageError(f"unknown scope {unknown[0]!r}; choose of {', '.join(SCOPES)}")
    token = PREFIX + secrets.token_urlsafe(32)
    connection.execute("delete from token where least(until, revoked_at) < now() - %s", [_ENDED_FOR])
    connection.execute(
        "insert into token (hash, principal, name, scopes, until, is_session) values (%s, %s, %s, %s, now() + %s, %s)",
        [_hash(token), principal, name, list(scopes), lasting, is_session],
    )
    return token


def revoke_token(connection: Connection[Any], number: int) -> None:
    """Take the token *number* back.

    Raises:
        HubError: there is none that counts.
    """
    done = connection.execute("update token set revoked_at = now() where id = %s and revoked_at is null", [number])
    if not done.rowcount:
        raise HubError(f"there is no token {number} that counts; ", Remedy("hub token list"), " shows them")


def find_bearer(connection: Connection[Any], token: str) -> Bearer | None:
    """Return whom *token* stands for; None if it was never made, was taken back or has run out.

    When it was last used is noted to the minute, so that not each request writes.
    """
    row = connection.execute(
        "with found as (select t.id, p.id as principal, p.name, t.scopes from token t join principal p on p.id = t.principal"
        " where t.hash = %s and t.revoked_at is null and (t.until is null or t.until > now())),"
        " noted as (update token t set used_at = now() from found f where t.id = f.id"
        " and (t.used_at is null or t.used_at not between now() - interval '1 minute' and now()))"
        " select id, principal, name, scopes from found",
        [_hash(token)],
    ).fetchone()
    return Bearer(row[0], row[1], row[2], frozenset(row[3])) if row else None


def _hash(token: str) -> bytes:
    """Return the hash of *token*: of 256 random bits a plain one cannot be turned around."""
    return sha256(token.encode("utf-8", "replace")).digest()


def list_tokens(connection: Connection[Any]) -> list[dict[str, Any]]:
    """Return the tokens, but for what they are."""
    rows = connection.execute(
        "select t.id, p.name, t.name, t.scopes, t.made_at, t.until, t.revoked_at, t.used_at,"
        " t.until is not null and t.until <= now()"
        " from token t join principal p on p.id = t.principal order by t.id"
    )
    return as_dicts("token principal name scopes made_at until revoked_at used_at expired", rows)


def note(
    connection: Connection[Any],
    principal: str,
    face: str,
    action: str,
    *,
    repos: int = 0,
    hits: int = 0,
    ms: float = 0.0,
) -> None:
    """Write down who asked, over which face, how much was looked through and found; never what was asked."""
    connection.execute(
        "insert into audit (principal, face, action, repos, hits, ms) values (%s, %s, %s, %s, %s, %s)",
        [principal, face, action, repos, hits, ms],
    )


def list_audit(connection: Connection[Any], *, limit: int, since: datetime | None = None) -> list[dict[str, Any]]:
    """Return what was asked lately, the last first."""
    rows = connection.execute(
        "select at, principal, face, action, repos, hits, ms from audit where %(since)s::timestamptz is null or at >= %(since)s"
        " order by at desc limit %(limit)s",
        {"since": since, "limit": limit},
    )
    return as_dicts("at principal face action repos hits ms", rows)


def prune_audit(connection: Connection[Any], keep: timedelta) -> int:
    """Forget what was asked longer ago than *keep*, and return how many questions that were.

    Raises:
        PushRefused: a repository is on hold; a question may have been about it, which its row does not say.
    """
    for one in sync.list_known(connection):
        one.refuse_if_held()
    return connection.execute("delete from audit where at < now() - %s", [keep]).rowcount
