"""What `memsync ui` does first: a port of this machine and a line with the address, before anything heavy is loaded."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import webbrowser
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from memsync.errors import Remedy, UsageError
from memsync.store.places import Layout, locate
from memsync.system import programs

_FIRST: Final = 17_000  # of the ports that projects are given: below those that systems hand out themselves
_PORTS: Final = 15_000
_TRIES: Final = 20


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


@contextmanager
def open_port(
    start: Path, *, port: int | None, opens: bool, say: Callable[[str], None]
) -> Iterator[tuple[Layout, Keys, socket.socket]]:
    """Listen for the project that *start* is in, and yield where it is, its keys and the socket; *say* tells the address.

    Raises:
        UsageError: *port* is taken.
    """
    layout = locate(start)
    with ExitStack() as stack:
        listener = stack.enter_context(listen(layout.root or layout.start, port))
        keys = Keys(listener.getsockname()[1])
        say(keys.url)
        if opens and _has_screen():
            stack.enter_context(_opened(keys.url))
        yield layout, keys, listener


def listen(root: Path, port: int | None) -> socket.socket:
    """Return a socket of this machine alone that listens: on *port*, else on the project's own, else near it.

    Raises:
        UsageError: *port* is taken.
    """
    own = _FIRST + zlib.crc32(os.fsencode(root)) % _PORTS
    for one in (port,) if port is not None else range(own, own + _TRIES):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would let two processes have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a page's body waits 40 ms behind its head
        try:
            listener.bind(("127.0.0.1", one))
            listener.listen(128)
        except OSError as error:
            listener.close()
            last = error
        else:
            return listener
    taken = f"port {port}" if port is not None else f"each port from {own} to {own + _TRIES - 1}"
    raise UsageError(f"{taken} cannot be had ({last.strerror}); ", Remedy("ui --port 0"), " takes any that is free")


def _has_screen() -> bool:
    """Tell whether somebody would see a browser that we open."""
    if not sys.stdout.isatty():
        return False
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return os.name == "nt" or sys.platform == "darwin" or bool(has_display)


@contextmanager
def _opened(url: str) -> Iterator[None]:
    """Open *url* by a file that only the user can read: the command line of a browser is there for everybody."""
    with tempfile.TemporaryDirectory(prefix="memsync-ui-") as directory:
        page = Path(directory, "open.html")
        page.write_text(f'<meta http-equiv="refresh" content="0;url={escape(url)}">', encoding="utf-8")
        os.environ.update(programs.child_env())  # a browser is looked for in PATH
        webbrowser.open(page.as_uri())
        yield
