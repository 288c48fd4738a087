"""Which texts of a private store are there only because stealth is on, and not because somebody wanted them private.

A local note of id and hash, made by the write itself, with no clock in it.
What has no note, for whatever reason, is private: losing the file publishes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from memsync.errors import blaming
from memsync.records import Memory, content_hash
from memsync.store import files

_NAME: Final = "by-stealth.txt"

Note = tuple[str, str]


def note_of(memory: Memory) -> Note:
    """Return the note of *memory*: its id and the hash of its text, so that another text needs its own note."""
    return memory.id, content_hash(memory.content)


def read(local: Path) -> set[Note]:
    """Return all notes."""
    rows = files.read(local / _NAME)[0].decode("utf-8", "replace").splitlines()
    return {(parts[0], parts[1]) for row in rows if len(parts := row.split(" ")) == 2}


def add(local: Path, memories: Iterable[Memory]) -> None:
    """Note *memories*; the caller holds the lock of their store. An id that a row cannot hold gets no note.

    Waits for no disk, as a write that asks for nothing else must stay fast: a note that is lost publishes nothing.
    """
    if new := {note_of(memory) for memory in memories if memory.id.split() == [memory.id]}:
        path = local / _NAME
        with blaming(path), open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(_spell(new))


def follow(local: Path, new: Memory, parts: Collection[Memory]) -> None:
    """Note *new* if all its *parts*, the texts that went into it, are noted, else forget what is noted of it."""
    if not parts or read(local).issuperset(map(note_of, parts)):
        add(local, [new])
    else:
        drop(local, {new.id})


def drop(local: Path, ids: Collection[str]) -> None:
    """Forget all notes of *ids*, which somebody wants private, or which were removed; the caller holds the lock."""
    notes = read(local)
    if gone := {note for note in notes if note[0] in ids}:
        path = local / _NAME
        files.rewrite(path, _spell(notes - gone), was=files.read(path)[0], private=True)


def _spell(notes: Iterable[Note]) -> bytes:
    return "".join(f"{id_} {hash_}\n" for id_, hash_ in sorted(notes)).encode()
