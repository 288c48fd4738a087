"""Copies of memories for people and other programs: JSONL, JSON and Markdown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, get_args

from memsync.errors import Remedy, UsageError, blaming
from memsync.format.codec import encode, fields_of
from memsync.format.scopes import mark_record, mark_text
from memsync.git.stage import keep_out
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import HEADINGS, sort_types
from memsync.safety.guard import quoted_lines, shown_type
from memsync.store.files import make_local, read, resolve_named, rewrite
from memsync.transfer import okf
from memsync.transfer.readers import BY_SUFFIX, Format

# What makes a heading, a rule or a fence of a line, also of one within a bullet.
_HEADING: Final = re.compile(r"^(\s*)(#|=+\s*$|-+\s*$|```|~~~)")
_NOTES: Final = "copies"  # hashes of what was written, the latest last
_MOST: Final = 1_000
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def format_of(name: str) -> Format:
    """Return the format that the ending of *name* means; without one JSONL.

    Raises:
        UsageError: it means none.
    """
    suffix = Path(name).suffix.lower()
    if suffix and suffix not in BY_SUFFIX:
        raise UsageError(f"{name}: no format ends in {suffix}; say ", Remedy("--format"), f" {', '.join(FORMATS)}")
    return BY_SUFFIX.get(suffix, "jsonl")


def spell(found: Sequence[Entry], format_: Format) -> str:
    """Return *found* as a file of that format; what is private or global says so in each."""
    if format_ == "markdown":
        return _spell_markdown(found)
    if format_ == "json":
        return json.dumps([fields_of(mark_record(entry.memory, entry.scope)) for entry in found], indent=2) + "\n"
    ordered = sorted(found, key=lambda entry: entry.id)
    return "".join(encode(mark_record(entry.memory, entry.scope)).decode() + "\n" for entry in ordered)


def _spell_markdown(found: Sequence[Entry]) -> str:
    """Return bullets under the headings that Gobby uses."""
    by_type: dict[str, list[str]] = {}
    for entry in found:
        mark = f"(flagged: {entry.flagged}; unread) " if entry.flagged else ""
        lines = quoted_lines(entry.memory.content.strip()).splitlines()
        text = "\n  ".join(_HEADING.sub(r"\1\\\2", line) for line in lines)
        by_type.setdefault(shown_type(entry.memory.memory_type), []).append(f"- {mark_text(mark + text, entry.scope)}")
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


def write(project: Project, path: Path, text: str, *, force: bool = False, private: bool = False) -> None:
    """Write a copy, for its owner alone if it is *private*; from a *path* in the repository no link leads out.

    What is there already stays, unless memsync wrote it and nobody has changed it since, or *force*.

    Raises:
        UsageError: a file of the user's, or a store, is there.
        StoreFull, StoreNotWritable, OutsideTree
    """
    refuse_store(project, str(path))
    path, data = resolve_named(path, project.layout.root), text.encode("utf-8", "replace")
    notes = project.layout.global_.local / _NOTES if project.layout.global_ else None
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder; make it first, or name another")
    if not force:
        _refuse_others(path, data, notes)
    with keep_out(project.layout.git if private else None, path):
        is_file = _put(path, data, private=private)
    if is_file and notes and project.layout.global_:
        make_local(notes.parent, private=True)
        known = read(notes)[0]
        rows = [*known.splitlines(), sha256(data).hexdigest().encode()][-_MOST:]
        rewrite(notes, b"".join(row + b"\n" for row in rows), was=known, private=True)


def _put(path: Path, data: bytes, *, private: bool) -> bool:
    with blaming(path), open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600 if private else 0o666), "wb") as file:
        is_file = path.is_file()
        if is_file and private:
            path.chmod(0o600)
        if is_file:
            file.truncate()
        file.write(data)
    return is_file


def write_bundle(project: Project, folder: Path, found: Sequence[Entry], *, force: bool, private: bool) -> None:
    """Write *found* as a bundle of OKF into *folder*, which is empty or not there yet, or with *force* over what has the same names.

    Raises:
        UsageError: there are files in it.
        StoreFull, StoreNotWritable, OutsideTree
    """
    if not force and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is there and not empty; name another folder, or ", Remedy("--force"), " writes into it"
        )
    with keep_out(project.layout.git if private else None, folder):
        for name, text in okf.spell_bundle(found):
            path = resolve_named(folder / name, project.layout.root)
            refuse_store(project, str(path))
            with blaming(path.parent):
                path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
            _put(path, text.encode("utf-8", "replace"), private=private)


def _refuse_others(path: Path, data: bytes, notes: Path | None) -> None:
    """Refuse to write over a file that is neither empty, nor just *data*, nor by its hash a copy that was written here.

    Raises:
        UsageError
    """
    held = path.read_bytes() if path.is_file() else b""
    known = read(notes)[0].decode().split() if notes else []
    if held not in (b"", data) and sha256(held).hexdigest() not in known:
        why = f"{path} is there already, and not as memsync wrote it; name another file, or "
        raise UsageError(why, Remedy("--force"), " replaces it")
