"""History over 10,000 commits: what git remembers, in whole processes and CPU time, against `git log -p` of the same path."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.corpus import records

COMMITS = 10_000
RECORDS = 200
RUNS = 3
_FILE = ".gobby/memories.jsonl"


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield ("command", "commits", "ours, s of CPU", "git log -p, s of CPU", "ratio")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make(root)
        commands = {
            "memory log": ("log",),
            "memory history ID": ("memory", "history", "mm-00000007"),
            "memory blame": ("memory", "blame"),
            "memory blame ID": ("memory", "blame", "mm-00000007"),
            f"memory diff HEAD~{COMMITS // 2}": ("memory", "diff", f"HEAD~{COMMITS // 2}"),
        }
        for what, words in commands.items():
            yield _row(root, what, words)


def make(root: Path) -> None:
    """Make a repository in *root* whose commits each add or change one memory."""
    git = partial(subprocess.run, cwd=root, check=True)
    git(["git", "init", "-q", "-b", "main"])
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=root, stdin=subprocess.PIPE) as taking:
        assert taking.stdin
        taking.stdin.writelines(_stream())
    git(["git", "reset", "-q", "--hard"])


def _stream() -> Iterator[bytes]:
    lines = records(RECORDS)
    held: list[bytes] = []
    for number in range(COMMITS):
        at = number % RECORDS
        if number < RECORDS:
            held.append(lines[at])
        else:
            held[at] = lines[at].replace(b'"content":"', b'"content":"v%d ' % number)
        data = b"\n".join(held) + b"\n"
        who = b"committer A <a@example.com> %d +0000\n" % (1_700_000_000 + 60 * number)
        yield b"commit refs/heads/main\n" + who + b"data 1\nc\n"
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (_FILE.encode(), len(data), data)


def _row(root: Path, what: str, words: Sequence[str]) -> tuple[str, ...]:
    ours = [str(Path(sys.executable).with_name("memsync")), *words]
    base = ["git", "--no-pager", "log", "-p", "--", _FILE]
    pairs = [(_spend(root, ours), _spend(root, base)) for _ in range(RUNS)]
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    return (what, f"{COMMITS:,}", f"{mine:.2f}", f"{theirs:.2f}", f"{statistics.median(a / b for a, b in pairs):.2f}")


def _spend(root: Path, words: Sequence[str]) -> float:
    """Return the CPU seconds of *words* and of all that it starts."""
    before = os.times()
    env = {**os.environ, "MEMSYNC_HOME": f"{root}/.home"}
    subprocess.run(words, cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
