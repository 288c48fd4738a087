"""Copies of memories for people and other programs: JSONL, JSON and Markdown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from memsync.errors import Remedy, UsageError, blaming
from memsync.format.codec import encode, fields_of
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.poison.guard import quoted_lines, shown_type
from memsync.records import HEADINGS, sort_types
from memsync.store.files import resolve_named
from memsync.transfer.readers import BY_SUFFIX, Format

# What makes a heading, a rule or a fence of a line, also of one within a bullet.
_HEADING: Final = re.compile(r"^(\s*)(#|=+\s*$|-+\s*$|```|~~~)")
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def format_of(name: str) -> Format:
    """Return the format that the ending of *name* means."""
    return BY_SUFFIX.get(Path(name).suffix.lower(), "jsonl")


def spell(found: Sequence[Entry], format_: Format) -> str:
    """Return *found* as a file of that format."""
    if format_ == "markdown":
        return _spell_markdown(found)
    if format_ == "json":
        return json.dumps([fields_of(entry.memory) for entry in found], indent=2) + "\n"
    return "".join(encode(entry.memory).decode() + "\n" for entry in sorted(found, key=lambda entry: entry.id))


def _spell_markdown(found: Sequence[Entry]) -> str:
    """Return bullets under the headings of seed 002."""
    by_type: dict[str, list[str]] = {}
    for entry in found:
        mark = f"(flagged: {entry.flagged}; unread) " if entry.flagged else ""
        lines = quoted_lines(entry.memory.content.strip()).splitlines()
        text = "\n  ".join(_HEADING.sub(r"\1\\\2", line) for line in lines)
        by_type.setdefault(shown_type(entry.memory.memory_type), []).append(f"- {mark}{text}")
    blocks = [f"## {HEADINGS.get(kind, kind)}\n\n" + "\n".join(by_type[kind]) for kind in sort_types(by_type)]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def refuse_store(project: Project, path: str) -> None:
    """Refuse to write a copy to *path* if that is the file of a store.

    Raises:
        UsageError: it is.
    """
    real = os.path.realpath(path)
    if any(real == os.path.realpath(store.place.memories) for store in project.stores.values()):
        raise UsageError(f"{path} is a store itself; ", Remedy("memory export"), " without -o puts it in order")


def write(path: Path, text: str, tree: Path | None = None) -> None:
    """Write a copy; from a *path* in *tree*, a repository, no link leads out.

    Raises:
        StoreFull, StoreNotWritable, OutsideTree
    """
    path = resolve_named(path, tree)
    with blaming(path):
        path.write_bytes(text.encode("utf-8", "replace"))
