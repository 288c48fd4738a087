"""Whom embedders and language models may ask: addresses, which key goes to which server, retries, what messages may show."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

BUSY: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
NO_KEY: Final = frozenset({401, 403})
VENDORS: Final = {"ANTHROPIC": "https://api.anthropic.com", "OPENAI": "https://api.openai.com"}

_LONGEST_MESSAGE: Final = 200
_LEAST_SECONDS: Final = 0.01

Answer = TypeVar("Answer")


class Busy(Exception):
    """The server may answer when asked again, after *wait* seconds if it says so."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where requests go, and the key for it; "" where it gets none."""

    url: str
    key: str = field(repr=False)
    is_local: bool


def choose_key(url: str, env: Mapping[str, str], *, own: str, vendor: str) -> Server:
    """Return the server at the clean *url* with the key that may be sent there.

    The key in *own* goes wherever its user points us; that of the vendor to the vendor, to where the environment
    points it, and to this machine. That no repository chooses the server is for `trust`.

    Raises:
        ValueError: the key cannot be one.
    """
    local = is_local(urlsplit(url).hostname or "")
    key = env.get(own, "").strip()
    if not key and (local or is_of_vendor(url, env, vendor)):
        key = env.get(f"{vendor}_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"the key in {own} or {vendor}_API_KEY has a character that no key has; set it again")
    return Server(url=url, key=key, is_local=local)


def is_of_vendor(url: str, env: Mapping[str, str], vendor: str) -> bool:
    """Tell whether *url* is the vendor's, or where the environment says that the vendor is asked."""
    bases = (VENDORS[vendor], env.get(f"{vendor}_BASE_URL", "").strip())
    return any(base and f"{url}/".startswith(f"{base.rstrip('/')}/") for base in bases)


def clean_url(text: str, what: str, own: str) -> str:
    """Return the base address in *text* in its one spelling; *what* names it, and *own* where its key belongs.

    Raises:
        ValueError: it is not valid; the message does not repeat what may be a password.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not text.isascii() or not text.isprintable() or " " in text.strip():
        raise ValueError(f"{what} cannot be read; write it as http://HOST:PORT/v1")
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{what} starts with neither http:// nor https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"{what} has more than a path; put the key into {own}")
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def is_local(host: str) -> bool:
    """Tell whether *host* is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def redact(text: str, key: str) -> str:
    """Return what a server says as it may be shown: one line of 200 characters at most, without the key."""
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return (line.replace(key, "***") if key else line)[:_LONGEST_MESSAGE]


def parse_wait(headers: Any) -> float | None:
    """Return the seconds that a server asks to wait; the form with a date is not used by these servers."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(wait, 0.0) if math.isfinite(wait) else None
    return None


def ask_again(
    ask: Callable[[float], Answer],
    pauses: Iterable[float],
    *,
    until: float,
    each: float = math.inf,
    longest: float = math.inf,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> Answer:
    """Return what *ask* returns when given its seconds, at most *each*; when it is Busy ask again, once for each pause.

    A pause that ends after *until*, or for which the server wants more than *longest* seconds, is not begun.
    """
    left = iter(pauses)
    while True:
        try:
            return ask(max(min(each, until - clock()), _LEAST_SECONDS))
        except Busy as busy:
            pause = next(left, None)
            wait = pause if busy.wait is None else busy.wait
            if pause is None or wait is None or wait > longest or clock() + wait >= until:
                raise
            sleep(wait)
