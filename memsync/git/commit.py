"""Commits of the memory file alone, beside whatever the user is doing; what they say; and sharing the branch.

They are made of git's own parts: no file of the work tree is touched, of the index only
our entry, and no hook of the user runs, because his may rewrite files while he
edits them. He signs as always, if he signs.
A branch is never pushed by force, never with an empty side, and never over somebody's conflict.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from memsync.errors import GitRefused
from memsync.format import jsonl, merge
from memsync.git.check import explain_stop
from memsync.git.conflict import resolve
from memsync.git.stage import find_companions, find_removal, list_paths, path_of, read_states
from memsync.records import Change, Memory
from memsync.safety.secrets import NOTHING, Allow
from memsync.store import changes, files
from memsync.store import checkout as repo
from memsync.store.checkout import Checkout, read_blobs
from memsync.store.filters import smudge
from memsync.store.places import GitDirs, Layout, Place, under_way
from memsync.store.store import Store
from memsync.system import programs
from memsync.system.texts import count

_TRAILER: Final = "Memsync: auto-commit"
# What fails if the branch is not where it found it when it began, which is minutes ago where somebody types a message.
_MOVERS: Final = frozenset("am cherry-pick commit merge pull rebase reset revert".split())
_TRIES: Final = 12
_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds before the second try, at most; doubled each time
_BEHIND: Final = ("non-fast-forward", "fetch first", "cannot lock ref", "failed to update ref")
_MINUTES: Final = 600.0
_PICKS: Final = 1000


class Committed(NamedTuple):
    """The commit that was made; "" if there was nothing to commit, or `held` says why not."""

    commit: str = ""
    said: str = ""
    held: str = ""


def commit(layout: Layout, store: Store, allow: Allow = NOTHING) -> Committed:
    """Commit what the memory file is now, and nothing else; the last commit is replaced if it is ours and unpushed."""
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
    rows = (checkout.ask("ls-files", "-s", "--", path) or "").splitlines()
    staged = f"100644,{rows[0].split()[1]}" if len(rows) == 1 else "".join(rows)
    if staged not in (known.get(path, ""), wanted[path]):
        return Committed(held="you staged a part of it")
    since = smudge(checkout, path, checkout.run("cat-file", "blob", f"{head}:{path}").out) if head else b""
    if why := explain_stop(checkout.top / path, since, allow, named=path):
        return Committed(held=why)
    parent = _choose_parent(checkout, head, branch, list_paths(checkout, store)) if head else ""
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
    for words, directory in programs.list_running():
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
    return f"100644,{checkout.do('hash-object', '-w', '--path', path, '--', path)}"


def _find_committed(checkout: Checkout, head: str, paths: Sequence[str]) -> dict[str, str]:
    """Return what `_entry` would of those of *paths* that *head* has, if they were the same in the work tree."""
    rows = checkout.run("ls-tree", "-z", head, "--", *paths).paths if head else []
    return {name: f"100644,{entry.split()[2]}" for entry, _, name in (row.partition("\t") for row in rows)}


def _choose_parent(checkout: Checkout, head: str, branch: str, ours: Sequence[str]) -> str:
    """Return on what to commit: *head*, or what is below it if it is a commit of ours, which touches *ours* alone, that nobody else has seen."""
    first, _, message = (checkout.ask("show", "-s", "--no-show-signature", "--format=%P%n%B", head) or "").partition(
        "\n"
    )
    parents = first.split()
    if len(parents) != 1 or _TRAILER not in message.splitlines():
        return head
    touched = checkout.run("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", head).paths
    holders = (checkout.ask("for-each-ref", "--contains", head, "--format=%(refname)") or "").splitlines()
    if holders != [branch] or not set(touched).issubset(ours):
        return head
    worktrees = (checkout.ask("worktree", "list", "--porcelain") or "").splitlines()
    return parents[0] if worktrees.count(f"HEAD {head}") <= 1 else head


def _write_tree(checkout: Checkout, store: Store, head: str, entries: Mapping[str, str]) -> str:
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


def describe_changes(checkout: Checkout, place: Place, before: str, after: str) -> str:
    """Say what *after* has that *before* had not: "+3 memories, 1 changed"; "" if nothing."""
    if before == after:
        return ""
    old, new = read_memories(checkout, (before, after), place.memories.relative_to(checkout.top).as_posix())
    return format_counts(changes.compare_memories(old, new))


def read_memories(checkout: Checkout, revs: Sequence[str], path: str) -> list[dict[str, Memory]]:
    """Return the memories of *path* in each of the commits or trees *revs*; none where it is not there."""
    found = read_blobs(checkout, [f"{rev}:{path}" for rev in revs])
    texts = [smudge(checkout, path, data) if data else b"" for data in found]
    return [
        {id_: line.memory for id_, line in merge.current(jsonl.read_lines(data)).items() if line.memory}
        for data in texts
    ]


def format_counts(changes: Iterable[Change]) -> str:
    """Return how many memories were added, changed and removed, in words; "" if none."""
    kinds = ["+" if change.before is None else "-" if change.after is None else "~" for change in changes]
    added, gone, edited = (kinds.count(kind) for kind in "+-~")
    noun = "memory" if added in (0, 1) and gone in (0, 1) else "memories"
    parts = [f"+{added}" if added else "", f"-{gone}" if gone else ""]
    counts = " ".join(filter(None, parts))
    return ", ".join(filter(None, (f"{counts} {noun}" if counts else "", f"{edited} changed" if edited else "")))


class _Way(NamedTuple):
    """How the commits of others are taken in: the option of `git pull`, what to continue or abort, and why so."""

    option: str
    command: str
    why: str = ""


def push(layout: Layout, store: Store) -> str:
    """Push the branch to its upstream, and return which that is; where others were first, take theirs in and try again.

    By a rebase, or by a merge where `pull.rebase` says so or the branch has a merge that is not pushed: a
    rebase would drop what only that holds. What meets a conflict outside the memory file is taken back whole.

    Raises:
        GitRefused: nothing was pushed, and the branch is as it was.
    """
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    upstream = checkout.ask("rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
    if upstream is None:
        branch = checkout.ask("symbolic-ref", "--short", "-q", "HEAD") or "BRANCH"
        raise GitRefused("push", "the branch has no upstream", f"run `git push -u origin {branch}` once")
    # `matching` would push branches that nobody spoke of.
    matching = checkout.ask("config", "--get", "push.default") == "matching"
    words = ["-c", "push.default=simple", "push"] if matching else ["push"]
    for attempt in range(_TRIES):
        _refuse_empty(checkout, store, upstream)
        done = checkout.run(*words, patience=_MINUTES)
        if done.code == 0:
            return upstream
        if not any(sign in done.err for sign in _BEHIND):
            raise GitRefused("push", done.err)
        if attempt:  # others who were beaten as we were would meet us again
            time.sleep(random.uniform(0, min(_PAUSE * 2**attempt, _LONGEST_PAUSE)))  # noqa: S311
        _pull(checkout, layout, store)
    raise GitRefused("push", "others kept pushing first", "try again")


def _refuse_empty(checkout: Checkout, store: Store, upstream: str) -> None:
    path = path_of(checkout, store)
    theirs, ours = map(len, read_memories(checkout, (upstream, "HEAD"), path))
    if theirs and not ours:
        raise GitRefused(
            "push",
            f"{upstream} has {count(theirs, 'memory')} and this branch has none",
            "nothing was pushed; if that is intended, run `git push` yourself",
        )


def _pull(checkout: Checkout, layout: Layout, store: Store) -> None:
    way = _choose_way(checkout)
    done = checkout.run("pull", way.option, "--quiet", "--no-edit", patience=_MINUTES)
    for _ in range(_PICKS):
        if done.code == 0 or not under_way(layout.git):
            break
        unmerged = checkout.run("diff", "--name-only", "--diff-filter=U", "-z").paths
        if unmerged != [path_of(checkout, store)] or resolve(store).held:
            break  # no business of ours
        checkout.do("add", "--", unmerged[0])
        done = checkout.run("-c", "core.editor=true", way.command, "--continue", patience=_MINUTES)
    if done.code:
        if under_way(layout.git):
            checkout.do(way.command, "--abort")
        raise GitRefused(
            f"pull {way.option}",
            done.err or done.text,
            f"nothing was pushed and the branch is as it was{way.why}; run `git pull {way.option}` yourself, then try again",
        )


def _choose_way(checkout: Checkout) -> _Way:
    """Return how to take in what others pushed: as the user pulls, but no merge is ever flattened."""
    if checkout.ask("rev-list", "--merges", "-1", "@{upstream}..HEAD"):
        if checkout.ask("config", "--get", "pull.ff") == "only":
            why = (
                "others were first, the branch holds a merge, which a rebase would flatten, and pull.ff allows no other"
            )
            raise GitRefused("push", why, "nothing was pushed; merge or rebase the upstream yourself, then try again")
        return _Way("--no-rebase", "merge", " (it holds a merge that is not pushed, which a rebase would flatten)")
    branch = checkout.ask("symbolic-ref", "--short", "-q", "HEAD")
    said = checkout.ask("config", "--get", f"branch.{branch}.rebase") or checkout.ask("config", "--get", "pull.rebase")
    if said is not None and said.lower() in ("false", "no", "off", "0"):
        return _Way("--no-rebase", "merge")
    return _Way("--rebase", "rebase")
