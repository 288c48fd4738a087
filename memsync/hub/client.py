"""A hub that somebody else serves, asked over HTTP with a token."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from memsync.errors import HubError, Remedy
from memsync.hub.config import Settings
from memsync.hub.nominate import Filters
from memsync.hub.search import HubHit, HubRecall
from memsync.net import is_local, redact
from memsync.records import Memory, parse_time
from memsync.system.limits import read_json

_SECONDS: Final = 30
_LARGEST: Final = 16 * 1024 * 1024


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nobody: the token is for this server."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_Stay)


def search(settings: Settings, text: str, *, limit: int, filters: Filters) -> HubRecall:
    """Return what the server has on *text* for whom our token stands for.

    Raises:
        HubError
    """
    told = post(settings, "/v1/search", {"query": text, "limit": limit, **asdict(filters)})
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
                  copy_of=told.get("copy_of"))  # fmt: skip


def post(settings: Settings, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send *body* to the server and return what it answers.

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
    request = urllib.request.Request(settings.server + path, json.dumps(body).encode(), headers)  # noqa: S310 - http or https, as just seen
    try:
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            told = read_json(answer.read(_LARGEST + 1))
    except urllib.error.HTTPError as error:
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
