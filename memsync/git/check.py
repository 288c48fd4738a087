"""Whether what is about to be committed is in order: secrets, lines that cannot be read, conflict markers. Only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from memsync.format import jsonl
from memsync.format.codec import Line
from memsync.secrets import NOTHING, Allow, Secret, describe, scan, scan_memory
from memsync.store import files
from memsync.store.blobs import read_blobs
from memsync.store.checkout import Checkout
from memsync.store.places import SKILLS, STORE_DIR


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
    """Return what looks like a secret in a line of a memory file, read or not."""
    return scan_memory(line.memory, allow) if line.memory else scan(line.raw.decode("utf-8", "replace"), allow)


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


def list_staged(checkout: Checkout, roots: Iterable[str]) -> list[Staged]:
    """Return the files of ours below *roots* that the next commit changes: memories, settings, workflows, skills."""
    below = [f"{'' if root == '.' else f'{root}/'}{name}" for root in roots for name in (STORE_DIR, SKILLS)]
    words = ("diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=AMTU", "-z", "--", *below)
    parts = iter(checkout.run(*words).paths)
    return [Staged(path, row.split()[3], row.split()[2]) for row, path in zip(parts, parts, strict=False)]


def check_staged(checkout: Checkout, staged: Sequence[Staged], allow: Allow = NOTHING) -> Iterator[Trouble]:
    """Yield what is wrong with the *staged* versions."""
    names = list(dict.fromkeys(name for one in staged for name in (one.here, one.before) if name.strip("0")))
    data = dict(zip(names, read_blobs(checkout, names), strict=True)) if names else {}
    for one in staged:
        yield from find_trouble(one.path, data.get(one.here) or b"", data.get(one.before) or b"", allow)


def find_secret(path: Path, since: bytes, allow: Allow = NOTHING, *, named: str = "") -> str:
    """Return what in the new lines of the file *path* may not be committed; "" if nothing."""
    found = find_trouble(named or path.name, files.read(path)[0], since, allow)
    return next((str(trouble) for trouble in found if trouble.kind == "secret"), "")
