"""People sign in by their organisation's provider (OpenID Connect), and get a token that ends.

A browser goes the way of the authorization code with PKCE. A client of MCP is told who gives tokens for this server (RFC
9728), and what the provider has signed for this address counts until it ends, or until who it is of signs out.
"""

from __future__ import annotations

import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from memsync.errors import HubError, Remedy, UsageError
from memsync.hub import access
from memsync.hub.ci import GITHUB, Issuers, ask, is_of_job, read_keys
from memsync.hub.database import Database
from memsync.net import is_local

if TYPE_CHECKING:
    from psycopg import Connection

SECRET: Final = "MEMSYNC_HUB_OIDC_SECRET"  # noqa: S105 - the name of a variable
RESOURCE: Final = "/.well-known/oauth-protected-resource"
DESCRIBED: Final = frozenset({RESOURCE, f"{RESOURCE}/mcp"})
CLAIMS: Final = ("email", "sub")  # what people are named by: no other is theirs alone at every provider
LASTS: Final = timedelta(hours=12)  # that a token, and being in a group, counts
_FRESH: Final = 3600.0  # seconds that what the provider says of itself is believed
_GROUPS: Final = 200


class Person(NamedTuple):
    """Whom the provider has named: by its *subject*, as a principal (None: it does not vouch for the name), and the groups (None: it names none)."""

    subject: str
    name: str | None
    groups: list[str] | None
    since: int


