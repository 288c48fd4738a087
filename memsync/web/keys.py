"""The secrets of one run of the desk, and its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_urlsafe


@dataclass(frozen=True)
class Keys:
    """The secrets of one run, and where it listens. The address has the `token`, the cookie the `pass_`, the forms `form`."""

    port: int
    token: str = field(default_factory=lambda: token_urlsafe(24))
    pass_: str = field(default_factory=lambda: token_urlsafe(24))
    form: str = field(default_factory=lambda: token_urlsafe(24))

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a browser may call us: a name that leads here by somebody else's doing is not among them."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost"))

    @property
    def cookie(self) -> str:
        """The name of the cookie; it has the port, because cookies of one host are shared by all its ports."""
        return f"memsync-{self.port}"
