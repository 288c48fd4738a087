"""Two clones whose users write, commit, pull and push, killed in the middle of it: all that was acknowledged is there.

`make check-model KILLS=500` takes so many rounds, of which each kills both, and SEED=N repeats them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from crew import Crew, what_is_known
from helpers import FILTERS, GitRepo

from memsync import Memsync
from memsync.git.install import install
from memsync.memories.lost import bring_back as restore_lost
from memsync.memories.lost import find_lost, find_returned
from memsync.memories.syncing import sync
from memsync.setup.repository import init
from memsync.store.places import locate

KILLS = int(os.environ.get("MEMSYNC_CHECK_KILLS") or 12)
SEED = int(os.environ.get("MEMSYNC_CHECK_SEED") or 1)
OLDER = os.environ.get("MEMSYNC_CHECK_OLDER", "")  # a checkout of an older commit of memsync
MODES = ("worktree", "on-commit", "auto-commit")
# Deeds in which git may be at work in the tree; what it takes away then, nobody but the local history has.
OF_GIT = ("git pull", "sync --push")
WORLD = 20  # rounds until everything is made anew, with another filter


def make_clone(directory: Path, number: int, modes: Sequence[str], filter_: str, *, is_submodule: bool) -> GitRepo:
    """Make clone *number* of the host in *directory*, whose users have homes and *modes* of their own."""
    above = GitRepo(directory / f"above{number}")
    above.root.mkdir()
    clone = GitRepo(above.root / f"c{number}")
    host = str(directory / "host.git")
    if is_submodule:
        above.git("init", "-q")
        above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", host, clone.root.name)
        above.git("submodule", "absorbgitdirs")
        above.git("commit", "-q", "-m", "with a submodule")
    else:
        above.git("clone", "-q", host, str(clone.root))
    for way, command in zip(("clean", "smudge"), FILTERS.get(filter_, ()), strict=False):
        clone.git("config", f"filter.{filter_}.{way}", command)
    for user, mode in enumerate(modes):
        home = directory / f"home{number}-{user}"
        home.mkdir()
        (home / "config.yaml").write_text(f"memory:\n  author: A. Person\nmemory_sync:\n  mode: {mode}\n")
    if number == 0:
        if filter_:
            (clone.root / ".gitattributes").write_text(f"*.jsonl filter={filter_}\n")
        with Memsync.open(clone.root) as project:
            init(project)
        clone.git("add", "-A")
        clone.git("commit", "-q", "-m", "begin")
        clone.git("push", "-q", "-u", "origin", "main")
    install(locate(clone.root))
    return clone


def clean_up(clone: GitRepo, branch: str) -> None:
    """Do what git tells a user to do when it was killed: remove its locks, and end what was under way."""
    git = locate(clone.root).git
    assert git is not None
    for path in git.common.rglob("*.lock"):
        path.unlink()
    for word in ("merge", "rebase"):
        with suppress(AssertionError):
            clone.git(word, "--abort")
    for path in git.git_dir.glob("rebase-*"):  # a rebase that was killed before it began cannot be aborted
        shutil.rmtree(path)
    if (git.git_dir / "HEAD").read_text() != f"ref: refs/heads/{branch}\n":
        clone.git("checkout", "-q", "-f", branch)  # it has left the branch, on which all commits still are


def read_texts(clone: GitRepo) -> dict[str, str]:
    with Memsync.open(clone.root) as project:
        assert not [problem for problem in project.store("project").problems() if not problem.harmless]
        return {entry.id: entry.content for entry in project.memories()}


def commit_all(clone: GitRepo) -> None:
    with Memsync.open(clone.root) as project:
        sync(project)
    clone.git("add", "-A")
    clone.git("commit", "-q", "--allow-empty", "-m", "all of it")


def meet(clones: list[GitRepo]) -> None:
    for clone in (*clones, clones[0]):
        commit_all(clone)
        clone.git("pull", "-q", "--no-rebase", "--no-edit")
        clone.git("push", "-q")


class Pair:
    """Two clones with their users, and what each of them was told is stored or gone."""

    def __init__(self, directory: Path, mode: str, dice: random.Random) -> None:
        self.directory, self.dice = directory, dice
        self.filter = dice.choice(["", "", *FILTERS])
        self.is_submodule = dice.random() < 0.5  # the second one
        subprocess.run(["git", "init", "-q", "--bare", str(directory / "host.git")], check=True)
        modes = (mode, *dice.sample(MODES, 2))
        self.clones = [
            make_clone(directory, number, modes, self.filter, is_submodule=bool(number and self.is_submodule))
            for number in (0, 1)
        ]
        self.sure: list[dict[str, str]] = [{}, {}]
        self.gone: list[set[str]] = [set(), set()]
        self.count = Count()

    def work_and_die(self, crews: Sequence[Crew], turn: int) -> None:
        """Let both write, commit, pull and push, and kill them with all that they started; then see what each has."""
        dice, trees = self.dice, [self.open_tree(number, turn) for number in (0, 1)]
        actors = [
            dice.choice(crews).start(
                "endless_syncer",
                root=str(tree.root),
                home=str(self.directory / f"home{number}-{dice.choice((0, 0, 1, 2))}"),
                name=f"clone {number} in turn {turn}",
                seed=dice.randrange(2**32),
            )
            for number, tree in enumerate(trees)
        ]
        actors[1].until_it_did(1)
        actors[0].until_it_did(dice.randrange(1, 8))
        actors[0].listen(dice.random() / 20)
        for actor in actors:
            with suppress(ProcessLookupError):
                os.killpg(actor.pid, signal.SIGKILL)
        for number, (actor, tree) in enumerate(zip(actors, trees, strict=True)):
            self.check_one(number, tree, actor.to_the_end())
        self.count.rounds += 1

    def open_tree(self, number: int, turn: int) -> GitRepo:
        """Return where the user of a clone works: in it, or in a worktree that he adds."""
        clone = self.clones[number]
        if self.dice.random() < 0.7:
            return clone
        name = f"tree-{number}-{turn}"
        clone.git("worktree", "add", "-q", "-b", name, str(self.directory / name))
        return GitRepo(self.directory / name)

    def check_one(self, number: int, tree: GitRepo, said: list[dict[str, Any]]) -> None:
        """See that what the user was told is there, once git's own locks are gone, or can be had back."""
        clone, gone = self.clones[number], self.gone[number]
        stored, doing = what_is_known(said)
        forgotten = {what["id"] for what in said if what.get("did") == "forget"}
        gone |= forgotten
        self.count.acknowledged += sum("did" in what for what in said)
        if doing:
            self.sure[number].pop(doing["id"] or "", None)
            stored.pop(doing["id"] or "", None)
        dying = doing["about_to"] if doing else ""
        if tree is not clone:
            clean_up(tree, tree.root.name)
            self.settle(tree, stored, forgotten, dying)
            self.close_tree(clone, tree)
            dying = OF_GIT[0]  # what is in no commit goes with the worktree
        clean_up(clone, "main")
        self.sure[number].update(stored)
        self.settle(clone, self.sure[number], gone, dying)
        if number and self.is_submodule and self.dice.random() < 0.3:
            self.empty(clone)
            self.settle(clone, self.sure[number], gone, OF_GIT[0])

    def settle(self, clone: GitRepo, sure: dict[str, str], gone: set[str], dying: str) -> None:
        found = read_texts(clone)
        if {id_: found.get(id_) for id_ in sure} != sure or not gone.isdisjoint(found):
            assert dying in OF_GIT, f"git was not at work, but {dying}"
            self.count.brought_back += bring_back(clone, gone)
            found = read_texts(clone)
        check(found, sure, gone)

    def close_tree(self, clone: GitRepo, tree: GitRepo) -> None:
        """Remove a worktree, as its user or a tool does, and merge its branch."""
        how = self.dice.choice(["", "--force", "rm -r"])
        if how == "rm -r":
            shutil.rmtree(tree.root)
            clone.git("worktree", "prune")
        else:
            if not how:
                commit_all(tree)
            clone.git("worktree", "remove", *how.split(), str(tree.root))
        commit_all(clone)
        clone.git("merge", "-q", "--no-edit", tree.root.name)
        clone.git("branch", "-q", "-D", tree.root.name)
        self.count.worktrees += 1

    def empty(self, clone: GitRepo) -> None:
        """Let the repository above take the files of its submodule away, and put them back."""
        above = GitRepo(clone.root.parent)
        above.git("submodule", "--quiet", "deinit", "--force", clone.root.name)
        above.git("submodule", "--quiet", "update", "--init", clone.root.name)
        clone.git("switch", "-q", "main")
        self.count.emptied += 1

    def check_all(self) -> None:
        """Let both meet, and see that both have the same, and all of it."""
        meet(self.clones)
        found = read_texts(self.clones[0])
        assert read_texts(self.clones[1]) == found
        assert self.clones[0].memories.read_bytes() == self.clones[1].memories.read_bytes()
        check(found, self.sure[0] | self.sure[1], self.gone[0] | self.gone[1])
        for clone in self.clones:
            clone.git("fsck", "--no-dangling")


