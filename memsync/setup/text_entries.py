"""A file that is ours as a whole, such as a plugin: put in, take out, look."""

from __future__ import annotations

from collections.abc import Sequence

from memsync.clients.facts import Entry
from memsync.setup.entries import Look, look


class NotOurs(ValueError):
    """Somebody else has a file where ours belongs."""


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return our text instead of *text*.

    Raises:
        NotOurs: *text* is not one of ours.
    """
    (one,) = wanted
    if text.strip() and not _is_ours(text, one):
        raise NotOurs("it is not a file that memsync wrote")
    return str(one.value)


def _is_ours(text: str, one: Entry) -> bool:
    """Tell by its first line, which no version changes."""
    first, _, _ = str(one.value).partition("\n")
    return text.partition("\n")[0].rstrip() == first


def remove(text: str, wanted: Sequence[Entry]) -> str:
    """Return nothing for a text of ours, else *text*."""
    return "" if _is_ours(text, wanted[0]) else text


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*: another text of ours is stale."""
    is_same = text == wanted[0].value
    stale = [wanted[0].kind] if _is_ours(text, wanted[0]) and not is_same else []
    return look(wanted, wanted if is_same else (), stale)
