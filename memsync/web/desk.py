"""From a function over `Project` to an answer of HTTP: how pages are asked for, how forms write, how failures are told."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlencode

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memsync.agents.live import Live
from memsync.errors import AmbiguousId, Changed, MemoryNotFound, MemsyncError, SkillNotFound, StoreError
from memsync.janitor.waiting import Waiting
from memsync.memories.project import Project
from memsync.records import utc_now
from memsync.safety.secrets import redact
from memsync.store.places import Layout
from memsync.store.watch import Watcher
from memsync.system import programs
from memsync.system.texts import one_line
from memsync.web import pages

if TYPE_CHECKING:
    from starlette.datastructures import FormData, QueryParams
    from starlette.requests import Request

    from memsync.web.serve import Keys

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., "Answer"])

_FIELDS: Final = 20_000  # of one form
_KEPT: Final = 50  # notices of what was done
_SLOW: Final = 4  # pages that are slow, at once
_PATIENCE: Final = 20.0  # seconds without a word, after which one shows whether somebody still listens

# Address, name and key of each page in the head.
TABS: Final[Sequence[tuple[str, str, str]]] = (
    ("/", "Today", "0"),
    ("/memories", "Memories", "1"),
    ("/review", "Review", "2"),
    ("/branch", "Branch", "3"),
    ("/timeline", "Timeline", "4"),
    ("/sessions", "Sessions", "5"),
    ("/skills", "Skills", "6"),
    ("/map", "Map", "7"),
    ("/health", "Health", "8"),
)


class Given:
    """What a request says, as text; the last of several values counts, `every` has them all."""

    def __init__(self, said: QueryParams | FormData) -> None:
        self._said = said

    def get(self, name: str, default: str = "") -> str:
        """Return the value of *name*, without white space around it."""
        return self.raw(name, default).strip()

    def raw(self, name: str, default: str = "") -> str:
        """Return the value of *name* with lines as files have them: browsers send CRLF."""
        value = self._said.get(name, default)
        return plain_lines(value) if isinstance(value, str) else default

    def every(self, name: str) -> list[str]:
        """Return all values of *name*."""
        return [value for value in self._said.getlist(name) if isinstance(value, str)]

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return the whole number *name*, from 0 to *most*."""
        value = self.get(name)
        return min(int(value), most) if value.isascii() and value.isdecimal() and len(value) < 10 else default

    def share(self, name: str) -> float:
        """Return the number *name*, 0 to 1; 0 where it is none."""
        with suppress(ValueError):
            return min(max(float(self.get(name)), 0.0), 1.0)
        return 0.0


