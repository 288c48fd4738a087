"""What a forge tells when somebody pushes: is it from the forge, which repository is it about, and which are due by that."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from memsync.hub.search import web_address
from memsync.system.limits import read_json

if TYPE_CHECKING:
    from psycopg import Connection

_KEPT: Final = "7 days"  # that a delivery is known; forges try again for three
_LONGEST: Final = 200  # characters of its id


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Tell whether whoever sends *body* knows the *secret*: GitHub signs with it, GitLab says it."""
    if not secret:
        return False
    if signed := headers.get("x-hub-signature-256", ""):
        made = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
        return hmac.compare_digest(made.encode(), signed.encode("utf-8", "replace"))
    said = headers.get("x-gitlab-token", "")
    return hmac.compare_digest(secret.encode(), said.encode("utf-8", "replace"))


def find_pushed(body: bytes, known: Iterable[tuple[int, str]]) -> list[int]:
    """Return which of the *known* repositories (id and URL) the push in *body* is about; none where it is another branch.

    Raises:
        ValueError: it is not a JSON object.
    """
    told = read_json(body)
    if not isinstance(told, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - of what another program sends
    default = next(_texts(told, ("repository", "default_branch"), ("project", "default_branch")), "")
    ref = told.get("ref")
    if default and ref is not None and ref != f"refs/heads/{default}":
        return []
    addresses = {
        web_address(url).lower()
        for url in _texts(
            told, ("repository", "clone_url"), ("repository", "ssh_url"), ("repository", "html_url"),
            ("project", "git_http_url"), ("project", "git_ssh_url"), ("project", "web_url"),
        )
    } - {""}  # fmt: skip
    return [id_ for id_, url in known if web_address(url).lower() in addresses]  # a forge's names have no case


def _texts(told: Mapping[str, Any], *paths: tuple[str, str]) -> Iterator[str]:
    for outer, inner in paths:
        part = told.get(outer)
        if isinstance(part, dict) and isinstance(part.get(inner), str):
            yield part[inner]


def is_new(connection: Connection[Any], delivery: str) -> bool:
    """Note the *delivery* and tell whether it is the first time that it comes: who has heard one may send it again."""
    connection.execute(f"delete from delivery where at < now() - interval '{_KEPT}'".encode())
    query = "insert into delivery (id) values (%s) on conflict do nothing"
    return connection.execute(query, [delivery.replace("\0", "")[:_LONGEST]]).rowcount == 1


def note_due(connection: Connection[Any], repos: Iterable[int]) -> None:
    """Note that *repos* are due, each once."""
    query = "insert into due (repo) select unnest(%s::int[]) on conflict do nothing"
    connection.execute(query, [list(repos)])


def count_due(connection: Connection[Any]) -> tuple[int, float]:
    """Return how many repositories are due, but for those on hold, and since when the first of them is, in seconds of Unix; 0 if none is."""
    row = connection.execute(
        "select count(*), coalesce(extract(epoch from min(d.at)), 0)::float8 from due d join repo r on r.id = d.repo"
        " where r.held_at is null"
    ).fetchone()
    return row or (0, 0.0)


def take_due(connection: Connection[Any]) -> list[str]:
    """Take the repositories that are due, but for those that another process takes now or that are on hold, and return their URLs."""
    rows = connection.execute(
        "delete from due d using repo r where r.id = d.repo and r.held_at is null"
        " and d.repo in (select repo from due for update skip locked) returning r.url"
    )
    return [url for (url,) in rows]
