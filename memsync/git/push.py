"""Sharing the current branch: never by force, never an empty side, and never over somebody's conflict."""

from __future__ import annotations

from typing import Final

from memsync.errors import GitRefused
from memsync.git.conflict import resolve
from memsync.git.report import read_memories
from memsync.git.stage import path_of
from memsync.store.checkout import Checkout
from memsync.store.places import Layout, under_way
from memsync.store.store import Store

_TRIES: Final = 5
_BEHIND: Final = ("non-fast-forward", "fetch first", "cannot lock ref", "failed to update ref")
_MINUTES: Final = 600.0
_PICKS: Final = 1000


def push(layout: Layout, store: Store) -> str:
    """Push the branch to its upstream, and return which that is; where others were first, rebase and try again.

    A rebase that meets a conflict outside the memory file is taken back whole.

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
    for _ in range(_TRIES):
        _refuse_empty(checkout, store, upstream)
        done = checkout.run(*words, patience=_MINUTES)
        if done.code == 0:
            return upstream
        if not any(sign in done.err for sign in _BEHIND):
            raise GitRefused("push", done.err)
        _pull(checkout, layout, store)
    raise GitRefused("push", "others kept pushing first", "try again")


def _refuse_empty(checkout: Checkout, store: Store, upstream: str) -> None:
    path = path_of(checkout, store)
    theirs = len(read_memories(checkout, upstream, path))
    if theirs and not read_memories(checkout, "HEAD", path):
        raise GitRefused(
            "push",
            f"{upstream} has {theirs} memories and this branch has none",
            "nothing was pushed; if that is intended, run `git push` yourself",
        )


def _pull(checkout: Checkout, layout: Layout, store: Store) -> None:
    done = checkout.run("pull", "--rebase", "--quiet", patience=_MINUTES)
    for _ in range(_PICKS):
        if done.code == 0 or not under_way(layout.git):
            break
        unmerged = checkout.run("diff", "--name-only", "--diff-filter=U", "-z").paths
        if unmerged != [path_of(checkout, store)] or resolve(store).held:
            break  # no business of ours
        checkout.do("add", "--", unmerged[0])
        done = checkout.run("-c", "core.editor=true", "rebase", "--continue", patience=_MINUTES)
    if done.code:
        if under_way(layout.git):
            checkout.do("rebase", "--abort")
        raise GitRefused(
            "pull --rebase",
            done.err or done.text,
            "nothing was pushed and the branch is as it was; run `git pull --rebase` yourself, then try again",
        )
