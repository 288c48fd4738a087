"""Which CI job pushes: told by its forge in a signed token (OpenID Connect), so that no secret of ours has to be in the CI.

The token says which repository, branch and commit the job is about, and nothing else is taken from it.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from memsync.errors import HubError, UsageError
from memsync.net import is_local, redact

GITHUB: Final = "https://token.actions.githubusercontent.com"
GITLAB: Final = "https://gitlab.com"
NAMED: Final[Mapping[str, str]] = {"github": GITHUB, "gitlab": GITLAB}
_ALGORITHMS: Final = ["RS256", "ES256"]  # never what a token asks for: "none", or a public key taken for a shared one
_NEEDED: Final = ["iss", "aud", "exp", "iat", "sub"]
_LEEWAY: Final = 60  # seconds that two clocks may differ
_SECONDS: Final = 10
_LARGEST: Final = 1024 * 1024
_FRESH: Final = 3600.0  # seconds that an issuer's keys are believed
_PATIENCE: Final = 30.0  # seconds between two looks for a key that was not there
# What runs what was merged; a pull request's job may have a token for the branch that it wants to be merged into.
_EVENTS: Final = frozenset({"push", "schedule", "workflow_dispatch", "web", "api", "trigger"})


class Job(NamedTuple):
    """What a job runs for: the web address of its repository, its branch, and the commit."""

    repository: str
    branch: str
    commit: str


class Issuers:
    """The forges whose tokens count here, for the one *audience*; their keys are fetched when first needed."""

    def __init__(self, issuers: list[str], audience: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuers = [NAMED.get(one, one).rstrip("/") for one in issuers]
        self._audience = audience
        self._clock = clock
        self._mutex = threading.Lock()
        self._keys: dict[str, tuple[float, dict[str, Any]]] = {}
        for issuer in self._issuers:
            _check(issuer)
        if issuers and not audience:
            raise UsageError("--oidc needs --audience: the address of this server, for which alone a token counts")

    def knows(self, issuer: str) -> bool:
        """Tell whether *issuer* is one of these."""
        return issuer.rstrip("/") in self._issuers

    def find_job(self, token: str) -> Job | None:
        """Return the job that *token* is of; None unless one of the issuers has signed it for us, and it counts now.

        Raises:
            HubError: the issuer's keys are not reached.
        """
        claims = self.find_claims(token, self._audience)
        return read_job(claims["iss"], claims) if claims else None

    def find_claims(self, token: str, audience: str | Sequence[str]) -> dict[str, Any] | None:
        """Return what *token* says; None unless one of the issuers has signed it for *audience*, and it counts now.

        Raises:
            HubError: the issuer's keys are not reached.
        """
        import jwt

        try:
            head, said = jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError):
            return None
        issuer, kid = said.get("iss"), head.get("kid")
        if issuer not in self._issuers or not isinstance(kid, str) or (key := self._find_key(issuer, kid)) is None:
            return None
        try:
            return jwt.decode(
                token, key.key, algorithms=_ALGORITHMS, audience=audience, issuer=issuer, leeway=_LEEWAY,
                options={"require": _NEEDED},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError):
            return None

    def _find_key(self, issuer: str, kid: str) -> Any:
        """Return the key *kid* of *issuer*; one that is not known is looked for again, but not at every guess."""
        with self._mutex:
            since, keys = self._keys.get(issuer, (float("-inf"), {}))
            age = self._clock() - since
            if age >= _FRESH or (kid not in keys and age >= _PATIENCE):
                self._keys[issuer] = (self._clock(), keys)  # who does not answer is not asked at every request either
                keys = self.fetch_keys(issuer)
                self._keys[issuer] = (self._clock(), keys)
            return keys.get(kid)

    def fetch_keys(self, issuer: str) -> dict[str, Any]:
        """Return the keys that *issuer* signs with, by their names; a forge has them on its own host.

        Raises:
            HubError
        """
        place = ask(f"{issuer}/.well-known/openid-configuration").get("jwks_uri")
        if not isinstance(place, str) or urlsplit(place)[:2] != urlsplit(issuer)[:2]:
            raise HubError(f"{issuer} names no keys of its own")
        return read_keys(issuer, ask(place))


def read_keys(issuer: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return the keys for signing in what *issuer* has *told*, by their names.

    Raises:
        HubError
    """
    import jwt

    try:
        found = jwt.PyJWKSet.from_dict(told).keys
    except (jwt.PyJWTError, LookupError, TypeError, ValueError):
        raise HubError(f"{issuer} has no keys that can be read") from None
    return {key.key_id: key for key in found if key.key_id and key.public_key_use in (None, "sig")}


