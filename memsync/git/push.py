"""Sharing the current branch: never by force, never an empty side, and never over somebody's conflict."""

from __future__ import annotations

import random
import time
from typing import Final, NamedTuple

from memsync.errors import GitRefused
from memsync.git.conflict import resolve
from memsync.git.report import read_memories
from memsync.git.stage import path_of
from memsync.store.checkout import Checkout
from memsync.store.places import Layout, under_way
from memsync.store.store import Store
from memsync.system.texts import count

_TRIES: Final = 12
_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds before the second try, at most; doubled each time
_BEHIND: Final = ("non-fast-forward", "fetch first", "cannot lock ref", "failed to update ref")
_MINUTES: Final = 600.0
_PICKS: Final = 1000


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
