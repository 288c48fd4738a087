"""Whatever is remembered, shared, committed and switched: nothing private is ever in the tree, and nothing is lost."""

from __future__ import annotations

import os
import random
from hashlib import sha256
from pathlib import Path

import pytest
from helpers import GitRepo, memory_line

from memsync import Memsync
from memsync.errors import MemsyncError
from memsync.learn.candidates import Candidates, Proposal
from memsync.memories import sharing
from memsync.records import Memory
from memsync.setup import installing

SEEDS = [random.SystemRandom().randrange(10**6) for _ in range(20)] if os.environ.get("MEMSYNC_EXPLORE") else range(6)
STEPS = 30


class Use:
    """A project that is used; `hidden` and `private` are the texts that stealth, or somebody, keeps out of the tree."""

    def __init__(self, repo: GitRepo, seed: int) -> None:
        self.repo, self.random, self.count = repo, random.Random(seed), 0
        self.private: set[str] = set()
        self.hidden: set[str] = set()
        self.alive: dict[str, str] = {}
        self.did: list[str] = []

    def open(self) -> Memsync:
        return Memsync.open(self.repo.root)

    def text(self) -> str:
        """Return a text that is like no other."""
        self.count += 1
        digest = sha256(f"{self.count}".encode()).hexdigest()
        return " ".join(digest[at : at + 7] for at in range(0, 28, 7))

    def some(self, project: Memsync, *scopes: str) -> str | None:
        found = sorted(entry.id for entry in project.memories() if entry.scope in scopes)
        return self.random.choice(found) if found else None

    def remember(self, *, is_private: bool = False) -> None:
        with self.open() as project:
            entry = project.remember(text := self.text(), scope="private" if is_private else None).entry
        self.alive[entry.id] = text
        if is_private:
            self.private.add(text)
        elif entry.scope == "private":
            self.hidden.add(text)

    def update(self) -> None:
        with self.open() as project:
            if id_ := self.some(project, "private"):
                project.update(id_, content=(text := self.text()))
                is_ours = project.settings.stealth and self.alive[id_] not in self.private
                (self.hidden if is_ours else self.private).add(text)
                self.alive[id_] = text

    def turn(self, on: bool, *, move: bool) -> None:
        with self.open() as project:
            installing.turn_stealth(project, on, move=move)
        if not on and move:
            self.hidden.clear()

    def share(self) -> None:
        with self.open() as project:
            if (id_ := self.some(project, "private")) and not project.settings.stealth:
                sharing.share(project, [id_])
                self.private.discard(self.alive[id_])
                self.hidden.discard(self.alive[id_])

    def unshare(self) -> None:
        with self.open() as project:
            if (id_ := self.some(project, "project")) and not project.settings.stealth:
                sharing.unshare(project, [id_])

    def forget(self) -> None:
        with self.open() as project:
            if id_ := self.some(project, "private"):
                project.forget(id_)
                del self.alive[id_]
                if self.random.random() < 0.5:
                    self.alive[id_] = project.restore(id_).entry.content

    def commit(self) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "work")

    def by_hand(self) -> None:
        self.count += 1
        id_, text = f"hand-{self.count}", self.text()
        path = self.repo.memories
        if path.exists():
            path.write_bytes(path.read_bytes() + memory_line(id_, text).encode())
            self.alive[id_] = text

    def learn(self) -> None:
        with self.open() as project:
            text = self.text()
            Candidates(project).propose([Proposal(memory=Memory(id="", content=text, importance=0.6))])
            if project.settings.stealth:
                self.private.add(text)

    def step(self) -> None:
        deeds = {
            "remember": self.remember,
            "remember --private": lambda: self.remember(is_private=True),
            "update": self.update,
            "on": lambda: self.turn(True, move=True),
            "on --keep": lambda: self.turn(True, move=False),
            "off": lambda: self.turn(False, move=False),
            "off --move": lambda: self.turn(False, move=True),
            "share": self.share,
            "unshare": self.unshare,
            "forget": self.forget,
            "commit": self.commit,
            "by hand": self.by_hand,
            "learn": self.learn,
        }
        weights = [4, 3, 2, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1]
        (name,) = self.random.choices(list(deeds), weights)
        self.did.append(name)
        try:
            deeds[name]()
        except MemsyncError as error:
            self.did.append(str(error))
            raise

    def check(self) -> None:
        root = self.repo.root
        inside = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
        seen = b"".join(map(Path.read_bytes, inside)).decode("utf-8", "replace")
        history = self.repo.git("log", "--all", "-p", "--no-textconv")
        for text in self.private | self.hidden:
            assert text not in seen, (text, self.did)
            assert text not in history, (text, self.did)
        now = {entry.id: entry.content for entry in self.open().list()}
        assert {id_: now.get(id_) for id_ in self.alive} == self.alive, self.did


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_private_is_ever_in_the_tree_and_nothing_is_lost(repo, seed):
    use = Use(repo, seed)
    with use.open() as project:
        installing.init(project, ["claude"], stealth=bool(seed % 2), dry_run=False)
    for _ in range(STEPS):
        use.step()
        use.check()
