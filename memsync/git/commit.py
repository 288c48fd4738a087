"""Commits of the memory file alone, beside whatever the user is doing.

Made of git's own parts: no file of the work tree is touched, of the index only
our entry, and no hook of the user runs, because his may rewrite files while he
edits them. He signs as always, if he signs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, NamedTuple

from memsync.errors import GitRefused
from memsync.git.check import explain_stop
from memsync.git.report import describe_changes
from memsync.git.stage import find_companions, find_removal, list_paths, path_of, read_states
from memsync.secrets import NOTHING, Allow
from memsync.store import checkout as repo
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.filters import smudge
from memsync.store.places import GitDirs, Layout, under_way
from memsync.store.store import Store
from memsync.system import processes

_TRAILER: Final = "Memsync: auto-commit"
# What fails if the branch is not where it found it when it began, which is minutes ago where somebody types a message.
_MOVERS: Final = frozenset("am cherry-pick commit merge pull rebase reset revert".split())


class Committed(NamedTuple):
    """The commit that was made; "" if there was nothing to commit, or `held` says why not."""

    commit: str = ""
    said: str = ""
    held: str = ""


def commit(layout: Layout, store: Store, allow: Allow = NOTHING) -> Committed:
    """Commit what the memory file is now, and nothing else; the last commit is replaced if it is ours and unpushed.

    Raises:
        GitRefused: as when git knows no name for the author, or cannot sign. Nothing was committed.
    """
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    branch = checkout.ask("symbolic-ref", "-q", "HEAD")
    if reason := under_way(layout.git) or _find_mover(checkout):
        return Committed(held=f"{reason} is under way")
    if branch is None:
        return Committed(held="no branch is checked out")
    path = path_of(checkout, store)
    if not os.path.isfile(checkout.top / path):
        return Committed()  # a file that is gone is no wish to remove every memory
    head = checkout.ask("rev-parse", "-q", "--verify", "HEAD") or ""
    known = _find_committed(checkout, head, list_paths(checkout, store))
    if path not in known:
        ignored = "git ignores it" if repo.is_ignored(checkout.top / path) else ""
        if held := ignored or find_removal(checkout, path).why:
            return Committed(held=held)
    return _commit(layout.git, checkout, store, head, branch, known, allow)


def _commit(
    git: GitDirs, checkout: Checkout, store: Store, head: str, branch: str, known: Mapping[str, str], allow: Allow
) -> Committed:
    path = path_of(checkout, store)
    names = [path, *find_companions(checkout, store, read_states(checkout, list_paths(checkout, store)))]
    wanted = {name: _entry(checkout, name) for name in names}
    if wanted[path] == known.get(path):
        return Committed()
    if _find_staged(checkout, path) not in (known.get(path, ""), wanted[path]):
        return Committed(held="you staged a part of it")
    since = smudge(checkout, path, checkout.run("cat-file", "blob", f"{head}:{path}").out) if head else b""
    if why := explain_stop(checkout.top / path, since, allow, named=path):
        return Committed(held=why)
    parent = _choose_parent(checkout, head, branch, path) if head else ""
    tree = _write_tree(checkout, store, head, wanted)
    said = describe_changes(checkout, store.place, parent, tree) or "in order"
    new = parent
    if not parent or tree != checkout.ask("rev-parse", f"{parent}^{{tree}}"):
        new = _write_commit(checkout, tree, parent, said)
    is_at = checkout.lock_ref(branch, new, head or "0" * len(new), f"memsync: {said}")
    with _make_index(git, checkout, wanted) as replace_index, is_at as move_branch:
        if mover := _find_mover(checkout):  # asked again with all else ready, so that none begins behind this look
            return Committed(held=f"{mover} is under way")
        # The index first: if a commit of the user comes in between, it has our lines, and only our own commit fails.
        replace_index()
        move_branch()
    return Committed(new, said)


def _find_mover(checkout: Checkout) -> str:
    """Return which command of git is about to move the branch, or ""; no hook tells it early enough, and --no-verify runs few."""
    top = os.path.realpath(checkout.top)
    for words, directory in processes.list_running():
        if not words or PurePath(words[0]).stem != "git" or (directory and not PurePath(directory).is_relative_to(top)):
            continue
        if command := next((word for word in words[1:] if word in _MOVERS), ""):
            return f"git {command}"
    return ""


@contextmanager
def _make_index(git: GitDirs, checkout: Checkout, entries: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Give what puts our *entries* into the user's index: all at once, because any command of his fails while it is locked.

    Raises:
        GitRefused: it is locked, or no longer what it was.
    """
    path, new = git.git_dir / "index", git.git_dir / f"memsync-index.{os.getpid()}"
    lock, was = path.with_name("index.lock"), files.stamp(path)

    def replace() -> None:
        try:
            lock.touch(exist_ok=False)
        except OSError as error:
            raise GitRefused("update-index", f"git's index is locked: {error}") from None
        try:
            if files.stamp(path) != was:
                raise GitRefused("update-index", "git's index has just changed")
            new.replace(path)
        finally:
            lock.unlink()

    with _drop_index(new) as env:
        if was != files.ABSENT:
            shutil.copy(path, new)
        _add_entries(checkout, entries, env)
        yield replace


