"""What a commit leaves staged that was not made. Git runs no hook then, so a process of ours waits for its end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memsync.store.checkout import Checkout
from memsync.system import processes, programs

_LONGEST: Final = 3600.0  # seconds that somebody may think about the message
_LOOK: Final = 0.2

Entries = Mapping[str, str]  # mode and object of each path that is in the index


def find_commit() -> tuple[int, list[str]]:
    """Return number and command line of the `git commit` that runs us; 0 and none without one."""
    commits = (
        (pid, words)
        for pid, words in processes.walk_up()
        if Path("".join(words[:1])).stem == "git" and "commit" in words
    )
    return next(commits, (0, []))


def read_entries(checkout: Checkout, names: Sequence[str]) -> Entries:
    """Return what the index has of *names*."""
    rows = (checkout.ask("ls-files", "--stage", "-z", "--", *names) or "").split("\0")
    return {name: entry.removesuffix(" 0") for entry, _, name in (row.partition("\t") for row in rows) if name}


@contextmanager
def watch(checkout: Checkout, names: Sequence[str]) -> Iterator[None]:
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

        try:
            select.select([os.pidfd_open(pid)], [], [], _LONGEST)
        except OSError:
            return  # it has ended
    else:
        while time.monotonic() < end and _is_there(pid):
            time.sleep(_LOOK)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
