"""Who may read a repository, as its forge says: GitHub and GitLab by their APIs, others by a CSV.

A forge that does not answer changes nothing: what it said last runs out, and then denies.
"""

from __future__ import annotations

import csv
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from memsync.errors import HubError, UsageError
from memsync.hub.search import web_address
from memsync.net import clean_url, redact

if TYPE_CHECKING:
    from psycopg import Connection

Kind = Literal["github", "gitlab"]
HOSTS: Final[Mapping[Kind, str]] = {"github": "github.com", "gitlab": "gitlab.com"}
KEYS: Final[Mapping[Kind, str]] = {"github": "MEMSYNC_GITHUB_TOKEN", "gitlab": "MEMSYNC_GITLAB_TOKEN"}
_READER: Final = 20  # GitLab's "reporter", from which somebody may read the files of a private project
_PAGES: Final = 500
_SECONDS: Final = 30
_LARGEST: Final = 16 * 1024 * 1024
_KEPT: Final = (
    "login", "permissions", "slug", "clone_url", "archived",
    "username", "access_level", "state", "expires_at", "http_url_to_repo",
)  # fmt: skip
_NEXT: Final = re.compile(r'<([^>]+)>;\s*rel="next"')


class Answered(NamedTuple):
    """A page of an answer: its ETag, by which the forge says whether it has changed, and where the next page is."""

    etag: str
    rows: list[dict[str, Any]]
    next: str | None


