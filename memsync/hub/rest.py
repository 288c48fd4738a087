"""The hub over HTTP: search, what may be read, push, webhook, health, metrics. Each one call, as in the commands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memsync import __version__
from memsync.errors import HubError, MemsyncError, PushRefused, Remedy
from memsync.hub import access, search, sync, webhook
from memsync.hub.door import Meter
from memsync.hub.hub import Hub, read_status
from memsync.hub.intake import LARGEST, MEMORIES, SKILLS, version
from memsync.hub.nominate import Filters
from memsync.hub.remote import Tip
from memsync.records import parse_time

if TYPE_CHECKING:
    from starlette.requests import Request

_SMALL: Final = 1024 * 1024  # bytes of a request that is not a push
_FILES: Final = 500
_USUAL: Final = ("main", "master")  # what a repository of which nothing is known may push


class Ask(BaseModel):
    """A query, and what it is narrowed to."""

    model_config = ConfigDict(extra="forbid")
    query: str = Field(min_length=1, max_length=search.LONGEST)
    limit: int = Field(15, ge=1, le=100)
    kind: str = Field("memory", pattern="^(memory|skill)$")
    repositories: list[str] = Field([], max_length=100)
    memory_type: str | None = None
    tags_all: list[str] = Field([], max_length=20)
    tags_any: list[str] = Field([], max_length=20)
    tags_none: list[str] = Field([], max_length=20)
    min_importance: float = Field(0.0, ge=0, le=1)

    def filters(self) -> Filters:
        """Return what it is narrowed to."""
        lists = {name: tuple(getattr(self, name)) for name in ("repositories", "tags_all", "tags_any", "tags_none")}
        return Filters(**lists, kind=self.kind, memory_type=self.memory_type, min_importance=self.min_importance)


class Part(BaseModel):
    """Which part of a long list is asked for: the first after a repository's URL."""

    model_config = ConfigDict(extra="forbid")
    limit: int | None = Field(None, ge=1)
    after: str = ""


class Push(BaseModel):
    """The files of a commit of a repository's default branch, by their paths."""

    model_config = ConfigDict(extra="forbid")
    repository: str
    branch: str = Field(max_length=300)
    commit: str = Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")
    committed_at: AwareDatetime | None = None  # by its committer; what is older than what is here is refused
    files: dict[str, str] = Field(max_length=_FILES)


