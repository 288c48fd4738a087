"""What git's hooks do: `memsync git hook NAME`. A failure of ours never stops git; only what may not be committed does.

Started by git at the top of the work tree, with git's own environment. Loads
neither click nor GitPython: the hooks are felt at every commit.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Final

from memsync.errors import MemsyncError
from memsync.format.cases import TESTS, explain_loss, read_cases
from memsync.git import check
from memsync.git.commit import describe_changes, read_memories
from memsync.git.install import BLOCKED, list_roots
from memsync.git.stage import Left, is_held_back, list_paths, path_of, stage, state
from memsync.store import config, files
from memsync.store.checkout import Checkout
from memsync.store.local_history import take_over
from memsync.store.places import MIRRORS, Layout, Place, locate, under_way
from memsync.store.store import Store
from memsync.store.trust import load_allowed, notice
from memsync.system import limits, programs
from memsync.system.texts import count, one_line

_PARTIAL: Final = "next-index-"
_PATCH: Final = re.compile(r"--patch$|--interactive$|-[aeinoqsvz]*p")  # options of `git commit`
_TAKEN_OUT: Final = "memsync.takenOut"  # the commit that took the memories out of git, once that was said
_UNCHECKED: Final = "the commit was NOT CHECKED FOR SECRETS: run `memsync git check` before you push"
_stopping: list[str] = []  # staged files that may not be committed; they count also when the time runs out after that
_SHOWN: Final = 5  # wrong lines of instruction files
_LONGEST: Final = 3600.0  # seconds that somebody may think about the message
_PAUSE: Final = 0.2

Entries = Mapping[str, str]  # mode and object of each path that is in the index


def run_in_time(words: Sequence[str]) -> int:
    """Do what `main` does, and end the process when it takes too long: git goes on, unless it may not."""

    def give_up(after: str) -> int:
        _say_unfinished(words[0], f"git hook {words[0]} did not finish within {after}")
        return BLOCKED if _stopping else 0

    if words[:1] == ["unstage"]:
        return unstage(words[1:])  # the user may think about a message for as long as he likes
    limits.start_git_clock("hook", os.environ, give_up)
    return main(words)


def main(words: Sequence[str]) -> int:
    """Run the hook that *words* name, with git's arguments; return 0, or BLOCKED to stop the commit."""
    hook = _HOOKS.get(words[0] if words else "")
    if hook is None:
        _say(f"unknown hook {' '.join(words[:1])!r}; choose one of {', '.join(_HOOKS)}")
        return 0
    try:
        return hook(words[1:])
    except MemsyncError as error:
        _say(str(error))
    except Exception as error:  # the boundary: what goes wrong here may not stop the user's commit or checkout
        if os.environ.get("MEMSYNC_DEBUG"):
            raise
        _say_unfinished(words[0], f"unexpected {type(error).__name__}: {error}; git goes on")
    return 0


def _say_unfinished(name: str, text: str) -> None:
    """Say *text* of the hook *name*, and of the gate what that means."""
    _say(f"{text}; {_UNCHECKED}" if name == "pre-commit" else text)


def _say(text: str) -> None:
    print(f"memsync: {text}", file=sys.stderr)  # noqa: T201 - a hook speaks to the person at the terminal


def _find_layouts(checkout: Checkout, roots: Sequence[str]) -> Iterator[Layout]:
    for root in roots:
        layout = locate(checkout.top / root)
        if layout.project:
            take_over(layout)
            if layout.project.directory.is_dir() or layout.project.pending.exists():
                yield layout


def _pre_commit(_: Sequence[str]) -> int:
    checkout = Checkout(Path.cwd(), in_hook=True)
    roots = list_roots(checkout)
    try:
        _sync_mirrors(checkout, roots)
        _stage(checkout, roots)
    except (MemsyncError, OSError) as error:
        _say(str(error))  # and look for secrets all the same
    return _check_staged(checkout) or _check_instructions(checkout) or _run_tests(checkout, roots)


def _sync_mirrors(checkout: Checkout, roots: Sequence[str]) -> None:
    for layout in _find_layouts(checkout, roots):
        if layout.project and (layout.project.local / MIRRORS).exists():
            code, said = programs.ask("-C", str(layout.root), "mirror", "sync", seconds=_count_seconds() / 6)
            if code == programs.UNFINISHED:
                said = (
                    "the mirrors took too long and are not in this commit; `memsync mirror sync` brings them together"
                )
            if code:
                _say(said.strip())


def _count_seconds() -> float:
    """Return how long a hook may take; what looks for secrets must have its part of it."""
    return limits.count_git_seconds("hook", os.environ)


