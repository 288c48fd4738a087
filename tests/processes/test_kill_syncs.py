"""Two clones whose users write, commit, pull and push, killed in the middle of it: all that was acknowledged is there.

`make check-model KILLS=500` takes so many rounds, of which each kills both, and SEED=N repeats them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from crew import Crew, what_is_known
from helpers import GitRepo

from memsync import Memsync
from memsync.git.install import install
from memsync.history.lost import bring_back as restore_lost
from memsync.history.lost import find_lost, find_returned
from memsync.memories.sync import sync
from memsync.setup.repository import init
from memsync.store.places import locate

KILLS = int(os.environ.get("MEMSYNC_CHECK_KILLS") or 12)
SEED = int(os.environ.get("MEMSYNC_CHECK_SEED") or 1)
MODES = ("worktree", "on-commit", "auto-commit")
# Deeds in which git may be at work in the tree; what it takes away then, nobody but the local history has.
OF_GIT = ("git pull", "sync --push")


def make_clone(directory: Path, number: int, mode: str) -> GitRepo:
    """Make clone *number* of the host in *directory*, whose user has a home of his own."""
    clone = GitRepo(directory / f"c{number}")
    subprocess.run(["git", "clone", "-q", "host.git", clone.root.name], cwd=directory, capture_output=True, check=True)
    home = directory / f"home{number}"
    home.mkdir()
    (home / "config.yaml").write_text(f"memory:\n  author: A. Person\nmemory_sync:\n  mode: {mode}\n")
    if number == 0:
        with Memsync.open(clone.root) as project:
            init(project)
        clone.git("add", "-A")
        clone.git("commit", "-q", "-m", "begin")
        clone.git("push", "-q", "-u", "origin", "main")
    install(locate(clone.root))
    return clone


def clean_up(clone: GitRepo) -> None:
    """Do what git tells a user to do when it was killed: remove its locks, and end what was under way."""
    for path in (clone.root / ".git").rglob("*.lock"):
        path.unlink()
    for word in ("merge", "rebase"):
        with suppress(AssertionError):
            clone.git(word, "--abort")
    for path in (clone.root / ".git").glob("rebase-*"):  # a rebase that was killed before it began cannot be aborted
        shutil.rmtree(path)
    if (clone.root / ".git" / "HEAD").read_text() != "ref: refs/heads/main\n":
        clone.git("checkout", "-q", "-f", "main")  # it has left the branch, on which all commits still are


def read_texts(clone: GitRepo) -> dict[str, str]:
    with Memsync.open(clone.root) as project:
        assert not [problem for problem in project.store("project").problems() if not problem.harmless]
        return {entry.id: entry.content for entry in project.memories()}


def meet(clones: list[GitRepo]) -> None:
    for clone in (*clones, clones[0]):
        with Memsync.open(clone.root) as project:
            sync(project)
        clone.git("add", "-A")
        clone.git("commit", "-q", "--allow-empty", "-m", "all of it")
        clone.git("pull", "-q", "--no-rebase", "--no-edit")
        clone.git("push", "-q")


class Pair:
    """Two clones with their users, and what each of them was told is stored or gone."""

    def __init__(self, directory: Path, mode: str) -> None:
        subprocess.run(["git", "init", "-q", "--bare", str(directory / "host.git")], check=True)
        self.directory = directory
        self.clones = [make_clone(directory, number, mode) for number in (0, 1)]
        self.sure: list[dict[str, str]] = [{}, {}]
        self.gone: list[set[str]] = [set(), set()]
        self.dying: list[str] = ["", ""]  # what each was doing when it was killed
        self.acknowledged = 0
        self.brought_back = 0

    def work_and_die(self, crew: Crew, dice: random.Random, name: str) -> None:
        """Let both write, commit, pull and push, and kill them with all that they started."""
        actors = [
            crew.start(
                "endless_syncer",
                root=str(clone.root),
                home=str(self.directory / f"home{number}"),
                name=f"clone {number} {name}",
                seed=dice.randrange(2**32),
            )
            for number, clone in enumerate(self.clones)
        ]
        actors[1].until_it_did(1)
        actors[0].until_it_did(dice.randrange(1, 8))
        actors[0].listen(dice.random() / 20)
        for actor in actors:
            with suppress(ProcessLookupError):
                os.killpg(actor.pid, signal.SIGKILL)
        for number, actor in enumerate(actors):
            self.note(number, actor.to_the_end())

    def note(self, number: int, said: list[dict[str, Any]]) -> None:
        """Note what the user of a clone was told."""
        stored, doing = what_is_known(said)
        self.sure[number].update(stored)
        if doing:
            self.sure[number].pop(doing["id"] or "", None)
        self.dying[number] = doing["about_to"] if doing else ""
        self.gone[number] |= {what["id"] for what in said if what.get("did") == "forget"}
        self.acknowledged += sum("did" in what for what in said)

    def check_each(self) -> None:
        """See that each clone has what its user was told, once git's own locks are gone, or can have it back."""
        for clone, sure, gone, dying in zip(self.clones, self.sure, self.gone, self.dying, strict=True):
            clean_up(clone)
            found = read_texts(clone)
            if {id_: found.get(id_) for id_ in sure} != sure or not gone.isdisjoint(found):
                assert dying in OF_GIT, f"git was not at work, but {dying}"
                self.brought_back += bring_back(clone, gone)
                found = read_texts(clone)
            check(found, sure, gone)

    def check_all(self) -> None:
        """Let both meet, and see that both have the same, and all of it."""
        meet(self.clones)
        found = read_texts(self.clones[0])
        assert read_texts(self.clones[1]) == found
        assert self.clones[0].memories.read_bytes() == self.clones[1].memories.read_bytes()
        check(found, self.sure[0] | self.sure[1], self.gone[0] | self.gone[1])
        for clone in self.clones:
            clone.git("fsck", "--no-dangling")


def check(found: dict[str, str], sure: dict[str, str], gone: set[str]) -> None:
    assert {id_: found.get(id_) for id_ in sure} == sure
    assert gone.isdisjoint(found)
    assert len(set(found.values())) == len(found)


def bring_back(clone: GitRepo, gone: set[str]) -> int:
    """Do what `memsync doctor` says of that which a killed git took away; return of how many memories it spoke."""
    with Memsync.open(clone.root) as project:
        lost, returned = find_lost(project), find_returned(project)
        assert gone.isdisjoint(one.memory.id for one in lost)
        assert gone >= {one.memory.id for one in returned}
        assert restore_lost(project, lost).refused == ()
        for one in returned:
            project.forget(one.memory.id)
    return len(lost) + len(returned)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", MODES)
def test_two_clones_killed_while_they_sync_lose_nothing_that_they_acknowledged(crew, quick_root, mode):
    dice = random.Random(f"{SEED} {mode}")
    pair = Pair(quick_root, mode)
    rounds = KILLS // len(MODES)
    for turn in range(rounds):
        pair.work_and_die(crew, dice, f"in turn {turn}")
        pair.check_each()
        if turn % 10 == 9:
            pair.check_all()
    pair.check_all()
    told = len({**pair.sure[0], **pair.sure[1]})
    print(
        f"seed {SEED}, {mode}: {rounds} rounds, {pair.acknowledged} acknowledged, {told} memories there, all of them;"
        f" {pair.brought_back} times `doctor` named one that git had taken away or brought back"
    )
