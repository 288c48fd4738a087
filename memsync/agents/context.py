"""Memories as text for an agent's context: whole lines within a budget. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from memsync.agents.injection import CAP
from memsync.memories.results import Entry
from memsync.records import HEADINGS, short_id, sort_types
from memsync.safety.guard import quoted, shown_label, shown_type

TAG: Final = "project-memory"
_RECENT: Final = timedelta(days=90)  # what is older tells when it was written
_OPEN, _CLOSE = f"<{TAG}>", f"</{TAG}>"


class Block(NamedTuple):
    """A text for the context, the entries that are in it, and those for which there was no room."""

    text: str
    entries: tuple[Entry, ...]
    left_out: tuple[Entry, ...]


def line(entry: Entry, now: datetime, *, is_new: bool = False, is_grouped: bool = False, note: str = "") -> str:
    """Return one memory as `- [id] text (what to know of it)`: no more than a reader needs.

    Told are its type, unless it is a fact or *is_grouped* under that, the month of what is older than _RECENT, whose
    it is where it *is_new* here, its scope unless it is the project's, and the *note* of ours on it.
    """
    memory = entry.memory
    kind, written = shown_type(memory.memory_type), memory.written_at
    facts = [] if is_grouped or kind == "fact" else [kind]
    facts += [f"{written:%b %Y}"] if written and now - written > _RECENT else []
    facts += [f"by {shown_label(memory.author)}" if memory.author else "unread"] if is_new else []
    facts += [entry.scope] if entry.scope != "project" else []
    facts += [f"out of date: {quoted(entry.out_of_date)}"] if entry.stale else []
    beside = "".join(f" ({said})" for said in (", ".join(facts), note) if said)
    return f"- [{short_id(memory.id)}] {quoted(memory.content)}{beside}"


def build(
    entries: Iterable[Entry],
    now: datetime,
    *,
    limit: int,
    budget: int,
    grouped: bool,
    is_new: Callable[[Entry], bool] = lambda _: False,
    notes: Mapping[str, str] = MappingProxyType({}),
    tail: str = "",
) -> Block:
    """Return the first *limit* of *entries* that fit, each whole, as one block of at most *budget* characters.

    With *grouped* they stand under a heading for each type, otherwise in the order given.
    With a *tail*, that line stands below them. *notes* has what is said on a line beside its memory, by id. The budget counts UTF-8 bytes where they are more than characters would allow.
    """
    budget = min(budget, CAP)
    chosen: list[tuple[Entry, str]] = []
    left_out: list[Entry] = []
    for entry in entries:
        if len(chosen) == limit:
            break
        more = [
            *chosen,
            (entry, line(entry, now, is_new=is_new(entry), is_grouped=grouped, note=notes.get(entry.id, ""))),
        ]
        if fits(_text(more, grouped, tail), budget):
            chosen = more
        else:
            left_out.append(entry)
    if not chosen:
        return Block("", (), tuple(left_out))
    return Block(_text(chosen, grouped, tail), tuple(entry for entry, _ in chosen), tuple(left_out))


def fits(text: str, budget: int) -> bool:
    """Tell whether *text* has at most *budget* characters and at most CAP bytes."""
    return len(text) <= budget and len(text.encode()) <= CAP


def wrap(lines: Sequence[str]) -> str:
    """Return *lines* as one block."""
    return "\n".join((_OPEN, *lines, _CLOSE))


def _text(chosen: Sequence[tuple[Entry, str]], grouped: bool, tail: str) -> str:
    end = [tail] if tail else []
    if not grouped:
        return wrap([*(text for _, text in chosen), *end])
    by_type: dict[str, list[str]] = {}
    for entry, text in chosen:
        by_type.setdefault(shown_type(entry.memory.memory_type), []).append(text)
    blocks = [f"## {HEADINGS.get(kind, kind)}\n\n" + "\n".join(by_type[kind]) for kind in sort_types(by_type)]
    blocks += end
    return "\n\n".join((f"{_OPEN}\n{blocks[0]}", *blocks[1:])) + f"\n\n{_CLOSE}"
