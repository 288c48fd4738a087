"""Two clones whose users write, commit, pull and push, killed in the middle of it: all that was acknowledged is there.

`make check-model` kills 60 times; MEMSYNC_CHECK_KILLS sets another number, MEMSYNC_CHECK_SEED other moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from crew import what_is_known
from helpers import GitRepo

from memsync import Memsync
from memsync.git.install import install
from memsync.memories.sync import sync
from memsync.setup.repository import init
from memsync.store.places import locate

KILLS = int(os.environ.get("MEMSYNC_CHECK_KILLS") or 12)
SEED = int(os.environ.get("MEMSYNC_CHECK_SEED") or datetime.now(UTC).date().toordinal())
MODES = ("worktree", "on-commit", "auto-commit")


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
    for path in (clone.root / ".git").glob("rebase-*"):  # a rebase that was killed before it began
        subprocess.run(["rm", "-r", str(path)], check=True)


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


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", MODES)
def test_two_clones_killed_while_they_sync_lose_nothing_that_they_acknowledged(crew, quick_root, mode):
    dice = random.Random(f"{SEED} {mode}")
    subprocess.run(["git", "init", "-q", "--bare", str(quick_root / "host.git")], check=True)
    clones = [make_clone(quick_root, number, mode) for number in (0, 1)]
    sure: dict[str, str] = {}
    acknowledged = 0
    for turn in range(KILLS // len(MODES)):
        actors = [
            crew.start(
                "endless_syncer",
                root=str(clone.root),
                home=str(quick_root / f"home{number}"),
                name=f"clone {number} in turn {turn}",
                seed=dice.randrange(2**32),
            )
            for number, clone in enumerate(clones)
        ]
        actors[1].until_it_did(1)
        actors[0].until_it_did(dice.randrange(1, 8))
        actors[0].listen(dice.random() / 20)
        for actor in actors:
            with suppress(ProcessLookupError):
                os.killpg(actor.pid, signal.SIGKILL)
        gone: set[str] = set()
        for actor in actors:
            stored, doing = what_is_known(actor.to_the_end())
            sure |= stored
            if doing:
                sure.pop(doing["id"] or "", None)
            acknowledged += sum("did" in said for said in actor.said)
            gone |= {said["id"] for said in actor.said if said.get("did") == "forget"}
        for clone in clones:
            clean_up(clone)
            read_texts(clone)
        meet(clones)
        found = read_texts(clones[0])
        assert read_texts(clones[1]) == found
        assert {id_: found.get(id_) for id_ in sure} == sure
        assert gone.isdisjoint(found)
        assert clones[0].memories.read_bytes() == clones[1].memories.read_bytes()
        assert len(set(found.values())) == len(found)
        sure = found
    for clone in clones:
        clone.git("fsck", "--no-dangling")
    print(
        f"seed {SEED}, {mode}: {KILLS // len(MODES)} times two clones killed, {acknowledged} acknowledged, {len(sure)} there"
    )
