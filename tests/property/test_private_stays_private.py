"""Over a random walk of the commands that write or print beyond the terminal: a private text leaves only marked, or when somebody says so."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator

import pytest
from helpers import GitRepo, Ran, memsync

# MEMSYNC_WALK=2000 takes so many steps for each of two seeds, from MEMSYNC_WALK_SEED on.
STEPS = int(os.environ.get("MEMSYNC_WALK", "12"))
FIRST = int(os.environ.get("MEMSYNC_WALK_SEED", "0"))
SEEDS = (FIRST, FIRST + 1)
# What begins a word of each text that is not the project's, by the option that put it there.
MARKS = {"--private": "zebra", "--global": "okapi"}
WORD = re.compile("|".join(MARKS.values()))
SCOPES = ("private", "stealth", "global")  # an import may move a text from one to another
# Where a row says its scope: in brackets, alone or between commas, or as the option of a command to type.
IN_BRACKETS = re.compile(r"\((?:[^()]*, )?(?:private|global)(?:[,;][^()]*)?\)|--scope (?:private|global)")
WHOLE = re.compile(r"^(?=id: )", re.MULTILINE)
# Forms of a copy, each with the ending of its file.
COPIES = ("jsonl", "json", "md")
# Commands that only read, and what they print for others than a person at a terminal.
PRINTING = (
    ("list",),
    ("list", "--json"),
    ("list", "--full"),
    ("list", "--ids"),
    ("list", "--format", "{id} {content}"),
    ("list", "--at", "HEAD"),
    ("recall", "staging deploys"),
    ("recall", "staging deploys", "--format", "{content}"),
    ("recall", "staging deploys", "--json"),
    ("recall", "staging deploys", "--explain"),
    ("log",),
    ("log", "--json"),
    ("diff", "--markdown"),
    ("diff",),
    ("undo", "--list"),
    ("undo", "--list", "--json"),
    ("memory", "blame"),
    ("memory", "dedup", "log"),
    ("memory", "dedup", "log", "--json"),
    ("audit",),
    ("tags", "list"),
    ("stats",),
    ("status",),
    ("doctor",),
    ("git", "check"),
    ("git", "textconv", ".gobby/memories.jsonl"),
    ("skill", "list"),
    ("skill", "list", "--json"),
    ("skill", "search", "deploy"),
    ("skill", "export", "-o", "out-skills"),
    ("ui", "--export", "page.html", "--force"),
    ("export", "-o", "-"),
    ("export", "-o", "-", "--format", "json"),
    ("export", "-o", "-", "--format", "markdown"),
    ("export", "-o", "-", "--all-scopes"),
    ("export", "-o", "-", "--all-scopes", "--format", "json"),
    ("export", "-o", "-", "--all-scopes", "--format", "markdown"),
    ("hub", "push"),
    ("sync",),
    ("janitor", "run", "--dry-run"),
    ("janitor", "run", "--dry-run", "--json"),
    ("janitor", "review"),
    ("janitor", "review", "--json"),
    ("review",),
    ("review", "--json"),
    ("inject",),
    ("inject", "--prompt", "what do staging deploys need?"),
)
# What sends no record anywhere, and so has none of these words, marked or not.
SILENT = frozenset({"diff", "audit", "tags", "status", "doctor", "git", "export", "ui", "hub", "sync"})


def find_unmarked(said: str) -> list[str]:
    """Return the pieces of *said* that have a word of a scope and do not say so: objects of JSON, blocks of `--full`, rows."""
    try:
        return list(_find_in_value(json.loads(said), ""))
    except ValueError:
        return list(_find_in_rows(said))


def _find_in_value(value: object, scope: str) -> Iterator[str]:
    """Look at each text below *value*, whose nearest object with a `scope` says *scope*."""
    if isinstance(value, dict):
        scope = value["scope"] if isinstance(value.get("scope"), str) else scope
        for key, part in value.items():
            yield from _find_in_value(key, scope)
            yield from _find_in_value(part, scope)
    elif isinstance(value, list):
        for part in value:
            yield from _find_in_value(part, scope)
    elif isinstance(value, str) and scope not in SCOPES:
        yield from _find_in_rows(value)


def _find_in_rows(said: str) -> Iterator[str]:
    for block in WHOLE.split(said):
        if block.startswith("id: "):
            scope = re.search(r"^scope: (\w+)$", block, re.MULTILINE)
            if WORD.search(block) and not (scope and scope[1] in SCOPES):
                yield block
            continue
        for row in block.splitlines():
            if row.startswith("{"):
                yield from _find_in_value(json.loads(row), "")
            elif WORD.search(row) and not IN_BRACKETS.search(row):
                yield row


class Walk:
    """A repository that is used; `count` makes every text another one."""

    def __init__(self, repo: GitRepo, seed: int) -> None:
        self.repo, self.random, self.count = repo, random.Random(seed), 0
        self.did: list[str] = []

    def call(self, *words: str, stdin: str = "") -> Ran:
        """Run memsync, and see that whatever it says of a scope's words says the scope."""
        self.did.append(" ".join(words))
        done = memsync(*words, cwd=self.repo.root, stdin=stdin)
        assert done.code != 3, (done, self.did)
        for said in (done.out, done.err):
            assert not (unmarked := find_unmarked(said)), (unmarked, self.did)
        return done

    def text(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}x{self.random.randrange(10**6)} is what staging deploys need"

    def ids(self, scope: str) -> list[str]:
        return self.call("list", "--ids", "--scope", scope).out.split()

    def remember(self) -> None:
        where = self.random.choice((*MARKS, ""))
        self.call("remember", self.text(MARKS.get(where, "plain")), *filter(None, [where]))

    def add_skill(self) -> None:
        self.count += 1
        name = f"zebra-{self.count}"
        self.call("skill", "add", name, "-i", "-", "-d", f"How to {name}", "--private", stdin="1. Do it\n")

    def edit(self) -> None:
        where = self.random.choice(list(MARKS))
        if ids := self.ids(where.removeprefix("--")):
            self.call("update", self.random.choice(ids), "--content", self.text(MARKS[where]))

    def forget_and_restore(self) -> None:
        if ids := self.ids("private"):
            id_ = self.random.choice(ids)
            self.call("rm", id_)
            self.call(*self.random.choice((("restore", id_), ("undo",))))

    def copy_and_import(self) -> None:
        name = f"copy.{self.random.choice(COPIES)}"
        path = self.repo.root.parent / name
        self.call(
            "export", "-o", str(path), "--force", *self.random.choice(((), ("--all-scopes",), ("--scope", "private")))
        )
        if path.exists():
            copy = path.read_text()
            assert not (unmarked := find_unmarked(copy)), (unmarked, self.did)
            assert not WORD.search(copy) or path.stat().st_mode & 0o077 == 0, self.did
        if self.random.random() < 0.3:  # another machine, or after a loss
            for id_ in self.ids("private"):
                self.call("rm", id_)
        self.call("import", str(path), *self.random.choice(((), ("--restore",), ("--private",), ("--allow-secret",))))

    def copy_of_a_list(self) -> None:
        path = self.repo.root.parent / "list.json"
        path.write_text(self.call("list", "--json").out)
        self.call("import", str(path))

    def purge_and_return(self) -> None:
        told = self.call("uninstall", "--purge", "--yes").out
        for line in told.partition("to have them again:\n")[2].splitlines():
            self.call(*line.split()[1:])

    def turn_stealth(self) -> None:
        self.call("config", "--stealth", "on", "--yes")
        self.call("config", "--stealth", "off", "--yes")

    def commit(self) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "work")

    def print_some(self) -> None:
        words = self.random.choice(PRINTING)
        done = self.call(*words)
        if words[0] in SILENT and "--all-scopes" not in words:
            assert not WORD.search(done.out + done.err), (done, self.did)

    def step(self) -> None:
        deeds = {
            self.remember: 5,
            self.print_some: 8,
            self.copy_and_import: 3,
            self.commit: 2,
            self.edit: 1,
            self.add_skill: 1,
            self.forget_and_restore: 1,
            self.copy_of_a_list: 1,
            self.purge_and_return: 1,
            self.turn_stealth: 1,
        }
        (deed,) = self.random.choices(list(deeds), list(deeds.values()))
        deed()

    def check(self) -> None:
        """See that nothing that git has, or would take, says a private text; what it ignores stays on this machine."""
        for name in self.repo.git("ls-files", "-coz", "--exclude-standard").split("\0")[:-1]:
            path = self.repo.root / name
            assert not WORD.search(name), (name, self.did)
            assert not path.exists() or not WORD.search(path.read_bytes().decode("utf-8", "replace")), (name, self.did)
        assert not WORD.search(self.repo.git("log", "--all", "-p", "--no-textconv")), self.did


@pytest.mark.timeout(120 + 5 * STEPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_private_text_leaves_only_marked_or_when_somebody_says_so(repo: GitRepo, seed: int):
    walk = Walk(repo, seed)
    walk.call("init", "--agent", "claude")
    walk.remember()
    for _ in range(STEPS):
        walk.step()
        walk.check()
