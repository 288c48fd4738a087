"""The hub's pages for people: search, repositories and how fresh they are, one's own rights and tokens.

The door lets in who has a token in the cookie. What repositories hold is read as that principal, under row-level
security; what somebody may do, by the same conditions as there.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memsync.errors import HubError, UsageError
from memsync.hub import access, questions, search
from memsync.hub.database import as_dicts
from memsync.hub.door import COOKIE, Allowance
from memsync.hub.hub import Hub
from memsync.records import age, parse_time
from memsync.web import pages

if TYPE_CHECKING:
    from starlette.requests import Request

_GUESSES: Final = 10  # wrong tokens a minute that one address may show
_LARGEST: Final = 8 * 1024
_SHOWN: Final = 500  # repositories
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'",
}


def _ending(call: Callable[[People, Request], Any]) -> Callable[[People, Request], Any]:
    """Give each answer what a page needs of headers, and say an error as a page."""

    @wraps(call)
    async def answer(self: People, request: Request) -> Response:
        try:
            made: Response = await call(self, request)
        except (HubError, UsageError, ValueError) as error:  # the last where a text is none, as of a search
            status = 503 if "not answer" in str(error) or "not reached" in str(error) else 403
            made = _page("people_login.html", status, error=str(error))
        made.headers.update(_HEADERS)
        return made

    return answer


class People:
    """The pages over one open *hub*, for who has a token."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._guesses = Allowance(_GUESSES)

    def routes(self) -> list[Route]:
        """Return where each page is."""
        return [
            Route("/", self.home, methods=["GET"]),
            Route("/mine", self.mine, methods=["GET"]),
            Route("/mine", self.leave, methods=["POST"]),
            Route("/login", self.login, methods=["GET"]),
            Route("/login", self.take_token, methods=["POST"]),
            *(Route(f"/static/{name}", _file(name), methods=["GET"]) for name in ("desk.css", "icon.svg")),
        ]

    @_ending
    async def home(self, request: Request) -> Response:
        """Return what was found, where something was asked, and the repositories that may be read."""
        bearer = request.scope["bearer"]
        query = request.query_params.get("q", "").strip()[: search.LONGEST]
        view = await anyio.to_thread.run_sync(self._look, bearer, query)
        return _page("people.html", bearer=bearer, query=query, **view)

    def _look(self, bearer: access.Bearer, query: str) -> dict[str, Any]:
        found = search.search(self._hub.database, self._hub.meaning, bearer, query, face="web") if query else None
        with self._hub.database.reading(bearer.principal) as connection:
            rows = connection.execute(
                "select name, url, state, pushed, memories, skills, left_out, changed_at from repo order by name, url"
            )
            repositories = as_dicts("name url state pushed memories skills left_out changed_at", rows)
        now = datetime.now(UTC)
        for one in repositories:
            one["age"] = age(parse_time(one["changed_at"]), now) if one["changed_at"] else ""
        with self._hub.database.writing() as connection:
            synced = connection.execute("select value from meta where key = 'synced_at'").fetchone()
            of = questions.is_collecting(connection)
            asked = connection.execute("select count(distinct asked), coalesce(sum(times), 0) from question").fetchone()
        synced_at = age(parse_time(synced[0]), now) if synced else ""
        return {
            "found": found,
            "repositories": repositories,
            "shown": _SHOWN,
            "synced": synced_at,
            "askers": of,
            "asked": asked,
        }

    @_ending
    async def mine(self, request: Request) -> Response:
        """Return what may be read and why, and the tokens."""
        bearer = request.scope["bearer"]
        view = await anyio.to_thread.run_sync(self._read_mine, bearer)
        return _page("people_mine.html", bearer=bearer, **view)

    def _read_mine(self, bearer: access.Bearer) -> dict[str, Any]:
        who = {"who": bearer.principal}
        with self._hub.database.writing() as connection:
            grants = as_dicts(
                "repository through source until may_push",
                connection.execute(
                    "select r.name, case when p.id = %(who)s then '' else p.name end, a.source, least(a.until, m.until), a.may_push"
                    " from access a join repo r on r.id = a.repo join principal p on p.id = a.principal"
                    " left join member m on m.team = a.principal and m.principal = %(who)s"
                    " where (a.until is null or a.until > now()) and (a.principal = %(who)s"
                    " or (m.principal is not null and (m.until is null or m.until > now()))) order by 1, 2",
                    who,
                ),
            )
            tokens = as_dicts(
                "number name scopes made_at until used_at",
                connection.execute(
                    "select id, name, scopes, made_at, until, used_at from token where principal = %(who)s"
                    " and revoked_at is null and (until is null or until > now()) order by id",
                    who,
                ),
            )
        return {"grants": grants, "tokens": tokens}

    @_ending
    async def leave(self, request: Request) -> Response:
        """Forget the token in this browser, or end it everywhere."""
        bearer, form = request.scope["bearer"], await _read_form(request)
        if form.get("do") == "end this token":
            await anyio.to_thread.run_sync(self._end, bearer)
        return _keep(RedirectResponse("/login", 303), request, "")

    def _end(self, bearer: access.Bearer) -> None:
        with self._hub.database.writing() as connection:
            access.revoke_token(connection, bearer.token)
            access.note(connection, bearer.name, "web", "end token")

    @_ending
    async def login(self, _: Request) -> Response:
        """Return the page that asks for a token."""
        return _page("people_login.html", error="")

    @_ending
    async def take_token(self, request: Request) -> Response:
        """Let in who pastes a token that somebody gave them."""
        token, place = (await _read_form(request)).get("token", "").strip(), _place_of(request)
        if wait := self._guesses.take(place):
            answer = _page(
                "people_login.html", 429, error="too many wrong tokens came from your address; wait a minute"
            )
            answer.headers["Retry-After"] = str(int(wait) + 1)
            return answer
        bearer = await anyio.to_thread.run_sync(self._find_bearer, token)
        if bearer is None or "search" not in bearer.scopes:
            raise HubError("that token does not count here, or is not for searching")
        self._guesses.give_back(place)
        return _keep(RedirectResponse("/", 303), request, token)

    def _find_bearer(self, token: str) -> access.Bearer | None:
        with self._hub.database.writing() as connection:
            return access.find_bearer(connection, token)


