"""Who is let in, and what each answer tells the browser: the desk shows private memories, and changes them.

Any page in the browser can send requests to this machine. So an answer needs
the token that only the terminal showed, a request must name our own host, one
that says where it comes from must come from here, and a write must carry what
only our own pages hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from secrets import compare_digest
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memsync.web.serve import Keys

LARGEST: Final = 4_000_000  # bytes of a form: the longest text, and a few thousand chosen rows
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with less, browsers send the forms of our own pages with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


# Whoever comes by the address with the token is led to the one without, by a page of ours: after a redirect the request would
# still be another site's to a browser, which keeps a strict cookie from it, and a history would keep the token.
_ENTRY: Final = '<!doctype html><html lang="en"><title>memsync</title><link rel="icon" href="/static/icon.svg"><meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Go on</a></p>\n'


class Verdict(NamedTuple):
    """Whether a request goes on (status 0), else with what it ends; `is_new`: the browser is given the cookie."""

    status: int = 0
    why: str = ""
    is_new: bool = False


def judge(keys: Keys, headers: Mapping[str, str], query: bytes) -> Verdict:
    """Decide about a request by its *headers* and its *query*."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if host not in keys.hosts:
        return Verdict(421, f"this is {' or '.join(sorted(keys.hosts))}, and nothing else")
    if origin is not None and origin != f"http://{host}":
        return Verdict(403, "this comes from another page; nothing was done")
    if not headers.get("content-length", "0").isdecimal() or int(headers.get("content-length", "0")) > LARGEST:
        return Verdict(413, f"more than {LARGEST:,} bytes; nothing was done")
    # One of the cookies is ours; the others come from whatever else this machine serves, spelled as it likes.
    ours = f"{keys.cookie}={keys.pass_}".encode()
    if any(compare_digest(one.strip().encode(), ours) for one in headers.get("cookie", "").split(";")):
        return Verdict()
    said = parse_qs(query.decode("latin-1")).get("token", [""])[0]
    if compare_digest(said.encode(), keys.token.encode()):
        return Verdict(is_new=True)
    return Verdict(403, "open the address that `memsync ui` printed; it is another one after each start")


def _leave_out_token(scope: Scope) -> str:
    said = [(name, value) for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name != "token"]
    path = quote("/" + scope["path"].lstrip("/"))
    return f"{path}?{urlencode(said)}" if said else path


class Gate:
    """Asks `judge` about every request to *app*, and puts our headers on every answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        verdict = judge(self._keys, Headers(scope=scope), scope["query_string"])

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if verdict.is_new:
                    cookie = f"{self._keys.cookie}={self._keys.pass_}; HttpOnly; SameSite=Strict; Path=/"
                    headers.append("Set-Cookie", cookie)
            await send(message)

        app: ASGIApp = PlainTextResponse(f"{verdict.why}\n", verdict.status) if verdict.status else self._app
        if not verdict.status and scope["method"] == "GET" and b"token=" in scope["query_string"]:
            app = HTMLResponse(_ENTRY.format(escape(_leave_out_token(scope))))
        await app(scope, receive, send_more)
