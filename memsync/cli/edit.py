"""`memsync edit`: memories as a small document for an editor, written out and read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import click

from memsync.cli import render, terminal
from memsync.cli.app import Answer, command
from memsync.cli.choosing import choose
from memsync.cli.memory import memory
from memsync.cli.options import allow_secret_option, filter_options, let_secrets_pass
from memsync.errors import InvalidMemory, UsageError
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Scope, clean_content, clean_importance, clean_tags, clean_type, names_of, shown_id

# Each value has a line of its own: it may have any character.
_LISTS: Final = tuple(name for name in names_of("list") if name != "tags")
_NAMED: Final = f"{', '.join(_LISTS[:-1])} and {_LISTS[-1]}"
_HELP: Final = f"""\
# Change what you like, save and close; lines above the first memory that begin with # do not count.
# A memory that you take out of this document stays as it is; a line that you take out of a memory empties that field.
# {_NAMED}: one a line. To change nothing, close without saving.
"""
_HEAD: Final = re.compile(r"^([a-z]+):[ \t]*(.*)$")


@command(memory)
@click.argument("refs", metavar="[ID|WORDS]...", nargs=-1)
@allow_secret_option
@filter_options
def edit(project: Project, /, refs: tuple[str, ...], allow_secret: bool, scope: Scope | None, **filters: Any) -> Answer:
    """Change memories in $EDITOR: by ID, or all that the filters fit.

    They come as one small document. What you save is checked before anything is written, and a mistake opens it again.

    \b
    Examples:
      memsync edit mm-a1b
      memsync edit --tag billing --since 1week
    """
    let_secrets_pass(project, wanted=allow_secret)
    chosen = choose(project, refs, scope, filters, "edit", yes=True)

    def read(saved: str) -> list[Draft]:
        drafts = parse(saved, chosen)
        for draft in drafts:
            project.vetting.vet(draft.entry.memory._replace(**draft.changes), draft.entry.scope)
        return drafts

    drafts = terminal.edit_until(spell(chosen), read) or []
    done = [project.update(one.id, scope=one.scope, was=one.memory, **changes) for one, changes in drafts]
    lines = [render.remembered(result, project.clock()) for result in done]
    return Answer({"changed": done}, "\n".join(lines) or "nothing was changed")


class Draft(NamedTuple):
    """What somebody wants a memory to say: the fields that differ from what it says."""

    entry: Entry
    changes: Mapping[str, Any]


def spell(entries: Sequence[Entry]) -> str:
    """Return *entries* as a document: for each a line with its id, lines with its fields, an empty line and its text."""
    text = _HELP
    for mark, entry in _mark(entries).items():
        memory = entry.memory
        rows = [f"type: {memory.memory_type}", f"importance: {memory.importance:g}", f"tags: {', '.join(memory.tags)}"]
        rows += [f"{name}: {value}" for name in _LISTS for value in getattr(memory, name)]
        fields = "".join(f"{row.rstrip()}\n" for row in rows)
        text += f"\n{mark}\n{fields}\n{entry.content}\n"
    return text


def _mark(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the line that each begins with: three dashes and its id, or as many more as no text has in such a line."""
    dashes = "---"
    while any(f"\n{dashes} " in f"\n{entry.content}" for entry in entries):
        dashes += "-"
    return {f"{dashes} {shown_id(entry.id)}": entry for entry in entries}


def parse(text: str, entries: Sequence[Entry]) -> list[Draft]:
    """Return what *text*, a document made of *entries*, wants to be different.

    Raises:
        UsageError: a line cannot be read, or a value may not be stored; the message says which line.
    """
    known = _mark(entries)
    sections: list[tuple[Entry, int, list[str]]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):  # not at U+2028, which a text may have
        if (entry := known.pop(line.rstrip(), None)) is not None:
            sections.append((entry, number, []))
        elif sections:
            sections[-1][2].append(line)
        elif line.strip() and not line.startswith("#"):
            why = "belongs to no memory; each begins with a line such as --- mm-a1b"
            raise UsageError(f"line {number}: {line[:40]!r} {why}")
    drafts = [Draft(entry, _compare(entry, lines, number)) for entry, number, lines in sections]
    return [draft for draft in drafts if draft.changes]


def _compare(entry: Entry, lines: Sequence[str], number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"tags": (), **dict.fromkeys(_LISTS, ())}
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    for at, line in enumerate(lines[:end], number + 1):
        found = _HEAD.match(line)
        if not found or found[1] not in ("type", "importance", "tags", *_LISTS):
            raise UsageError(f"line {at}: {line[:40]!r} is no field; there are type, importance, tags, {_NAMED}")
        try:
            fields.update(_read_field(found[1], found[2].strip(), fields))
        except (ValueError, InvalidMemory) as error:
            raise UsageError(f"line {at}: {error}") from None
    try:
        fields["content"] = clean_content("\n".join(lines[end:]))
    except InvalidMemory as error:
        raise UsageError(f"{shown_id(entry.id)}: {error}") from None
    memory = entry.memory
    now = {name: getattr(memory, name) for name in fields}
    if memory.content.replace("\r\n", "\n") == fields["content"]:
        del fields["content"]  # editors do not keep both ends of lines
    return {name: value for name, value in fields.items() if value != now[name]}


def _read_field(name: str, value: str, before: Mapping[str, Any]) -> dict[str, Any]:
    if name == "type":
        return {"memory_type": clean_type(value)}
    if name == "importance":
        with suppress(ValueError):
            return {"importance": clean_importance(float(value))}
        raise InvalidMemory(f"importance is a number from 0 to 1, and not {value!r}")
    if name == "tags":
        return {"tags": clean_tags(value.split(","))}
    return {name: (*before[name], value) if value else before[name]}