@dataclass
class Count:
    """What was done in all worlds of a run."""

    rounds: int = 0
    acknowledged: int = 0
    worktrees: int = 0
    emptied: int = 0
    brought_back: int = 0


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


@pytest.fixture(scope="session")
def crews(crew: Crew) -> Iterator[list[Crew]]:
    """Yield who may work: memsync, and mostly that, beside an older one if there is one."""
    if not OLDER:
        yield [crew]
        return
    older = Crew(PYTHONPATH=OLDER)
    yield [crew, crew, older]
    older.close()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", MODES)
def test_two_clones_killed_while_they_sync_lose_nothing_that_they_acknowledged(crews, quick_root, mode):
    dice = random.Random(f"{SEED} {mode}")
    rounds = KILLS // len(MODES)
    told = []
    for begin in range(0, rounds, WORLD):
        (world := quick_root / str(begin)).mkdir()
        pair = Pair(world, mode, dice)
        for turn in range(begin, min(begin + WORLD, rounds)):
            pair.work_and_die(crews, turn)
            if turn % 10 == 9:
                pair.check_all()
        pair.check_all()
        shutil.rmtree(world)
        told.append(f"{pair.filter or 'no filter'}{', a submodule' * pair.is_submodule}: {pair.count}")
    print(f"seed {SEED}, {mode}", *told, sep="\n")
