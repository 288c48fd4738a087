"""Memories as a small document for an editor: written out, and read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from memsync.errors import InvalidMemory, UsageError
from memsync.memories.results import Entry
from memsync.records import clean_content, clean_importance, clean_tags, clean_type, shown_id

_HELP: Final = """\
# Change what you like, save and close; lines above the first memory that begin with # do not count.
# A memory that you take out of this document stays as it is. To change nothing, close without saving.
"""
_LISTS: Final = ("tags", "cues", "anchors", "links")
_MULTI: Final = {"tags": ",", "cues": ";", "anchors": ",", "links": ","}
_HEAD: Final = re.compile(r"^([a-z]+):[ \t]*(.*)$")


class Draft(NamedTuple):
    """What somebody wants a memory to say: the fields that differ from what it says."""

    entry: Entry
    changes: Mapping[str, Any]


def spell(entries: Sequence[Entry]) -> str:
    """Return *entries* as a document: for each a line with its id, lines with its fields, an empty line and its text."""
    return _HELP + "".join(f"\n{_mark(entry)}\n{_spell_fields(entry)}\n{entry.content}\n" for entry in entries)


def _mark(entry: Entry) -> str:
    return f"--- {shown_id(entry.id)}"


def _spell_fields(entry: Entry) -> str:
    memory = entry.memory
    rows = [f"type: {memory.memory_type}", f"importance: {memory.importance:g}", f"tags: {', '.join(memory.tags)}"]
    more = {name: f"{_MULTI[name]} ".join(getattr(memory, name)) for name in ("cues", "anchors", "links")}
    return "".join(f"{row.rstrip()}\n" for row in (*rows, *(f"{name}: {text}" for name, text in more.items() if text)))


def parse(text: str, entries: Sequence[Entry]) -> list[Draft]:
    """Return what *text*, a document made of *entries*, wants to be different.

    Raises:
        UsageError: a line cannot be read, or a value may not be stored; the message says which line.
    """
    known = {_mark(entry): entry for entry in entries}
    drafts: list[Draft] = []
    sections: list[tuple[Entry, int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if (entry := known.pop(line.rstrip(), None)) is not None:
            sections.append((entry, number, []))
        elif sections:
            sections[-1][2].append(line)
        elif line.strip() and not line.startswith("#"):
            raise UsageError(
                f"line {number}: {line[:40]!r} belongs to no memory; each begins with a line such as --- mm-a1b"
            )
    for entry, number, lines in sections:
        drafts.append(Draft(entry, _compare(entry, lines, number)))
    return [draft for draft in drafts if draft.changes]


def _compare(entry: Entry, lines: Sequence[str], number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    for at, line in enumerate(lines[:end], number + 1):
        found = _HEAD.match(line)
        if not found or found[1] not in ("type", "importance", *_LISTS):
            raise UsageError(
                f"line {at}: {line[:40]!r} is no field; there are type, importance, tags, cues, anchors and links"
            )
        try:
            fields.update(_read_field(found[1], found[2]))
        except (ValueError, InvalidMemory) as error:
            raise UsageError(f"line {at}: {error}") from None
    try:
        fields["content"] = clean_content("\n".join(lines[end:]))
    except InvalidMemory as error:
        raise UsageError(f"{shown_id(entry.id)}: {error}") from None
    memory = entry.memory
    now = {name: getattr(memory, name) for name in fields}
    return {name: value for name, value in fields.items() if value != now[name]}


def _read_field(name: str, value: str) -> dict[str, Any]:
    if name == "type":
        return {"memory_type": clean_type(value)}
    if name == "importance":
        return {"importance": clean_importance(float(value))}
    return {name: clean_tags(value.split(_MULTI[name]))}