class Rest:
    """The endpoints over one open hub; *secret* is what webhooks are signed with, "" where there are none."""

    def __init__(self, hub: Hub, meter: Meter, secret: str) -> None:
        self._hub = hub
        self._meter = meter
        self._secret = secret
        self._turn = threading.Lock()
        self._is_syncing = False

    def routes(self) -> list[Route]:
        """Return where each endpoint is."""
        return [
            Route("/livez", self.live, methods=["GET"]),
            Route("/readyz", self.health, methods=["GET"]),
            Route("/openapi.json", self.describe, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/v1/search", self.search, methods=["POST"]),
            Route("/v1/repositories", self.repositories, methods=["GET"]),
            Route("/v1/push", self.push, methods=["POST"]),
            Route("/webhook", self.webhook, methods=["POST"]),
        ]

    async def live(self, _: Request) -> Response:
        """Say that this process answers, whatever its database does: to start it again would not help that."""
        return JSONResponse({"ok": True})

    async def health(self, _: Request) -> Response:
        """Say whether the database answers, within seconds."""
        return await _answer(self._health)

    def _health(self) -> dict[str, Any]:
        if not self._hub.database.answers():
            raise HubError("the hub's database does not answer")
        return {"ok": True}

    async def describe(self, _: Request) -> Response:
        """Return the description of this interface."""
        return JSONResponse(describe())

    async def metrics(self, _: Request) -> Response:
        """Return what is counted."""
        gauges = await anyio.to_thread.run_sync(self._count)
        return PlainTextResponse(self._meter.text(gauges), media_type="text/plain; version=0.0.4")

    def _count(self) -> dict[str, float]:
        with self._hub.database.writing() as connection:
            about = read_status(connection)
            due, oldest = webhook.count_due(connection)
        repositories = about["repositories"]
        return {
            "repositories": len(repositories),
            "repositories_pushed": sum(one["pushed"] for one in repositories),
            "repositories_gone": sum(one["state"] == "gone" for one in repositories),
            "repositories_due": due,
            "oldest_due_timestamp_seconds": oldest,
            "last_sync_timestamp_seconds": synced.timestamp() if (synced := parse_time(about["synced_at"])) else 0.0,
            "repositories_failing": sum(one["state"] not in ("ok", "new") for one in repositories),
            "memories": about["memories"],
            "skills": about["skills"],
            "bytes": about["bytes"],
        }

    async def search(self, request: Request) -> Response:
        """Answer a query for whom the token stands for."""
        return await _answer(self._search, request.scope["bearer"], await _body(request, _SMALL))

    def _search(self, bearer: access.Bearer, body: bytes) -> dict[str, Any]:
        ask = Ask.model_validate_json(body)
        found = search.search(
            self._hub.database,
            self._hub.meaning,
            bearer,
            ask.query,
            limit=ask.limit,
            filters=ask.filters(),
            face="rest",
        )
        return found.as_dict()

    async def repositories(self, request: Request) -> Response:
        """List what whom the token stands for may read."""
        return await _answer(self._repositories, request.scope["bearer"], dict(request.query_params))

    def _repositories(self, bearer: access.Bearer, asked: dict[str, str]) -> dict[str, Any]:
        part = Part.model_validate(asked)
        with self._hub.database.reading(bearer.principal) as connection:
            rows = connection.execute(
                "select name, url, branch, commit, memories, skills, pushed from repo where %(after)s = ''"
                " or (name, url) > (select name, url from repo where url = %(after)s) order by name, url limit %(limit)s",
                part.model_dump(),
            ).fetchall()
        names = ("name", "url", "branch", "commit", "memories", "skills", "pushed")
        return {"repositories": [dict(zip(names, row, strict=True)) for row in rows]}

    async def push(self, request: Request) -> Response:
        """Take what a CI sends of a repository that we cannot reach."""
        return await _answer(self._push, request.scope["bearer"], await _body(request, LARGEST + _SMALL))

    def _push(self, bearer: access.Bearer, body: bytes) -> dict[str, Any]:
        push = Push.model_validate_json(body)
        known = self._find_pushed(bearer, push)
        files = {path: text.encode() for path, text in push.files.items() if is_ours(path)}
        tip = Tip(branch=push.branch, commit=push.commit)
        if known.branch and known.branch != push.branch:
            raise PushRefused(f"the default branch of {known.name} is {known.branch}; what is not merged is not taken")
        if not known.branch and push.branch not in _USUAL:
            raise PushRefused(f"the default branch of {known.name} is not known; ", Remedy("hub add", known.url, "--branch", push.branch),
                           " says that it is this one")  # fmt: skip
        outcome = sync.settle(
            self._hub.database,
            self._hub.meaning,
            known,
            sync.Fetched(tip=tip, files=files, pushed=True, committed_at=push.committed_at),
            version(),
        )
        with self._hub.database.writing() as connection:
            access.note(connection, bearer.name, "rest", "push", repos=1, hits=outcome.put)
        return {"what": outcome.what, "put": outcome.put, "removed": outcome.removed, "note": outcome.note}

    def _find_pushed(self, bearer: access.Bearer, push: Push) -> sync.Known:
        """Return the repository that *push* is about: of those that a principal may push to, or the one that a CI's job is of."""
        if bearer.job is None:
            with self._hub.database.reading(bearer.principal) as connection:
                known = sync.find(connection, push.repository)
            with self._hub.database.writing() as connection:
                if access.may_push(connection, bearer.principal, known.id):
                    return known
            raise PushRefused(f"{bearer.name} may read {known.name}, but not push to it; ",
                              Remedy("hub grant --push", bearer.name, known.url), " lets it")  # fmt: skip
        if (push.branch, push.commit) != (bearer.job.branch, bearer.job.commit):
            raise PushRefused("the token of this job is for another branch or commit")
        with self._hub.database.writing() as connection:
            for known in sync.list_known(connection):
                if search.web_address(known.url).lower() == bearer.job.repository.lower():
                    return known
        raise HubError("the hub has no repository of this job's; ", Remedy("hub add", "URL"), " adds one")

    async def webhook(self, request: Request) -> Response:
        """Sync the repository that a forge says was pushed to; in the background, because forges do not wait."""
        body = await _body(request, 25 * _SMALL)
        if body is None or not webhook.is_genuine(self._secret, request.headers, body):
            return JSONResponse({"error": "the signature does not match"}, 403)
        id_ = request.headers.get("x-github-delivery") or request.headers.get("x-gitlab-event-uuid") or ""
        return await _answer(self._take_webhook, body, id_, status=202)

    def _take_webhook(self, body: bytes, delivery: str) -> dict[str, Any]:
        """Note which repositories are due, each once however often a forge tells it, and have one thread sync them."""
        with self._hub.database.writing() as connection:
            known = [(one.id, one.url) for one in sync.list_known(connection)]
            pushed = webhook.find_pushed(body, known)
            if delivery and not webhook.is_new(connection, delivery):
                raise PushRefused("this delivery was taken before")
            webhook.note_due(connection, pushed)
        with self._turn:
            if pushed and not self._is_syncing:
                self._is_syncing = True
                threading.Thread(target=self._sync_due, name="memsync-webhook").start()
        return {"repositories": len(pushed)}

    def _sync_due(self) -> None:
        has_more = True
        try:
            while has_more:
                with self._turn, self._hub.database.writing() as connection:
                    urls = webhook.take_due(connection)
                    self._is_syncing = has_more = bool(urls)
                if urls:
                    sync.sync(self._hub.database, self._hub.meaning, refs=urls)
        except MemsyncError as error:
            sync.log.warning("the webhook's sync failed: %s", error)
        finally:
            if has_more:  # else another thread may have begun
                self._is_syncing = False


def is_ours(path: str) -> bool:
    """Tell whether *path* is a file that the hub reads."""
    return path == MEMORIES or (path.startswith(f"{SKILLS}/") and path.endswith("/SKILL.md") and path.count("/") == 3)


async def _body(request: Request, most: int) -> bytes | None:
    """Return the body; None where it has more than *most* bytes, which are not read."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


async def _answer(call: Callable[..., dict[str, Any]], *values: Any, status: int = 200) -> Response:
    """Return what *call* returns as JSON, or why it does not."""
    if None in values:
        return JSONResponse({"error": "the request is too large"}, 413)
    try:
        return JSONResponse(await anyio.to_thread.run_sync(call, *values), status)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return JSONResponse({"error": f"{'.'.join(map(str, first['loc'])) or 'the request'}: {first['msg']}"}, 400)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 400)
    except PushRefused as error:
        return JSONResponse({"error": str(error)}, 409)
    except HubError as error:
        return JSONResponse({"error": str(error)}, 503 if "database" in str(error) else 404)


def describe() -> dict[str, Any]:
    """Return the interface as OpenAPI 3.1."""

    def call(summary: str, body: type[BaseModel] | None = None, *, scope: str = "") -> dict[str, Any]:
        schema = body.model_json_schema() if body else {}
        takes = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
        return {
            "summary": summary,
            "responses": {"200": {"description": "done"}, "default": {"description": "an object with `error`"}},
            **({"security": [{"bearer": []}], "x-scope": scope} if scope else {"security": []}),
            **(takes if body else {}),
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": "memsync hub", "version": __version__},
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/search": {"post": call("Search what may be read", Ask, scope="search")},
            "/v1/repositories": {"get": call("List what may be read", scope="search")},
            "/v1/push": {"post": call("Bring a repository's files from CI", Push, scope="push")},
            "/mcp": {"post": call("MCP over streamable HTTP: the tool search_hub", scope="search")},
            "/webhook": {"post": call("Hear of a push, signed by the forge")},
            "/metrics": {"get": call("Counts for Prometheus", scope="metrics")},
            "/livez": {"get": call("Whether this process answers")},
            "/readyz": {"get": call("Whether the database answers")},
        },
    }
