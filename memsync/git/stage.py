"""Our file in the user's index: what may be staged, and what keeps it back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from memsync.errors import UsageError
from memsync.git import attributes
from memsync.git.check import COPIES, explain_stop, read_copies
from memsync.safety.secrets import NOTHING, Allow
from memsync.store import checkout as repo
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.filters import smudge
from memsync.store.places import GitDirs, find_git
from memsync.store.store import Store

_UNMERGED: Final = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})


class Left(NamedTuple):
    """Why the memories were left out of the index; "" and false if they are in it.

    `since`: the commit by which the user wants that, so that it need not be said at each one.
    """

    why: str = ""
    since: str = ""

    def __bool__(self) -> bool:
        return bool(self.why)


def path_of(checkout: Checkout, store: Store) -> str:
    """Return the memory file relative to the top of the checkout, as git names it."""
    return store.place.memories.relative_to(checkout.top).as_posix()


def list_paths(checkout: Checkout, store: Store) -> list[str]:
    """Return all that we ever stage, relative to the top of the checkout: the memory file and the two that belong to it."""
    directory = store.place.directory
    paths = (store.place.memories, directory / ".gitignore", directory.parent / ".gitattributes")
    return [path.relative_to(checkout.top).as_posix() for path in paths]


def state(checkout: Checkout, path: str) -> str:
    """Return git's two letters for *path*: what is staged and what is not; two spaces if nothing changed."""
    return read_states(checkout, [path])[path]


def read_states(checkout: Checkout, paths: Sequence[str]) -> dict[str, str]:
    """Return what `state` does of each of *paths*; without renames, which git sees only between paths of one question."""
    words = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *paths)
    rows = [(row[:2], row[3:].rstrip("/")) for row in checkout.do(*words).split("\0") if row]
    return {path: next((letters for letters, name in rows if _is_about(name, path)), "  ") for path in paths}


def _is_about(name: str, path: str) -> bool:
    """Tell whether *name* is *path*, or a directory in its place, or a repository that it is in."""
    return name == path or name.startswith(f"{path}/") or path.startswith(f"{name}/")


def is_held_back(store: Store, letters: str) -> bool:
    """Tell whether something of the store is not in the index, where *letters* are what `state` says of its file."""
    return letters[1] != " " or files.stamp(store.place.pending).size > 0


def stage(checkout: Checkout, store: Store, allow: Allow = NOTHING) -> Left:
    """Export *store* and put its file into the index, unless the user has staged a part of it.

    Nothing else of the user's is touched: only the memory file, and the first
    time the two small files that belong to it. What looks like a secret is not staged.
    """
    path = path_of(checkout, store)
    letters = state(checkout, path)
    if why := _explain_refusal(checkout, letters, path):
        return Left(why)
    if exported := store.export().held:
        return Left(exported)
    return stage_checked(checkout, store, allow)


def stage_checked(checkout: Checkout, store: Store, allow: Allow) -> Left:
    """Put the file as it is into the index, unless a line that is new looks like a secret."""
    path = path_of(checkout, store)
    head = checkout.run("cat-file", "blob", f"HEAD:{path}")
    if head.code and state(checkout, path) == "??" and (left := find_removal(checkout, path)):
        return left
    since = smudge(checkout, path, head.out)
    return Left(explain_stop(checkout.top / path, since, allow, named=path)) or stage_whole(checkout, store)


def find_removal(checkout: Checkout, path: str) -> Left:
    """Return that a commit which led to HEAD took the file *path* out of git, if one did; asked where git does not have it."""
    commit = checkout.ask("log", "-1", "--diff-filter=D", "--format=%h", "HEAD", "--", path)
    return Left(f"commit {commit} took it out of git; `git add {path}` puts it in again", commit) if commit else Left()


def stage_whole(checkout: Checkout, store: Store) -> Left:
    """Put the file as it is into the index, whatever the user staged of it, and so say that its conflict is resolved."""
    path = path_of(checkout, store)
    if not os.path.lexists(checkout.top / path):
        return Left()  # nothing was ever written
    states = read_states(checkout, list_paths(checkout, store))
    if states[path] == "  ":
        return Left("git ignores it" if repo.is_ignored(checkout.top / path) else "")
    names = [*([path] if states[path][1] != " " else ()), *find_companions(checkout, store, states)]
    if names:
        checkout.do("add", "--", *names)
    return Left()


def _explain_refusal(checkout: Checkout, letters: str, path: str) -> str:
    if letters in _UNMERGED:
        return "it is in conflict; `memsync sync` resolves it"
    if letters[1] == "D" or (letters == "  " and repo.is_left_out(checkout.top / path)):
        return "it is not in the work tree"
    if letters != "??" and letters[0] != " " and letters[1] != " ":
        return "you staged a part of it"
    return repo.explain_absence(checkout.top / path) if letters == "  " else ""


def find_companions(checkout: Checkout, store: Store, states: Mapping[str, str]) -> list[str]:
    """Return the two small files that belong to the memories, where the index lacks lines of ours and nothing else.

    *states* is what `read_states` says of `list_paths`.
    """
    directory = store.place.directory
    mine: dict[Path, Callable[[bytes], Iterable[bytes]]] = {
        directory / ".gitignore": lambda data: [data or b"local/\n"],
        directory.parent / ".gitattributes": lambda data: (
            attributes.add_lines(data, is_filtered=is_filtered) for is_filtered in (False, True)
        ),
    }
    return [
        name
        for path, add_ours in mine.items()
        if states[name := path.relative_to(checkout.top).as_posix()][1] in "?M"
        and files.read(path)[0].replace(b"\r\n", b"\n") in add_ours(repo.read_staged(path) or b"")
    ]


@contextmanager
def keep_out(git: GitDirs | None, path: Path) -> Iterator[None]:
    """Have git ignore *path*, where somebody writes a copy of what is private in the meantime, and the gate know it if it is added by force.

    Nothing is done where *path* is not in the checkout *git*.

    Raises:
        UsageError: git has a file there already, which it would not ignore.
        StoreFull, StoreNotWritable
    """
    real = Path(os.path.realpath(path))
    is_inside = git and real.is_relative_to(os.path.realpath(git.root))
    if not is_inside or not (git := find_git(real.parent)):  # it may be in a submodule
        yield
        return
    name, checkout = real.relative_to(git.root).as_posix(), Checkout(git.root)
    if checkout.run("ls-files", "-z", "--", f":(literal){name}").paths:
        why = f"git has {name}, and the next commit would share what is private; name another file, or take it out of git: "
        raise UsageError(why + f"`git rm -r --cached {name}`")
    if checkout.run("check-ignore", "-q", "--", name).code:
        row = "/" + re.sub(r"([\\*?\[ ])", r"\\\1", name)
        _add_rows(git.common / "info" / "exclude", [row])
    yield
    files_there = [str(one) for one in (real.rglob("*.md") if real.is_dir() else [real]) if one.is_file()]
    asked = os.fsencode("".join(f"{one}\n" for one in files_there))
    found = checkout.run("hash-object", "--stdin-paths", stdin=asked).text.split()
    known = read_copies(git)
    _add_rows(git.common / COPIES, [one for one in dict.fromkeys(found) if one not in known])


def _add_rows(path: Path, rows: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    known = files.read(path)[0]
    gap = b"\n" if known and not known.endswith(b"\n") else b""
    files.rewrite(path, known + gap + b"".join(os.fsencode(row) + b"\n" for row in rows), was=known)