class _Provider(Issuers):
    """The one issuer of people's tokens, which may have its keys on another host."""

    def __init__(self, issuer: str, clock: Callable[[], float]) -> None:
        super().__init__([issuer], issuer, clock=clock)
        self._issuers = [issuer]  # as the provider writes itself, with a slash or without
        self._about: tuple[float, dict[str, Any]] = (float("-inf"), {})

    def find_place(self, name: str, *, is_needed: bool = True) -> str:
        """Return the address that the provider calls *name*; "" where it names none that *is_needed*.

        Raises:
            HubError
        """
        (issuer,) = self._issuers
        since, about = self._about
        if self._clock() - since > _FRESH:
            about = ask(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if about.get("issuer") != issuer:
                raise HubError(f"{issuer} calls itself something else; --sign-in takes the issuer as it says it")
            self._about = (self._clock(), about)
        place = about.get(name)
        if place is None and not is_needed:
            return ""
        if not isinstance(place, str) or not _is_safe(place):
            raise HubError(f"{issuer} names no https address as its {name}")
        return place

    def fetch_keys(self, issuer: str) -> dict[str, Any]:
        return read_keys(issuer, ask(self.find_place("jwks_uri")))


class SignIn:
    """The provider *issuer*, which knows this server, at *address*, as *client*; people are named by their *claim*."""

    def __init__(
        self,
        issuer: str,
        client: str,
        secret: str,
        address: str,
        claim: str = "email",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not client or not address:
            raise UsageError("--sign-in needs --client-id, and --audience: the address of this server")
        if not _is_safe(address):
            raise UsageError("--audience is the https address of this server, as people and programs reach it")
        if not _is_safe(issuer) or urlsplit(issuer).username:
            raise UsageError("--sign-in takes the https address of the provider, as it writes it as its issuer")
        self.issuer, self.address = issuer, address.rstrip("/")
        self._resources = (self.address, f"{self.address}/mcp")
        if client in (address, *self._resources) or issuer.rstrip("/") == GITHUB:
            raise UsageError("--client-id is not the server's address, and who signs for jobs signs for no people")
        self._client, self._secret, self._claim = client, secret, claim
        self._provider = _Provider(issuer, clock)

    def describe(self) -> dict[str, Any]:
        """Return who gives tokens for this server, as RFC 9728 has it."""
        return {
            "resource": f"{self.address}/mcp", "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"], "resource_name": "memsync hub",
        }  # fmt: skip

    def begin(self) -> tuple[str, str]:
        """Return where the browser goes to sign in, and what it keeps until it comes back.

        Raises:
            HubError: the provider is not reached.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self._client, "redirect_uri": f"{self.address}/callback",
            "scope": "openid profile email", "state": state, "nonce": nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        place = self._provider.find_place("authorization_endpoint")
        return f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(asked)}", f"{state}.{nonce}.{verifier}"

    def end(self, back: Mapping[str, str], kept: str) -> Person:
        """Return who has signed in, by what the browser brings *back* and what it *kept*.

        Raises:
            HubError: this is not what was begun, or the provider does not say who it is.
        """
        begun, _, rest = kept.partition(".")
        nonce, _, verifier = rest.partition(".")
        if not (nonce and verifier and _equal(begun, back.get("state", ""))):
            raise HubError("this sign-in was not begun in this browser, or too long ago; begin again")
        if back.get("iss", self.issuer) != self.issuer or not (code := back.get("code", "")):
            raise HubError("the provider has signed nobody in; begin again")
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": f"{self.address}/callback",
            "client_id": self._client, "code_verifier": verifier,
        }  # fmt: skip
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self._secret:
            pair = f"{quote(self._client, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        told = ask(self._provider.find_place("token_endpoint"), headers, urlencode(form).encode())
        claims = self._provider.find_claims(str(told.get("id_token", "")), self._client)
        if not claims or claims.get("azp", self._client) != self._client or not _equal(nonce, claims.get("nonce")):
            raise HubError("the provider's word on who signed in does not count here; begin again")
        if self._claim not in claims or "groups" not in claims:
            claims = {**self._ask_userinfo(told.get("access_token"), claims["sub"]), **claims}
        person = self._read_person(claims)
        if person is None or person.name is None:
            raise HubError(f"the provider does not say, or does not vouch for, the {self._claim} of who signed in")
        return person

    def _ask_userinfo(self, token: object, subject: str) -> dict[str, Any]:
        """Return what the provider says of *subject* beside the signed token, as many do of mail and groups.

        Raises:
            HubError
        """
        place = self._provider.find_place("userinfo_endpoint", is_needed=False)
        if not place or not isinstance(token, str):
            return {}
        told = ask(place, {"Authorization": f"Bearer {token}", "Accept": "application/json"})
        return told if told.get("sub") == subject else {}

    def find_bearer(self, database: Database, token: str) -> access.Bearer | None:
        """Return whom *token* stands for, where the provider has signed it for this server and it counts now.

        Raises:
            HubError
        """
        claims = self._provider.find_claims(token, self._resources)
        person = self._read_person(claims) if claims and not is_of_job(claims) else None
        if person is None:
            return None
        with database.writing() as connection:
            found = admit(connection, person)
        if found is None:
            return None
        number = -int.from_bytes(sha256(f"person {found[1]}".encode()).digest()[:8], "big")
        return access.Bearer(number, *found, frozenset({"search"}))

    def _read_person(self, claims: Mapping[str, Any]) -> Person | None:
        """Return the person of verified *claims*; an address of mail is theirs only where the provider has checked it."""
        if not _is_name(claims["sub"]):
            return None
        name, groups = claims.get(self._claim), claims.get("groups")
        has_name = _is_name(name) and (self._claim != "email" or claims.get("email_verified") is True)
        return Person(
            f"{self.issuer} {claims['sub']}",
            f"oidc:{name}" if has_name else None,
            [one for one in groups if _is_name(one)][:_GROUPS] if isinstance(groups, list) else None,
            int(claims["iat"]),
        )


def enter(connection: Connection[Any], person: Person) -> int:
    """Return the principal of *person*, who has just signed in: in the groups that the provider names now, and in no others that it named.

    Raises:
        HubError: the name is another's.
    """
    principal = _claim(connection, person)
    connection.execute("update principal set told_at = to_timestamp(%s) where id = %s", [person.since, principal])
    _set_groups(connection, principal, person.groups or ())
    return principal


def admit(connection: Connection[Any], person: Person) -> tuple[int, str] | None:
    """Return the principal, and its name, of what was signed for *person* some time ago; None where it counts no more.

    Its groups count only where nothing newer has told of them.
    """
    said = {"since": person.since, "subject": person.subject, "name": person.name, "lasts": LASTS}
    counts = (  # looked at before it takes a name
        "select to_timestamp(%(since)s) + %(lasts)s > now() and not exists (select from principal where signed_out_at >= to_timestamp(%(since)s)"
        " and (subject = %(subject)s or (subject is null and name = %(name)s)))"
    )
    if connection.execute(counts, said).fetchone() != (True,):
        return None
    if person.name is not None:
        try:
            _claim(connection, person)
        except HubError:
            return None
    row = connection.execute("select id, name from principal where subject = %(subject)s", said).fetchone()
    if row is None:
        return None
    is_newer = (
        "update principal set told_at = to_timestamp(%(since)s) where subject = %(subject)s"
        " and coalesce(greatest(told_at, signed_out_at), '-infinity') < to_timestamp(%(since)s)"
    )
    if person.groups is not None and connection.execute(is_newer, said).rowcount:
        _set_groups(connection, row[0], person.groups, since=person.since)
    return row[0], row[1]


def sign_out(connection: Connection[Any], principal: int, *, forget: bool = False) -> None:
    """End all that *principal* has signed in with: tokens, what the provider signed until now, groups that it named.

    With *forget* whoever signs in next by that name is it.
    """
    connection.execute(  # first, so that what is under way for them is done before, or sees this
        "update principal set signed_out_at = greatest(clock_timestamp(), told_at),"
        " subject = case when %s then null else subject end where id = %s",
        [forget, principal],
    )
    connection.execute("update token set revoked_at = now() where principal = %s and revoked_at is null", [principal])
    connection.execute("delete from member where principal = %s and source = 'oidc'", [principal])


def make_token(connection: Connection[Any], bearer: access.Bearer, name: str) -> str:
    """Return a token for a program of *bearer*, whose own is in a browser; it ends when that one does.

    Raises:
        HubError: that one is not of a sign-in, or has ended.
    """
    connection.execute("select from principal where id = %s for update", [bearer.principal])  # beside `sign_out`
    row = connection.execute(
        "select until - now() from token where id = %s and is_session and revoked_at is null and until > now()",
        [bearer.token],
    ).fetchone()
    if row is None:
        raise HubError("this sign-in has ended; sign in again")
    return access.make_token(connection, bearer.principal, name=name, scopes=["search"], lasting=row[0])


def _claim(connection: Connection[Any], person: Person) -> int:
    """Return the principal of *person*; the first who comes by a name has it."""
    if (
        known := connection.execute("select id from principal where subject = %s", [person.subject]).fetchone()
    ) is not None:
        return int(known[0])
    principal = access.have_principal(connection, person.name or "")
    done = connection.execute(
        "update principal set subject = %(subject)s where id = %(id)s and coalesce(subject, %(subject)s) = %(subject)s"
        " and name = %(name)s",
        {"subject": person.subject, "id": principal, "name": person.name},
    )
    if not done.rowcount:
        name = person.name or ""
        raise HubError(
            f"{name} is somebody else at the provider; where that is the same person, whoever runs the hub says ",
            Remedy("hub sign-out", "--forget", name),
        )
    return principal


def _set_groups(
    connection: Connection[Any], principal: int, groups: Sequence[str], *, since: float | None = None
) -> None:
    """Have *principal* be in *groups* of the provider for some time, from *since* (now) on; whom else a person has put there stays."""
    connection.execute("delete from member where principal = %s and source = 'oidc'", [principal])
    ids = [access.have_principal(connection, f"oidc-group:{one}") for one in groups]
    connection.execute(
        "insert into member (principal, team, until, source) select %s, team, coalesce(to_timestamp(%s), now()) + %s, 'oidc' from unnest(%s::int[]) as u (team)"
        " on conflict (principal, team) do update set until = excluded.until, source = excluded.source where member.until <= now()",
        [principal, since, LASTS, ids],
    )


def _is_name(said: object) -> bool:
    """Tell whether what the provider has *said* can be a name that is not taken for another's."""
    return isinstance(said, str) and 0 < len(said) <= 180 and said.isprintable() and said == said.strip()


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and is_local(parts.hostname or ""))


def _equal(one: str, other: object) -> bool:
    return isinstance(other, str) and compare_digest(one.encode(), other.encode("utf-8", "replace"))
