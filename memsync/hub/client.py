"""A hub that somebody else serves, asked over HTTP with a token."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from memsync.errors import HubError, Remedy
from memsync.hub.ci import OPENER
from memsync.hub.config import Settings
from memsync.hub.nominate import Filters
from memsync.hub.search import HubHit, HubRecall
from memsync.net import is_local, redact
from memsync.records import Memory, parse_time
from memsync.system.limits import read_json

_SECONDS: Final = 30
_PUSHED: Final = 600  # of 20,000 records into a live index 40 on two shared cores
_LARGEST: Final = 16 * 1024 * 1024


def search(settings: Settings, text: str, *, limit: int, filters: Filters) -> HubRecall:
    """Return what the server has on *text* for whom our token stands for.

    Raises:
        HubError
    """
    told = call(settings, "/v1/search", {"query": text, "limit": limit, **asdict(filters)})
    try:
        return HubRecall(
            query=text,
            hits=tuple(_read_hit(hit) for hit in told["memories"]),
            gate=float(told["gate"]),
            floor=float(told["floor"]),
            degraded=str(told["degraded"]),
            repositories=int(told["repositories"]),
            records=int(told["records"]),
        )
    except (LookupError, TypeError, ValueError):
        raise HubError("the hub's server answers something else than a recall; is it of another version?") from None


def _read_hit(told: Mapping[str, Any]) -> HubHit:
    written = parse_time(told["written_at"])
    memory = Memory(id=told["id"], content=told["content"], memory_type=told["memory_type"],
                    importance=float(told["importance"]), tags=tuple(map(str, told["tags"])), updated_at=written)  # fmt: skip
    places = {name: str(told[name]) for name in ("repository", "url", "link", "kind")}
    return HubHit(**places, memory=memory, score=float(told["score"]), confidence=float(told["confidence"]),
                  copy_of=told.get("copy_of"), also_in=int(told.get("also_in", 0)))  # fmt: skip


def list_repositories(settings: Settings) -> list[dict[str, Any]]:
    """Return what whom our token stands for may read, with how much is in it.

    Raises:
        HubError
    """
    found = call(settings, "/v1/repositories").get("repositories")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise HubError("the hub's server answers something else than repositories; is it of another version?")
    return [
        {"name": str(one.get("name")), "url": str(one.get("url"))}
        | {kind: one[kind] if isinstance(one.get(kind), int) else 0 for kind in ("memories", "skills")}
        for one in found
    ]


def push(settings: Settings, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send the files of a commit and return what became of them; what is many is written for minutes.

    Raises:
        HubError
    """
    return call(settings, "/v1/push", body, seconds=_PUSHED)


def call(
    settings: Settings, path: str, body: Mapping[str, Any] | None = None, *, seconds: float = _SECONDS
) -> dict[str, Any]:
    """Send *body*, or ask without one, and return what the server answers.

    Raises:
        HubError: it does not answer, refuses, or would get our token unencrypted.
    """
    parts = urlsplit(settings.server)
    if not settings.token:
        raise HubError(
            "there is no token for the hub's server; set MEMSYNC_HUB_TOKEN to one of ", Remedy("hub token make NAME")
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local(parts.hostname or "")):
        raise HubError("the hub's server is named by no https, which would show the token to others; name it by https")
    headers = {"Authorization": f"Bearer {settings.token}", "Content-Type": "application/json", "User-Agent": "memsync"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(settings.server + path, data, headers)  # noqa: S310 - http or https, as just seen
    try:
        with OPENER.open(request, timeout=seconds) as answer:
            told = read_json(answer.read(_LARGEST + 1))
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.UNAUTHORIZED:
            raise HubError("the hub's server takes our token no more, or never did; set MEMSYNC_HUB_TOKEN to one that ",
                           Remedy("hub token make NAME"), " prints there") from None  # fmt: skip
        raise HubError(f"the hub's server answers {error.code}: {_why(error, settings.token)}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise HubError(f"the hub's server does not answer: {redact(str(error), settings.token)}") from None
    if not isinstance(told, dict):
        raise HubError("the hub's server answers something else than an object")
    return told


def _why(error: urllib.error.HTTPError, token: str) -> str:
    try:
        told = read_json(error.read(_LARGEST))
        return redact(str(told["error"]), token)
    except (OSError, ValueError, LookupError, TypeError):
        return redact(error.reason, token)