def _check_instructions(checkout: Checkout) -> int:
    """Say which lines of instruction files the commit makes wrong, or brings; they stop nothing."""
    from memsync.check.report import describe
    from memsync.check.survey import check_staged

    found = list(check_staged(checkout))
    for one in found[:_SHOWN]:
        _say(f"{one_line(one.file)}:{one.line}: {describe(one)}")
    if found:
        what = f"{count(len(found), 'statement')} of instruction files will be wrong"
        _say(f"{what}; `memsync check --fix` writes the new names")
    return 0


def _run_tests(checkout: Checkout, roots: Sequence[str]) -> int:
    """Run the memory tests of each project that wants it and of which something is staged; one that fails stops the commit."""
    stops = False
    for layout in _find_layouts(checkout, roots):
        assert layout.project is not None
        wanted = (layout.project.directory / TESTS).exists() and config.load(layout).settings.test_on_commit
        if wanted and checkout.run("diff", "--cached", "--quiet", "--", str(layout.project.directory)).code:
            code, said = programs.ask("-C", str(layout.root), "test", seconds=_count_seconds() / 2)
            if code == programs.UNFINISHED:
                said = f"the memory tests took more than {_count_seconds() / 2:g} seconds and stop nothing; `memsync test` runs them all"
            _say(said.strip().replace("\n", "\n  "))
            stops |= code == 1
    if stops:
        _say("nothing was committed; `memsync config memory_sync.test_on_commit off` commits without the memory tests")
    return BLOCKED if stops else 0


def _check_staged(checkout: Checkout) -> int:
    _stopping.clear()
    lists, kinds = check.AllowLists(checkout.top), set()
    # A project at a time: what was found in one counts also when there is no time left for the next.
    for _, staged in groupby(check.list_staged(checkout), key=lambda one: check.find_root(one.path)):
        for trouble in check.check_staged(checkout, list(staged), lists):
            _say(str(trouble))
            kinds.add(trouble.kind)
            if trouble.stops:
                _stopping.append(trouble.path)
    if _stopping:
        or_allow = ", or see `memsync config memory.secrets.allow`" if "secret" in kinds else ""
        _say(f"nothing was committed; take it out{or_allow}")
    # Among the settings that wait for approval may be one that lets a text pass.
    for root in lists.list_roots() if "secret" in kinds else ():
        with suppress(MemsyncError):
            if why := notice(config.load(locate(root)).waiting):
                _say(why)
    return BLOCKED if _stopping else 0


def _stage(checkout: Checkout, roots: Sequence[str]) -> None:
    is_partial = Path(os.environ.get("GIT_INDEX_FILE", "")).name.startswith(_PARTIAL)
    for layout in _find_layouts(checkout, roots):
        assert layout.project is not None
        loaded = config.load(layout)
        settings = loaded.settings
        if loaded.unreadable:
            _say(loaded.unreadable)
        if settings.stealth or not settings.sync_enabled:
            continue
        store = Store(layout.project)
        # A partial commit has an index of its own: what we would add there, the next commit would take out again.
        why = "it is a partial commit" if is_partial else under_way(layout.git)
        why = why or _explain_choice(checkout, store) or _explain_emptiness(checkout)
        with unstage_unless_committed(checkout, [] if why else list_paths(checkout, store)):
            left = Left(why) if why else stage(checkout, store, load_allowed(layout, settings.allow_secrets))
        if left.since and not _is_first(checkout, left.since):
            continue
        if left.why and is_held_back(store, state(checkout, path_of(checkout, store))):
            _say(f"{store.place.memories.relative_to(checkout.top)} is not in this commit: {left.why}")


def _is_first(checkout: Checkout, since: str) -> bool:
    """Tell whether what holds *since* that commit was never said in this clone, and note that it is now."""
    if checkout.ask("config", "--get", _TAKEN_OUT) == since:
        return False
    checkout.run("config", "--local", _TAKEN_OUT, since)
    return True


def _explain_choice(checkout: Checkout, store: Store) -> str:
    """Return that `git commit --patch` runs us, whose user has said no to the memories when git asked; "" else."""
    if Path(os.environ.get("GIT_INDEX_FILE", "index")).name == "index":
        return ""  # of what was chosen there is another
    _, command = find_commit()
    options = command[command.index("commit") + 1 :] if command else ()
    if any(map(_PATCH.match, options)) and state(checkout, path_of(checkout, store))[1] == "M":
        return "you left it out when git asked"
    return ""


def _explain_emptiness(checkout: Checkout) -> str:
    """Return why the `git commit` that runs us is about to make no commit, so that nothing may be staged for it; "" else."""
    if checkout.run("diff", "--cached", "--quiet").code != 0:
        return ""
    pid, command = find_commit()
    if not pid or any(word == "--allow-empty" or word.startswith("--am") for word in command):
        return ""
    return "nothing else is staged, so git makes no commit; `memsync sync --commit` commits it alone"


