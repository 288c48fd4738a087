"""The command that does the same as a button, and the addresses of pages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode


def command(*words: str) -> str:
    """Return *words* of a `memsync` command as a shell takes them."""
    return shlex.join(["memsync", *words])


def option(name: str, value: str | None) -> Sequence[str]:
    """Return an option with its value; nothing where it was not given."""
    return () if value is None else (f"--{name}", value)


def address(path: str, said: Mapping[str, str]) -> str:
    """Return the address of *path* with what is *said*; for half a character, which none can hold, stands a question mark."""
    return f"{path}?{urlencode(said, errors='replace')}"


def content(text: str) -> Sequence[str]:
    """Return the argument that a *text* is; one that begins with a dash would pass for an option, or for standard input."""
    return ("--", text) if text.startswith("-") else (text,)