def _keep(answer: Response, request: Request, token: str) -> Response:
    """Have the browser keep *token*, or forget the one it has, until it is closed."""
    is_secure = _is_secure(request)
    name = f"__Host-{COOKIE}" if is_secure else COOKIE  # such a one no other host of the domain may set
    answer.set_cookie(
        name, token, max_age=None if token else 0, path="/", secure=is_secure, httponly=True, samesite="strict"
    )
    return answer


def _is_secure(request: Request) -> bool:
    """Tell whether browsers reach this by https: then a form of ours says so, whatever the proxy in front does."""
    return request.headers.get("origin", "").startswith("https://")


def _place_of(request: Request) -> int:
    """Return what stands for the address that *request* comes from; of IPv6 for the network, of which one machine has all."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return -1
    if isinstance(address, ipaddress.IPv4Address):
        return int(address)
    return int(address.ipv4_mapped or int(address) >> 64)


def _file(name: str) -> Callable[[Request], Any]:
    async def send(_: Request) -> Response:
        return FileResponse(pages.STATIC / name, headers={"Cache-Control": "max-age=300"})

    return send


def _page(template: str, status: int = 200, **view: Any) -> HTMLResponse:
    return HTMLResponse(pages.render(template, **{"bearer": None, **view}), status)


async def _read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that a page of this server has sent.

    Raises:
        HubError: another site's page, or none, has sent it.
    """
    is_ours = request.headers.get("sec-fetch-site") == "same-origin"
    host = urlsplit(request.headers.get("origin", "")).netloc
    if not is_ours and (not host or host != request.headers.get("host")):
        raise HubError("this form was sent by another site's page; open the hub itself")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LARGEST:
            raise UsageError("the form is too large")
        parts.append(part)
    said = parse_qs(b"".join(parts).decode("utf-8", "replace"), max_num_fields=20)
    return {name: values[0] for name, values in said.items()}