@contextmanager
def _drop_index(index: Path) -> Iterator[dict[str, str]]:
    """Give the environment in which git has that *index*, which is gone afterwards."""
    try:
        yield {"GIT_INDEX_FILE": str(index)}
    finally:
        for left in (index, index.with_name(f"{index.name}.lock")):
            with suppress(OSError):
                left.unlink()


def _add_entries(checkout: Checkout, entries: Mapping[str, str], env: Mapping[str, str]) -> None:
    for name, entry in entries.items():
        checkout.do("update-index", "--add", "--cacheinfo", f"{entry},{name}", env=env)


def _entry(checkout: Checkout, path: str) -> str:
    """Return mode and object of the file in the work tree, as git would add it."""
    return f"100644,{checkout.do('hash-object', '-w', '--path', path, '--', path)}"


def _find_committed(checkout: Checkout, head: str, paths: Sequence[str]) -> dict[str, str]:
    """Return what `_entry` would of those of *paths* that *head* has, if they were the same in the work tree."""
    rows = checkout.run("ls-tree", "-z", head, "--", *paths).paths if head else []
    return {name: f"100644,{entry.split()[2]}" for entry, _, name in (row.partition("\t") for row in rows)}


def _find_staged(checkout: Checkout, path: str) -> str:
    rows = (checkout.ask("ls-files", "-s", "--", path) or "").splitlines()
    return f"100644,{rows[0].split()[1]}" if len(rows) == 1 else "".join(rows)


def _choose_parent(checkout: Checkout, head: str, branch: str, path: str) -> str:
    """Return on what to commit: *head*, or what is below it if it is a commit of ours that nobody else has seen."""
    first, _, message = (checkout.ask("show", "-s", "--no-show-signature", "--format=%P%n%B", head) or "").partition(
        "\n"
    )
    parents = first.split()
    if len(parents) != 1 or _TRAILER not in message.splitlines():
        return head
    touched = checkout.run("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", head).paths
    holders = (checkout.ask("for-each-ref", "--contains", head, "--format=%(refname)") or "").splitlines()
    is_alone = holders == [branch] and set(touched) <= _names(path)
    return parents[0] if is_alone and not _is_elsewhere(checkout, head) else head


def _names(path: str) -> set[str]:
    """Return the names that a commit of ours may touch."""
    directory = PurePosixPath(path).parent
    return {path, str(directory / ".gitignore"), str(directory.parent / ".gitattributes")}


def _is_elsewhere(checkout: Checkout, head: str) -> bool:
    """Tell whether another worktree has *head* checked out."""
    rows = (checkout.ask("worktree", "list", "--porcelain") or "").splitlines()
    return rows.count(f"HEAD {head}") > 1


def _write_tree(checkout: Checkout, store: Store, head: str, entries: Mapping[str, str]) -> str:
    """Return the tree of *head* with our *entries*, made in an index of its own."""
    with _drop_index(store.place.local / f"index.{os.getpid()}") as env:
        checkout.do("read-tree", head or "--empty", env=env)
        _add_entries(checkout, entries, env)
        return checkout.do("write-tree", env=env)


def _write_commit(checkout: Checkout, tree: str, parent: str, said: str) -> str:
    signs = checkout.ask("config", "--type=bool", "--get", "commit.gpgSign") == "true"
    message = f"Update memories: {said}\n\n{_TRAILER}\n"
    try:
        return checkout.do(
            "commit-tree",
            tree,
            *(("-p", parent) if parent else ()),
            *(("-S",) if signs else ()),
            stdin=message.encode(),
        )
    except GitRefused as error:
        raise GitRefused("commit", str(error), "the memories are in the work tree; commit them yourself") from None