def _post_merge(_: Sequence[str]) -> int:
    return _tell_changes("ORIG_HEAD", "HEAD")


def _post_checkout(words: Sequence[str]) -> int:
    before, after, is_branch = (*words, "", "", "")[:3]
    return _tell_changes(before, after) if is_branch == "1" and before.strip("0") else 0


def _post_rewrite(words: Sequence[str]) -> int:
    return _tell_changes("ORIG_HEAD", "HEAD", during="a rebase") if words[:1] == ["rebase"] else 0


def _tell_changes(before: str, after: str, *, during: str = "") -> int:
    """Say what came into each store. Nothing in the middle of something: its end tells."""
    checkout = Checkout(Path.cwd(), in_hook=True)
    for layout in _find_layouts(checkout, list_roots(checkout)):
        assert layout.project is not None
        if under_way(layout.git) in ("", during) and (
            text := describe_changes(checkout, layout.project, before, after)
        ):
            _say(text)
            for broken in _list_broken_tests(checkout, layout.project, before, after):
                _say(broken)
    return 0


def _list_broken_tests(checkout: Checkout, place: Place, before: str, after: str) -> Iterator[str]:
    """Yield the tests that name a memory which came away, or was archived, between two commits."""
    if not (tests := place.directory / TESTS).exists():
        return
    old, new = read_memories(checkout, (before, after), place.memories.relative_to(checkout.top).as_posix())
    gone = {id_ for id_, memory in old.items() if not memory.archived_at and (id_ not in new or new[id_].archived_at)}
    yield from explain_loss(read_cases(files.read(tests)[0], TESTS), gone)


_HOOKS: Final[Mapping[str, Callable[[Sequence[str]], int]]] = {
    "pre-commit": _pre_commit,
    "post-merge": _post_merge,
    "post-checkout": _post_checkout,
    "post-rewrite": _post_rewrite,
}


def find_commit() -> tuple[int, list[str]]:
    """Return number and command line of the `git commit` that runs us; 0 and none without one."""
    commits = (
        (pid, words)
        for pid, words in programs.walk_up()
        if Path("".join(words[:1])).stem == "git" and "commit" in words
    )
    return next(commits, (0, []))


def read_entries(checkout: Checkout, names: Sequence[str]) -> Entries:
    """Return what the index has of *names*."""
    rows = (checkout.ask("ls-files", "--stage", "-z", "--", *names) or "").split("\0")
    return {name: entry.removesuffix(" 0") for entry, _, name in (row.partition("\t") for row in rows) if name}


@contextmanager
def unstage_unless_committed(checkout: Checkout, names: Sequence[str]) -> Iterator[None]:
    """Have what is staged of *names* in the meantime taken out again if the commit that runs us is not made."""
    # Of any other index, as that of `commit -a`, git itself drops what a commit that fails has added.
    is_kept = bool(names) and Path(os.environ.get("GIT_INDEX_FILE", "index")).name == "index"
    pid = find_commit()[0] if is_kept else 0
    before = read_entries(checkout, names) if pid else {}
    yield
    now = read_entries(checkout, names) if pid else {}
    if staged := {name: entry for name, entry in now.items() if entry != before.get(name)}:
        told = {"git": pid, "head": _read_head(checkout), "before": before, "staged": staged}
        programs.start_apart("git", "hook", "unstage", json.dumps(told))


def unstage(words: Sequence[str]) -> int:
    """Wait until git has ended, and if it made no commit put back what the index had, unless that is something else by now."""
    told = json.loads(words[0])
    _wait_for_end(told["git"])
    checkout = Checkout(Path.cwd(), in_hook=True)
    if _read_head(checkout) == told["head"]:
        now = read_entries(checkout, list(told["staged"]))
        rows = [
            f"{told['before'].get(name) or '0 ' + '0' * len(entry.split()[1])}\t{name}\0"
            for name, entry in told["staged"].items()
            if now.get(name) == entry
        ]
        checkout.run("update-index", "-z", "--index-info", stdin="".join(rows).encode())
    return 0


def _read_head(checkout: Checkout) -> str:
    return checkout.ask("rev-parse", "--quiet", "--verify", "HEAD") or ""


def _wait_for_end(pid: int) -> None:
    end = time.monotonic() + _LONGEST
    if hasattr(os, "pidfd_open"):
        import select

        with suppress(OSError):  # it has ended
            select.select([os.pidfd_open(pid)], [], [], _LONGEST)
        return
    with suppress(OSError):  # it has ended
        while time.monotonic() < end:
            os.kill(pid, 0)
            time.sleep(_PAUSE)