def plain_lines(text: str) -> str:
    """Return *text* as it comes back from a browser's form when nobody has changed it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return lines.encode("utf-8", "replace").decode()  # nor does half a character arrive


class Page(NamedTuple):
    """A template and what it shows, with what went wrong; the status is that of the error unless it is given."""

    template: str
    view: Mapping[str, Any]
    error: Exception | str = ""
    status: int = 0


class Copy(NamedTuple):
    """A file to take along."""

    name: str
    text: str


class Undo(NamedTuple):
    """The form that takes back what was done: where it goes, and its fields."""

    path: str
    fields: Mapping[str, str]


class Done(NamedTuple):
    """What a form did: a sentence, the page to show next, and the commands that do the same."""

    said: str
    url: str
    commands: Sequence[str] = ()
    undo: Undo | None = None
    also: Sequence[str] = ()  # what else to know


Answer: TypeAlias = Page | Done | Copy


class Address(NamedTuple):
    """A page or a form: where it is, and the function over what it *needs* of the desk, the project and what is given.

    One that is slow holds up no other: it has a project of its own.
    """

    method: str
    path: str
    function: Callable[..., Answer]
    needs: Sequence[type]
    is_slow: bool = False


class Routes(list[Address]):
    """The pages and the forms of one module."""

    def reads(self, path: str, *needs: type, is_slow: bool = False) -> Callable[[F], F]:
        """Make a function the page at *path*: what it returns is shown."""
        return self._add("GET", path, needs, is_slow=is_slow)

    def writes(self, path: str, *needs: type) -> Callable[[F], F]:
        """Make a function the form at *path*: what it did is told on the next page; a page is shown as it is."""
        return self._add("POST", path, needs)

    def _add(self, method: str, path: str, needs: Sequence[type], *, is_slow: bool = False) -> Callable[[F], F]:
        def add(function: F) -> F:
            self.append(Address(method, path, function, needs, is_slow))
            return function

        return add


class Desk:
    """Where requests line up for the project, without holding up the event loop."""

    def __init__(self, live: Live, keys: Keys, changes: Changes, parts: Iterable[Any]) -> None:
        self._live = live
        self.keys = keys
        self.changes = changes
        self._parts = {type(part): part for part in parts}
        self._waiting: Waiting = self._parts[Waiting]
        self._turn, self._apart = anyio.CapacityLimiter(1), anyio.CapacityLimiter(_SLOW)
        self._notices: dict[str, Done] = {}
        self._numbers = itertools.count(1)

    def route(self, address: Address) -> Route:
        """Return the route to *address*."""
        parts = [self._parts[need] for need in address.needs]

        async def answer(request: Request) -> Response:
            given = await self._read_form(request) if address.method == "POST" else Given(request.query_params)
            work = partial(address.function, *parts)
            return await self._answer(request, lambda project: work(project, given), is_slow=address.is_slow)

        return Route(address.path, answer, methods=[address.method])

    async def _read_form(self, request: Request) -> Given:
        try:
            async with request.form(max_files=0, max_fields=_FIELDS) as form:
                given = Given(form)
        except ClientDisconnect:
            raise HTTPException(400) from None  # the page was closed while it sent; nobody reads this
        if given.get("form") != self.keys.form:
            raise HTTPException(403, "this form is not from a page of this desk; open it again. Nothing was done")
        return given

    async def _answer(self, request: Request, work: Callable[[Project], Answer], *, is_slow: bool) -> Response:
        def respond(project: Project) -> Response:
            try:
                found = work(project)
            except (MemsyncError, OSError) as error:
                found = fail(error)
            try:
                if isinstance(found, Copy):
                    named = {"Content-Disposition": f'attachment; filename="{found.name}"'}
                    return Response(
                        found.text.encode("utf-8", "replace"), headers=named, media_type="application/octet-stream"
                    )
                return self._redirect(found) if isinstance(found, Done) else self._render(request, project, found)
            finally:
                programs.trim()

        try:
            call, limiter = (self._live.apart, self._apart) if is_slow else (self._live.call, self._turn)
            return await anyio.to_thread.run_sync(call, respond, limiter=limiter)
        except MemsyncError as error:  # the project itself cannot be opened
            return self._render(request, None, fail(error))
        except Exception as error:  # the boundary: a page says it, and the terminal shows where
            log.exception("%s", request.url.path)
            said = f"unexpected {type(error).__name__}: {error}; the terminal of `memsync ui` shows more"
            return self._render(request, None, fail(said, status=500))

    def _redirect(self, done: Done) -> Response:
        number = str(next(self._numbers))
        self._notices[number] = done
        for old in list(self._notices)[:-_KEPT]:
            del self._notices[old]
        joint = "&" if "?" in done.url else "?"
        return RedirectResponse(f"{done.url}{joint}{urlencode({'done': number})}", 303)

    def _render(self, request: Request, project: Project | None, page: Page) -> Response:
        root = self._live.start if project is None or project.layout.root is None else project.layout.root
        frame = {
            "tabs": TABS,
            "tab": _find_tab(request.url.path),
            "self": _find_self(request),
            "name": root.name,
            "form": self.keys.form,
            "is_form": request.method == "POST",
            "changes": self.changes.count,
            "waits": self._waiting.count,
            "notice": self._notices.get(request.query_params.get("done", "")),
            "now": project.clock() if project else utc_now(),
        }
        # A page that is read again by itself shows what became of it: to a browser an error is nothing to show.
        status = page.status or _status_of(page.error)
        status = 200 if status == 404 and request.headers.get("hx-request") else status
        mask = partial(redact, allow=project.vetting.allowed) if project else redact
        text = pages.render(page.template, mask, frame=frame, error=str(page.error), **page.view)
        return HTMLResponse(text.encode("utf-8", "replace"), status)  # JSON can spell half a character

    async def refuse(self, request: Request, error: Exception) -> Response:
        """Answer where there is no such page, or where a form is refused."""
        assert isinstance(error, HTTPException)
        said = f"there is no page {one_line(request.url.path, 100)}" if error.status_code == 404 else str(error.detail)
        return self._render(request, None, fail(said, status=error.status_code))


def _find_tab(path: str) -> str:
    """Return the page of the head that the one at *path* belongs to."""
    return path if path == "/" else next((tab for tab, _, _ in TABS[1:] if path.startswith(tab)), "/memories")


def _find_self(request: Request) -> str:
    """Return the address at which the page is read again; that of a form is not, nor is what was done told twice."""
    if request.method != "GET":
        return "/"
    said = [(name, value) for name, value in request.query_params.multi_items() if name != "done"]
    return f"{request.url.path}?{urlencode(said)}" if said else request.url.path


def fail(error: Exception | str, typed: str = "", again: str = "", status: int = 0) -> Page:
    """Return the page that tells of *error*, with what was *typed* for it, and the address of what to read *again*."""
    return Page("failure.html", {"typed": typed, "again": again}, error, status)


def _status_of(error: Exception | str) -> int:
    if isinstance(error, str):
        return 200
    if isinstance(error, MemoryNotFound | AmbiguousId | SkillNotFound):
        return 404
    if isinstance(error, Changed):
        return 409
    return 500 if isinstance(error, OSError | StoreError) else 422


class Changes:
    """Counts the changes of what the pages show, for whoever waits for the next one in the event loop."""

    def __init__(self) -> None:
        self.count = 1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next = asyncio.Event()
        self._is_over = False

    def add(self) -> None:
        """Count one change; from any thread."""
        self.count += 1
        self._wake()

    def end(self) -> None:
        """Let everybody who listens go; from any thread."""
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def listen(self) -> AsyncIterator[str]:
        """Yield events for a browser: the count now, and each time it grows."""
        self._loop = asyncio.get_running_loop()
        told = 0
        while not self._is_over:
            bell = self._next
            if self.count != told:
                told = self.count
                yield f"event: change\ndata: {told}\n\n"
            try:
                await asyncio.wait_for(bell.wait(), _PATIENCE)
            except TimeoutError:
                yield ": still here\n\n"


def make_watcher(layout: Layout, add: Callable[[], object]) -> Watcher:
    """Return what calls *add* when anything that the pages show may have changed."""
    places = filter(None, (layout.project, layout.private, layout.global_))
    trees = {
        path: place.tree
        for place in places
        for path in (place.memories, place.pending, place.config, place.skills, place.local / "candidates")
    }
    return Watcher(dict.fromkeys(trees, add), trees=trees)