class Team(NamedTuple):
    """A team of a forge as a principal, its members, and the URLs of what it may read."""

    name: str
    members: set[str]
    urls: set[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """One forge: which kind, its host in URLs of repositories, where its API is, our token for it, and what it answered before."""

    kind: Kind
    host: str
    api: str
    token: str
    answers: dict[str, Answered] = field(default_factory=dict)  # by URL

    def has(self, url: str) -> bool:
        """Tell whether the repository at *url* is there."""
        return urlsplit(web_address(url)).hostname == self.host

    def readers(self, url: str, today: date | None = None) -> set[str]:
        """Return the principals who may read the repository at *url*, such as `github:alice`.

        Raises:
            HubError: it does not answer, or not to us.
        """
        path = urlsplit(web_address(url)).path.strip("/")
        if self.kind == "github":
            rows = self._pages(f"{self.api}/repos/{quote(path)}/collaborators?per_page=100")
            names = [row["login"] for row in rows if row.get("permissions", {}).get("pull")]
        else:
            rows = self._pages(f"{self.api}/projects/{quote(path, safe='')}/members/all?per_page=100")
            now = (today or datetime.now(UTC).date()).isoformat()
            names = [row["username"] for row in rows if _may_read(row, now)]
        return {f"{self.kind}:{name}" for name in names}

    def teams(self, org: str) -> Iterator[Team]:
        """Yield the teams of *org* with their members and repositories; of GitLab the group itself.

        Raises:
            HubError
        """
        path = quote(org, safe="")
        if self.kind == "gitlab":
            now = datetime.now(UTC).date().isoformat()
            rows = self._pages(f"{self.api}/groups/{path}/members/all?per_page=100")
            members = {f"gitlab:{row['username']}" for row in rows if _may_read(row, now)}
            yield Team(f"gitlab:{org}", members, set(self.repositories(org)))
            return
        for team in self._pages(f"{self.api}/orgs/{path}/teams?per_page=100"):
            at = f"{self.api}/orgs/{path}/teams/{quote(str(team['slug']), safe='')}"
            members = {f"github:{row['login']}" for row in self._pages(f"{at}/members?per_page=100")}
            urls = {str(row["clone_url"]) for row in self._pages(f"{at}/repos?per_page=100")}
            yield Team(f"github:{org}/{team['slug']}", members, urls)

    def repositories(self, org: str) -> list[str]:
        """Return the URLs of all repositories of *org* that our token sees, but for archived ones.

        Raises:
            HubError
        """
        path = quote(org, safe="")
        usual = {"github": f"/orgs/{path}/repos?per_page=100",
                 "gitlab": f"/groups/{path}/projects?include_subgroups=true&per_page=100"}  # fmt: skip
        name = "clone_url" if self.kind == "github" else "http_url_to_repo"
        return sorted(str(row[name]) for row in self._pages(self.api + usual[self.kind]) if not row.get("archived"))

    def _pages(self, url: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of all pages, each from this API alone: a page elsewhere would get our token."""
        wanted: str | None = url
        for _ in range(_PAGES):
            if wanted is None:
                return
            if not wanted.startswith(f"{self.api}/"):
                raise HubError(f"{self.kind} sends us elsewhere for its next page; name its API with its real address")
            answered = self._ask(wanted)
            self.answers[wanted] = answered
            wanted = answered.next
            yield from answered.rows
        raise HubError(f"{self.kind} has more than {_PAGES} pages of members")

    def _ask(self, url: str) -> Answered:
        before = self.answers.get(url)
        header = "Authorization" if self.kind == "github" else "PRIVATE-TOKEN"
        value = f"Bearer {self.token}" if self.kind == "github" else self.token
        headers = {header: value, "Accept": "application/json", "User-Agent": "memsync"}
        if before and before.etag:
            headers["If-None-Match"] = before.etag
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - clean_url allows http and https alone
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                rows = json.loads(answer.read(_LARGEST))
                found, etag = _NEXT.search(answer.headers.get("Link", "")), answer.headers.get("ETag", "")
        except urllib.error.HTTPError as error:
            if before and error.code == HTTPStatus.NOT_MODIFIED:
                return before
            raise HubError(f"{self.kind} answers {error.code} for {redact(urlsplit(url).path, self.token)}") from None
        except (OSError, ValueError, HTTPException) as error:
            raise HubError(f"{self.kind} does not answer: {redact(str(error), self.token)}") from None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise HubError(f"{self.kind} answers something else than a list of members")
        return Answered(
            etag, [{key: row[key] for key in _KEPT if key in row} for row in rows], found[1] if found else None
        )


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows a renamed repository, but nowhere else: the token is for this server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER: Final = urllib.request.build_opener(_Stay)


def _may_read(member: Mapping[str, Any], today: str) -> bool:
    ends = member.get("expires_at")
    return member.get("access_level", 0) >= _READER and member.get("state") == "active" and (not ends or ends > today)


def open_forge(kind: Kind, env: Mapping[str, str], *, host: str = "", api: str = "") -> Forge:
    """Return the forge of that *kind* at *host*, with the token that the environment has for it.

    Raises:
        UsageError: there is no token, or *api* is not an address.
    """
    token = env.get(KEYS[kind], "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(f"{KEYS[kind]} holds no token; set one that may list who reads your repositories")
    host = host or HOSTS[kind]
    usual = {"github": "https://api.github.com" if host == "github.com" else f"https://{host}/api/v3",
             "gitlab": f"https://{host}/api/v4"}  # fmt: skip
    try:
        return Forge(
            kind=kind, host=host, api=clean_url(api or usual[kind], "the address of the API", KEYS[kind]), token=token
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def kind_of(name: str) -> Kind:
    """Return the kind of forge that *name* is."""
    return "github" if name == "github" else "gitlab"


def read_readers(
    forge: Forge, urls: Iterable[tuple[int, str]], failed: Callable[[str, str], None]
) -> tuple[dict[str, list[int]], list[int]]:
    """Return which repositories each principal may read, and which repositories the forge answered for; *failed* is told of others."""
    told: dict[str, list[int]] = {}
    asked: list[int] = []
    for id_, url in urls:
        if not forge.has(url):
            continue
        try:
            names = forge.readers(url)
        except HubError as error:
            failed(url, str(error))
            continue
        asked.append(id_)
        for name in names:
            told.setdefault(name, []).append(id_)
    return told, asked


def read_teams(
    forge: Forge, org: str, urls: Iterable[tuple[int, str]]
) -> tuple[dict[str, list[int]], dict[str, set[str]]]:
    """Return which of the repositories with these *urls* each team of *org* may read, and who is in it.

    Raises:
        HubError
    """
    ids = {web_address(url).lower(): id_ for id_, url in urls}
    may: dict[str, list[int]] = {}
    members: dict[str, set[str]] = {}
    for team in forge.teams(org):
        may[team.name] = [ids[at] for url in sorted(team.urls) if (at := web_address(url).lower()) in ids]
        members[team.name] = team.members
    return may, members


def read_answers(connection: Connection[Any]) -> dict[str, Answered]:
    """Return what forges answered before, by URL."""
    rows = connection.execute("select url, etag, rows, next from forge_answer").fetchall()
    return {url: Answered(etag, found, following) for url, etag, found, following in rows}


def write_answers(connection: Connection[Any], answers: Mapping[str, Answered]) -> None:
    """Keep these *answers*, and no others."""
    connection.execute("truncate forge_answer")
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into forge_answer (url, etag, rows, next) values (%s, %s, %s, %s)",
            [(url, one.etag, json.dumps(one.rows), one.next) for url, one in answers.items() if one.etag],
        )


def read_csv(path: Path) -> list[tuple[str, str]]:
    """Return the rows of *path*: a principal, and the URL or name of a repository.

    Raises:
        UsageError: a row has not these two.
    """
    found = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#") or (number == 1 and cells[0].lower() == "principal"):
                continue
            if len(cells) != 2 or not all(cells):
                raise UsageError(f"{path}:{number}: a row has a principal and a repository; nothing was changed")
            found.append((cells[0], cells[1]))
    return found
