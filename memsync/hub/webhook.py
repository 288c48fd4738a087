"""What a forge tells when somebody pushes: is it from the forge, and which repository is it about. Pure."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memsync.hub.search import web_address
from memsync.system.limits import read_json


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
