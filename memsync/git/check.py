"""Whether what is about to be committed is in order: secrets, what is private, broken lines, conflict markers. Only reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from memsync.errors import MemsyncError, StoreUnreadable
from memsync.format import jsonl
from memsync.format.cases import TESTS
from memsync.format.codec import Line, list_texts
from memsync.format.scopes import find_skill_scope, read_scope
from memsync.records import shown_id
from memsync.safety.secrets import NOTHING, Allow, Secret, describe, is_ours, redact, scan, scan_memory
from memsync.store import config, files
from memsync.store.checkout import Checkout, read_blobs
from memsync.store.filters import smudge
from memsync.store.places import GATED, GitDirs, find_git, locate
from memsync.store.trust import load_allowed

_ROOT: Final = re.compile(r"/?\.(?:gobby|claude/skills|agents/skills)/.*$", re.DOTALL)  # behind the project of a file
COPIES: Final = "memsync/copies"  # in git's directory: what git calls the copies of what is private
_LOCAL: Final = re.compile(r"(.*/)?\.gobby/local(?=/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that speaks against a commit, at a line of a file."""

    path: str
    line: int
    kind: Literal["secret", "private", "conflict", "unreadable", "duplicate"]
    what: str

    @property
    def stops(self) -> bool:
        """Tell whether nothing may be committed with it."""
        return self.kind in ("secret", "private")

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def find_root(path: str) -> str:
    """Return the project of the file *path* of a store or skill, relative to the top as that is."""
    return _ROOT.sub("", path) or "."


class AllowLists:
    """What the settings of the project that a file belongs to let pass, in the work tree at *top*."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._known: dict[str, Allow] = {}

    def find(self, path: str) -> Allow:
        """Return that of the file *path*, relative to the top; nothing where the settings cannot be read."""
        root = find_root(path)
        if root not in self._known:
            self._known[root] = NOTHING
            with suppress(MemsyncError):
                layout = locate(self._top / root)
                self._known[root] = load_allowed(layout, config.load(layout).settings.allow_secrets)
        return self._known[root]

    def list_roots(self) -> list[Path]:
        """Return the projects that were asked for."""
        return [self._top / root for root in self._known]


def find_trouble(path: str, data: bytes, since: bytes = b"", allow: Allow = NOTHING) -> list[Trouble]:
    """Return what is wrong with *data* in lines that *since*, the committed version, has not."""
    is_text = not path.endswith(".jsonl") or path.endswith(f"/{TESTS}")  # any other may be a copy of memories
    return list((_check_text if is_text else _check_memories)(path, data, since, allow))


def _check_memories(path: str, data: bytes, since: bytes, allow: Allow) -> Iterator[Trouble]:
    old = {*since.split(b"\n"), *(line.raw for line in jsonl.mend(jsonl.read_lines(since)))}
    lines = jsonl.read_lines(data)
    for number, line in jsonl.number_mended(lines):
        if line.raw not in old and (found := find_secrets(line, allow)):
            yield Trouble(path, number, "secret", f"looks like a secret: {describe(found)}")
        if line.raw not in old and (what := explain_scope(line)):
            yield Trouble(path, number, "private", what)
    for problem in jsonl.problems(lines):
        line = lines[problem.number - 1]
        if line.is_marker:
            yield Trouble(path, problem.number, "conflict", f"{problem.why}; `memsync sync` resolves it")
        elif line.raw not in old:
            yield Trouble(path, problem.number, "duplicate" if line.memory else "unreadable", problem.why)


def explain_scope(line: Line) -> str:
    """Return why a line of a memory file may not be shared by what it says of its scope, as one of a copy does; "" else."""
    scope = read_scope(line.memory)[1] if line.memory else None
    if scope is None:
        return ""
    id_ = shown_id(line.id or "ID")
    way = f"`memsync unshare --global {id_}`" if scope == "global" else f"`memsync unshare {id_}`"
    return f'says that it is {scope}; {way} moves it out of the work tree, or take "scope" out if it may be shared'


def find_local(paths: Iterable[str]) -> dict[str, str]:
    """Return the folders among *paths* that may not be shared whatever is in them, and why."""
    folders = [found[0] for path in paths if (found := _LOCAL.match(path))]
    why = "is of this machine alone, private words are in it; `git rm -r --cached {}` takes it out of git"
    return {folder: why.format(folder) for folder in folders}


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
    if path.endswith("SKILL.md") and (said := find_skill_scope(text)):
        number = text.count("\n", 0, said.start(1))
        if rows[number] not in old:
            what = f"says that it is {said[1]}; take it out of git, or `scope` out of it if it may be shared"
            yield Trouble(path, number + 1, "private", what)


class Staged(NamedTuple):
    """A file that the next commit changes: its path from the top, and the objects that the index and HEAD have of it, zeros for none.

    `is_copy`: it is a copy of what is private, byte for byte as memsync wrote it.
    """

    path: str
    here: str
    before: str
    is_copy: bool = False


def list_staged(checkout: Checkout) -> list[Staged]:
    """Return the files that the next commit changes: those of every store and skill of the work tree, and copies of what is private."""
    words = ("diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=AMTU", "-z", "--")
    copies = read_copies(find_git(checkout.top))
    found = _read_rows(checkout.run(*words, *GATED).paths)
    if copies:
        others = [one for one in _read_rows(checkout.run(*words).paths) if one.here in copies]
        found = [one for one in found if one.here not in copies] + [one._replace(is_copy=True) for one in others]
    return found


def _read_rows(parts: Sequence[str]) -> list[Staged]:
    return [Staged(path, row.split()[3], row.split()[2]) for row, path in zip(parts[::2], parts[1::2], strict=False)]


def read_copies(git: GitDirs | None) -> frozenset[str]:
    """Return what git calls the copies of what is private that memsync wrote into the checkout."""
    return frozenset(files.read(git.common / COPIES)[0].decode().split()) if git else frozenset()


def check_staged(checkout: Checkout, staged: Sequence[Staged], lists: AllowLists) -> Iterator[Trouble]:
    """Yield what is wrong with the *staged* versions, but for what *lists* let pass."""
    names = list(dict.fromkeys(name for one in staged for name in (one.here, one.before) if name.strip("0")))
    data = dict(zip(names, read_blobs(checkout, names), strict=True)) if names else {}
    local = find_local(one.path for one in staged)
    yield from (Trouble(folder, 1, "private", why) for folder, why in local.items())
    for one in staged:
        if one.is_copy:
            why = f"is a copy of what is private or global; `git rm --cached {one.path}` takes it out"
            yield Trouble(one.path, 1, "private", why)
            continue
        allow = lists.find(one.path)
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


def explain_stop(path: Path, since: bytes, allow: Allow = NOTHING, *, named: str = "") -> str:
    """Return what in the new lines of the file *path* may not be committed; "" if nothing."""
    found = find_trouble(named or path.name, files.read(path)[0], since, allow)
    return next((str(trouble) for trouble in found if trouble.stops), "")
