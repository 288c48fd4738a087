"""Our block in a text that others write: put in, take out, look. What is around it keeps its bytes."""

from __future__ import annotations

from collections.abc import Sequence

from memsync.clients.facts import Entry
from memsync.setup.block import BEGIN, END
from memsync.setup.entries import Look, look
from memsync.setup.text_entries import NotOurs

_NO_END = "<!-- (the line above had no end) -->"  # put before a block, so that taking it out restores that


def add(text: str, wanted: Sequence[Entry]) -> str:
    """Return *text* with our block in the place of the one that it has, else after all the rest.

    Raises:
        NotOurs: the block has no end, or there are several.
    """
    (one,) = wanted
    newline = "\r\n" if "\r\n" in text else "\n"
    block = str(one.value).replace("\n", newline)
    if place := _find(text):
        return text[: place[1]] + block + text[place[2] :]
    if text and not text.endswith("\n"):
        return f"{text}{newline}{_NO_END}{newline}{block}"
    return text + (newline if text else "") + block


def _find(text: str) -> tuple[int, int, int] | None:
    """Return where what we added begins, where the block does, and where it ends; None without one.

    Raises:
        NotOurs
    """
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or end < start:
        raise NotOurs("the block of memsync in it has no beginning or no end, or there are several")
    stop = end + len(END)
    stop += 2 if text.startswith("\r\n", stop) else int(text.startswith("\n", stop))
    before = text[:start].removesuffix("\n").removesuffix("\r")  # the empty line
    if before.endswith(_NO_END):
        before = before.removesuffix(_NO_END).removesuffix("\n").removesuffix("\r")
    return len(before), start, stop


def remove(text: str, _: Sequence[Entry]) -> str:
    """Return *text* without our block.

    Raises:
        NotOurs
    """
    place = _find(text)
    return text[: place[0]] + text[place[2] :] if place else text


def compare(text: str, wanted: Sequence[Entry]) -> Look:
    """Compare *text* with *wanted*: another block of ours is stale.

    Raises:
        NotOurs
    """
    place = _find(text)
    block = text[place[1] : place[2]].replace("\r\n", "\n") if place else ""
    is_same = block == wanted[0].value
    return look(wanted, wanted if is_same else (), [wanted[0].kind] if place and not is_same else [])
