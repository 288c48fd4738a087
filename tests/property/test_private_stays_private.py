"""Over a random walk of the commands that write or print beyond the terminal: a private text leaves only marked, or when somebody says so."""

from __future__ import annotations

import os
import random

import pytest
from helpers import GitRepo, Ran, memsync

# MEMSYNC_WALK=2000 takes so many steps for each of two seeds, from MEMSYNC_WALK_SEED on.
STEPS = int(os.environ.get("MEMSYNC_WALK", "12"))
FIRST = int(os.environ.get("MEMSYNC_WALK_SEED", "0"))
SEEDS = (FIRST, FIRST + 1)
MARK = "zebra"  # begins a word of each private text
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
    ("recall", "zebra", "--format", "{content}"),
    ("recall", "zebra", "--json"),
    ("log",),
    ("log", "--json"),
    ("diff", "--markdown"),
    ("diff",),
    ("audit",),
    ("tags", "list"),
    ("stats",),
    ("status",),
    ("doctor",),
    ("git", "check"),
    ("git", "textconv", ".gobby/memories.jsonl"),
    ("skill", "list"),
    ("skill", "export", "-o", "out-skills"),
    ("ui", "--export", "page.html", "--force"),
    ("export", "-o", "-"),
    ("export", "-o", "-", "--format", "json"),
    ("export", "-o", "-", "--format", "markdown"),
    ("hub", "push"),
    ("sync",),
    ("janitor", "run", "--dry-run"),
)


class Walk:
    """A repository that is used; `count` makes every text another one."""

    def __init__(self, repo: GitRepo, seed: int) -> None:
        self.repo, self.random, self.count = repo, random.Random(seed), 0
        self.did: list[str] = []

    def call(self, *words: str, stdin: str = "") -> Ran:
        self.did.append(" ".join(words))
        done = memsync(*words, cwd=self.repo.root, stdin=stdin)
        assert done.code != 3, (done, self.did)
        return done

    def text(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}x{self.random.randrange(10**6)} is what staging deploys need"

    def ids(self, scope: str) -> list[str]:
        return self.call("list", "--ids", "--scope", scope).out.split()

    def remember(self) -> None:
        where = self.random.choice((["--private"], ["--global"], []))
        self.call("remember", self.text(MARK if where else "plain"), *where)

    def add_skill(self) -> None:
        self.count += 1
        name = f"{MARK}-{self.count}"
        self.call("skill", "add", name, "-i", "-", "-d", f"How to {name}", "--private", stdin="1. Do it\n")

    def edit(self) -> None:
        if ids := self.ids(self.random.choice(("private", "global"))):
            self.call("update", self.random.choice(ids), "--content", self.text(MARK))

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
        said = self.call(*words).out
        if "--json" not in words:  # there each record has its scope beside it
            self.check_text(said, words)
        elif words[0] == "log":
            assert MARK not in said or '"stealth"' in said or '"global"' in said, (words, said, self.did)

    def check_text(self, said: str, words: tuple[str, ...]) -> None:
        blocks = said.split("\n\n") if "--full" in words else said.splitlines()
        rows = "\n\n".join(blocks).split("\n\nid: ") if "--full" in words else blocks
        for row in rows:
            assert MARK not in row or "private" in row or "global" in row, (words, row, self.did)

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
            assert MARK not in name, (name, self.did)
            assert not path.exists() or MARK.encode() not in path.read_bytes(), (name, self.did)
        assert MARK not in self.repo.git("log", "--all", "-p", "--no-textconv"), self.did


@pytest.mark.timeout(120 + 5 * STEPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_private_text_leaves_only_marked_or_when_somebody_says_so(repo: GitRepo, seed: int):
    walk = Walk(repo, seed)
    walk.call("init", "--agent", "claude")
    walk.remember()
    for _ in range(STEPS):
        walk.step()
        walk.check()
