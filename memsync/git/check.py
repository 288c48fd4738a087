"""Whether what is about to be committed is in order: secrets, lines that cannot be read, conflict markers. Only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from memsync.errors import StoreUnreadable
from memsync.format import jsonl
from memsync.format.codec import Line, list_texts
from memsync.secrets import NOTHING, Allow, Secret, describe, is_ours, redact, scan, scan_memory
from memsync.store import files
from memsync.store.blobs import read_blobs
from memsync.store.checkout import Checkout
from memsync.store.filters import smudge
from memsync.store.places import GATED


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that speaks against a commit, at a line of a file. `kind` secret stops it."""

    path: str
    line: int
    kind: Literal["secret", "conflict", "unreadable", "duplicate"]
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def find_trouble(path: str, data: bytes, since: bytes = b"", allow: Allow = NOTHING) -> list[Trouble]:
    """Return what is wrong with *data* in lines that *since*, the committed version, has not."""
    return list((_check_memories if path.endswith(".jsonl") else _check_text)(path, data, since, allow))


def _check_memories(path: str, data: bytes, since: bytes, allow: Allow) -> Iterator[Trouble]:
    old = set(since.split(b"\n"))
    lines = jsonl.read_lines(data)
    for number, line in enumerate(lines, 1):
        if line.raw not in old and (found := find_secrets(line, allow)):
            yield Trouble(path, number, "secret", f"looks like a secret: {describe(found)}")
    for problem in jsonl.problems(lines):
        line = lines[problem.number - 1]
        if line.is_marker:
            yield Trouble(path, problem.number, "conflict", f"{problem.why}; `memsync sync` resolves it")
        elif line.raw not in old:
            yield Trouble(path, problem.number, "duplicate" if line.memory else "unreadable", problem.why)


def find_secrets(line: Line, allow: Allow) -> list[Secret]:
    """Return what looks like a secret in a line of a memory file, read or not: in what it says, and in what its bytes say more.

    The last of repeated keys counts, and so does one of two spellings of a field; what the others say is committed all the same.
    """
    if line.memory is None:
        return scan(line.raw.decode("utf-8", "replace"), allow)
    known = {
        text
        for field in line.memory
        for text in (field if isinstance(field, tuple) else (field,))
        if isinstance(text, str)
    }
    hidden = [(name, text) for name, text in list_texts(line.raw) if text not in known and not is_ours(name, text)]
    return [
        *scan_memory(line.memory, allow),
        *(found for name, text in hidden for found in scan(f"{name}: {text}", allow)),
    ]


def _check_text(path: str, data: bytes, since: bytes, allow: Allow) -> Iterator[Trouble]:
    """Look at the text as a whole, because a key may take many lines."""
    old = set(since.decode("utf-8", "replace").split("\n"))
    text = data.decode("utf-8", "replace")
    rows = text.split("\n")
    for found in scan(text, allow):
        first, last = text.count("\n", 0, found.start), text.count("\n", 0, found.end)
        if any(row not in old for row in rows[first : last + 1]):
            place = found.start - text.rfind("\n", 0, found.start) - 1
            told = describe([found._replace(start=place)])
            yield Trouble(path, first + 1, "secret", f"looks like a secret: {told}")


class Staged(NamedTuple):
    """A file that the next commit changes: its path from the top, and the objects that the index and HEAD have of it, zeros for none."""

    path: str
    here: str
    before: str


def list_staged(checkout: Checkout) -> list[Staged]:
    """Return the files of every store and skill of the work tree that the next commit changes: memories, settings, workflows, skills."""
    words = ("diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=AMTU", "-z", "--", *GATED)
    parts = iter(checkout.run(*words).paths)
    return [Staged(path, row.split()[3], row.split()[2]) for row, path in zip(parts, parts, strict=False)]


def check_staged(checkout: Checkout, staged: Sequence[Staged], allow: Allow = NOTHING) -> Iterator[Trouble]:
    """Yield what is wrong with the *staged* versions."""
    names = list(dict.fromkeys(name for one in staged for name in (one.here, one.before) if name.strip("0")))
    data = dict(zip(names, read_blobs(checkout, names), strict=True)) if names else {}
    for one in staged:
        if found := scan(one.path, allow):
            yield Trouble(redact(one.path, allow), 1, "secret", f"its name looks like a secret: {describe(found)}")
        path = redact(one.path, allow) if found else one.path
        here, before = (data.get(name) or b"" for name in (one.here, one.before))
        try:
            if one.path.endswith(".jsonl"):
                here, before = smudge(checkout, one.path, here), smudge(checkout, one.path, before)
        except StoreUnreadable as error:
            yield Trouble(path, 1, "unreadable", str(error))
        else:
            yield from find_trouble(path, here, before, allow)


def find_secret(path: Path, since: bytes, allow: Allow = NOTHING, *, named: str = "") -> str:
    """Return what in the new lines of the file *path* may not be committed; "" if nothing."""
    found = find_trouble(named or path.name, files.read(path)[0], since, allow)
    return next((str(trouble) for trouble in found if trouble.kind == "secret"), "")
