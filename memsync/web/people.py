"""The hub's pages for people: search, repositories and how fresh they are, one's own rights and tokens; and signing in.

The door lets in who has a token in the cookie. All that is shown of repositories is read as that principal, under
row-level security.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memsync.errors import HubError, UsageError
from memsync.hub import access, questions, search, signin
from memsync.hub.database import as_dicts
from memsync.hub.door import COOKIE, Allowance
from memsync.hub.hub import Hub
from memsync.hub.signin import SignIn
from memsync.records import age, parse_time
from memsync.web import pages

if TYPE_CHECKING:
    from starlette.requests import Request

_BEGUN: Final = "memsync_hub_begun"  # what a browser keeps while it is at the provider
_SECONDS: Final = 600  # that somebody may take there
_AT_ONCE: Final = 4  # who signs in, so that a provider that hangs holds up nobody else
_GUESSES: Final = 10  # wrong tokens, or sign-ins, a minute that one address may show
_SHOWN: Final = 500  # repositories
_LARGEST: Final = 8 * 1024
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'",
}


class _TooOften(Exception):
    """One address guesses; it may go on after so many seconds."""


def _ending(call: Callable[[People, Request], Any]) -> Callable[[People, Request], Any]:
    """Give each answer what a page needs of headers, and say an error as a page."""

    @wraps(call)
    async def answer(self: People, request: Request) -> Response:
        try:
            made: Response = await call(self, request)
        except _TooOften as error:
            said = "too many wrong tokens or sign-ins came from your address; wait a minute"
            made = _page("people_login.html", 429, error=said, has_provider=self.has_provider)
            made.headers["Retry-After"] = str(int(error.args[0]) + 1)
        except (HubError, UsageError, ValueError) as error:  # the last where a text is none, as of a search
            is_lost = "not answer" in str(error) or "not reached" in str(error)
            status = 503 if is_lost else 403 if isinstance(error, HubError) else 400
            bearer = request.scope.get("bearer")
            made = (
                _page("people_error.html", status, error=str(error), bearer=bearer)
                if bearer
                else _page("people_login.html", status, error=str(error), has_provider=self.has_provider)
            )
        made.headers.update(_HEADERS)
        return made

    return answer


class People:
    """The pages over one open *hub*, for whom *sign_in* lets in, or who has a token."""

    def __init__(self, hub: Hub, sign_in: SignIn | None = None) -> None:
        self._hub = hub
        self._guesses = Allowance(_GUESSES)
        self._sign_in = sign_in
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    @property
    def has_provider(self) -> bool:
        """Whether people can sign in, and need no token that somebody gives them."""
        return self._sign_in is not None

    def routes(self) -> list[Route]:
        """Return where each page is."""
        return [
            Route("/", self.home, methods=["GET"]),
            Route("/mine", self.mine, methods=["GET"]),
            Route("/mine", self.change, methods=["POST"]),
            Route("/login", self.login, methods=["GET"]),
            Route("/login", self.take_token, methods=["POST"]),
            Route("/callback", self.callback, methods=["GET"]),
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
        return await self._show_mine(request, "")

    async def _show_mine(self, request: Request, token: str) -> Response:
        bearer = request.scope["bearer"]
        view = await anyio.to_thread.run_sync(self._read_mine, bearer)
        return _page(
            "people_mine.html",
            bearer=bearer,
            token=token,
            address=self._sign_in.address if self._sign_in else "",
            **view,
        )

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
                "number name scopes made_at until used_at is_session",
                connection.execute(
                    "select id, name, scopes, made_at, until, used_at, is_session from token where principal = %(who)s"
                    " and revoked_at is null and (until is null or until > now()) order by id",
                    who,
                ),
            )
        mine = [one for one in tokens if one["number"] == bearer.token]
        return {
            "grants": grants,
            "tokens": tokens,
            "may_change": bool(self._sign_in and mine and mine[0]["is_session"]),
        }

    @_ending
    async def change(self, request: Request) -> Response:
        """Make or end a token of one's own, or sign out."""
        bearer, form = request.scope["bearer"], await _read_form(request)
        token = await anyio.to_thread.run_sync(self._change, bearer, form)
        if form.get("do") in ("sign out", "end this token", "sign out everywhere"):
            return self._keep(RedirectResponse("/login", 303), request, COOKIE, "", 0)
        return await self._show_mine(request, token)

    def _change(self, bearer: access.Bearer, form: Mapping[str, str]) -> str:
        """Do what *form* says, and return the token that was made, "" where none was."""
        what = form.get("do", "")
        with self._hub.database.writing() as connection:
            still = "select is_session from token where id = %s and revoked_at is null"
            row = connection.execute(still, [bearer.token]).fetchone()
            is_session = bool(row and row[0] and self._sign_in)
            if what in ("sign out", "end this token"):
                if is_session or what != "sign out":  # a token that was pasted is in use elsewhere
                    access.revoke_token(connection, bearer.token)
                return ""
            if not is_session:
                raise HubError("with a token that somebody gave you nothing can be changed; whoever runs the hub can")
            access.note(connection, bearer.name, "web", what[:40])
            if what == "sign out everywhere":
                signin.sign_out(connection, bearer.principal)
                return ""
            if what == "make a token":
                name = form.get("name", "").strip()[:80]
                if not name.isprintable():
                    raise UsageError("the name of a token has letters that cannot be shown")
                return signin.make_token(connection, bearer, name)
            number = form.get("number", "")
            is_own = "select 1 from token where id = %s and principal = %s and revoked_at is null"
            if what != "end" or not number.isdecimal() or len(number) > 9 or not connection.execute(
                is_own, [int(number), bearer.principal]
            ).fetchone():  # fmt: skip
                raise HubError("there is no such token of yours that counts")
            access.revoke_token(connection, int(number))
            return ""

    @_ending
    async def login(self, request: Request) -> Response:
        """Return the page on which somebody signs in, or send the browser to the provider."""
        if self._sign_in is None or "provider" not in request.query_params:
            return _page("people_login.html", error="", has_provider=self.has_provider)
        url, kept = await anyio.to_thread.run_sync(self._sign_in.begin, limiter=self._limiter)
        return self._keep(RedirectResponse(url, 303), request, _BEGUN, kept, _SECONDS)

    @_ending
    async def take_token(self, request: Request) -> Response:
        """Let in who pastes a token that somebody gave them."""
        token = (await _read_form(request)).get("token", "").strip()
        await self._try(request, None, self._check_token, token)
        return self._keep(RedirectResponse("/", 303), request, COOKIE, token, None)

    def _check_token(self, token: str) -> None:
        with self._hub.database.writing() as connection:
            bearer = access.find_bearer(connection, token)
        if bearer is None or "search" not in bearer.scopes:
            raise HubError("that token does not count here, or is not for searching")

    async def _try(
        self, request: Request, limiter: anyio.CapacityLimiter | None, call: Callable[..., Any], *told: Any
    ) -> Any:
        """Return what *call* says to what a browser has *told*; an address that told too much that is wrong has to wait."""
        place = _place_of(request)
        if wait := self._guesses.take(place):
            raise _TooOften(wait)
        made = await anyio.to_thread.run_sync(call, *told, limiter=limiter)
        self._guesses.give_back(place)
        return made

    @_ending
    async def callback(self, request: Request) -> Response:
        """Let in who has signed in at the provider."""
        back, kept = dict(request.query_params), request.cookies.get(self._name(request, _BEGUN), "")
        token = await self._try(request, self._limiter, self._finish, back, kept)
        answer = self._keep(RedirectResponse("/", 303), request, COOKIE, token, int(signin.LASTS.total_seconds()))
        return self._keep(answer, request, _BEGUN, "", 0)

    def _finish(self, back: Mapping[str, str], kept: str) -> str:
        if self._sign_in is None:
            raise HubError("nobody signs in here by a provider")
        person = self._sign_in.end(back, kept)
        with self._hub.database.writing() as connection:
            principal = signin.enter(connection, person)
            access.note(connection, person.name or "", "web", "sign in")
            return access.make_token(
                connection, principal, name="browser", scopes=["search"], lasting=signin.LASTS, is_session=True
            )

    def _keep(self, answer: Response, request: Request, name: str, value: str, lasting: int | None) -> Response:
        answer.set_cookie(
            self._name(request, name), value, max_age=lasting, path="/", secure=self._is_secure(request), httponly=True,
            samesite="lax" if self._sign_in else "strict",  # a strict one is not sent by who comes from the provider
        )  # fmt: skip
        return answer

    def _name(self, request: Request, name: str) -> str:
        """Return what the cookie *name* is called where no other host of the domain may set it."""
        return f"__Host-{name}" if self._is_secure(request) else name

    def _is_secure(self, request: Request) -> bool:
        """Tell whether browsers reach this by https, as far as it is known: the proxy in front says so, or the operator."""
        told = self._sign_in.address if self._sign_in else request.headers.get("origin", "")
        return told.startswith("https://")


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