def is_of_job(claims: Mapping[str, Any]) -> bool:
    """Tell whether *claims* are those of a job of a CI, as GitHub and GitLab make them, which may sign for people too."""
    return "event_name" in claims or "pipeline_source" in claims


def read_job(issuer: str, claims: Mapping[str, Any]) -> Job | None:
    """Return the job of verified *claims* as GitHub or GitLab make them; None where it runs for no branch's push. Pure."""
    said = {name: value for name, value in claims.items() if isinstance(value, str)}
    event = said.get("event_name") or said.get("pipeline_source", "")
    if event not in _EVENTS or said.get("ref_type") != "branch":
        return None
    ref, commit = said.get("ref", ""), said.get("sha", "")
    if "repository" in said:  # GitHub, also an enterprise's own
        host = "https://github.com" if issuer == GITHUB else f"https://{urlsplit(issuer).netloc}"
        path, branch = said["repository"], ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
    else:
        host, path, branch = issuer, said.get("project_path", ""), ref
    return Job(f"{host}/{path}", branch, commit) if path and branch and commit else None


def _check(issuer: str) -> None:
    parts = urlsplit(issuer)
    if (parts.scheme != "https" and not (parts.scheme == "http" and is_local(parts.hostname or ""))) or parts.username:
        raise UsageError("--oidc takes github, gitlab, or the https address of an issuer of your own")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nobody: who has the address of an issuer says what its keys are, and a token is for one server."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER: Final = urllib.request.build_opener(_Stay)


def ask(url: str, headers: Mapping[str, str] | None = None, data: bytes | None = None) -> dict[str, Any]:
    """Return the object that the server at *url* answers, to *data* where there is any; follows nobody elsewhere.

    Raises:
        HubError
    """
    secret = (headers or {}).get("Authorization", "")
    request = urllib.request.Request(url, data, headers={"User-Agent": "memsync", **(headers or {})})  # noqa: S310 - checked by the caller
    try:
        with OPENER.open(request, timeout=_SECONDS) as answer:
            told = json.loads(answer.read(_LARGEST))
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise HubError(f"{urlsplit(url).netloc} answers {error.code}") from None
    except (OSError, ValueError, HTTPException) as error:
        raise HubError(f"{urlsplit(url).netloc} does not answer: {redact(str(error), secret)}") from None
    if not isinstance(told, dict):
        raise HubError(f"{urlsplit(url).netloc} answers something else than an object")
    return told


def own_token(audience: str, env: Mapping[str, str]) -> str:
    """Return the token that this job's forge gives it for *audience*; "" where this is no such job.

    GitLab puts it into MEMSYNC_HUB_ID_TOKEN (`id_tokens:`); GitHub is asked, where the job has `id-token: write`.

    Raises:
        HubError
    """
    if said := env.get("MEMSYNC_HUB_ID_TOKEN", ""):
        return said
    url, key = env.get("ACTIONS_ID_TOKEN_REQUEST_URL", ""), env.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")
    if not url or not key:
        return ""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local(parts.hostname or "")):
        raise HubError("the CI names no https address that gives tokens")
    wanted = f"{url}{'&' if parts.query else '?'}audience={quote(audience, safe='')}"
    return str(ask(wanted, {"Authorization": f"Bearer {key}"}).get("value", ""))
