"""A switch of stealth that is killed in the middle is finished by switching again."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from moments import Tripwire

from memsync import Memsync
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory
from memsync.setup import installing

MODULES = (
    "memsync/store/files.py",
    "memsync/setup/parked.py",
    "memsync/setup/stealth.py",
    "memsync/setup/installing.py",
)
PLACES = 12 if os.environ.get("MEMSYNC_EXPLORE") else 6


def switch(root, on: bool) -> None:
    with Memsync.open(root) as project:
        installing.turn_stealth(project, on, move=True)


def killed(root, on: bool, moment: int) -> bool:
    """Switch in a process that is killed before its call number *moment*; tell whether it was."""
    if (child := os.fork()) == 0:
        sys.settrace(Tripwire(moment, lambda: os.kill(os.getpid(), signal.SIGKILL), MODULES))
        switch(root, on)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def calls(root, on: bool) -> int:
    """Count the calls of a whole switch."""
    tripwire = Tripwire(0, lambda: None, MODULES)
    sys.settrace(tripwire)
    try:
        switch(root, on)
    finally:
        sys.settrace(None)
    return -tripwire.left


def seen(repo) -> dict[str, object]:
    files = [p for p in repo.root.rglob("*") if p.is_file() and ".git" not in p.relative_to(repo.root).parts]
    with Memsync.open(repo.root) as project:
        waiting = [one.memory.content for one in Candidates(project).memories()]
        entries = sorted((entry.scope, entry.content, entry.access_count) for entry in project.memories())
    return {
        "files": {str(p): p.read_bytes() for p in files if "/local/" not in str(p)},
        "status": repo.status("--ignored"),
        "known": (entries, waiting),
    }


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a copy of itself")
@pytest.mark.parametrize("again", ["the same", "the other way"])
@pytest.mark.parametrize("on", [True, False])
def test_a_switch_that_is_killed_is_finished_by_another(repo, on, again):
    with Memsync.open(repo.root) as project:
        installing.init(project, ["claude"], stealth=False, dry_run=False)
        project.remember("alpha")
        project.remember("my own", scope="private")
        project.recall("alpha")
        Candidates(project).propose([Proposal(memory=Memory(id="", content="Run make check", importance=0.6))])
    before = {False: seen(repo)}
    total = {True: calls(repo.root, True)}
    before[True] = seen(repo)
    total[False] = calls(repo.root, False)
    assert seen(repo) == before[False]
    for place in range(PLACES):
        moment = 1 + (total[on] - 1) * place // (PLACES - 1)
        if not on:
            switch(repo.root, True)
        assert killed(repo.root, on, moment) or place == PLACES - 1  # no two switches make quite as many calls
        goal = on if again == "the same" else not on
        switch(repo.root, goal)
        assert seen(repo)["status"] == before[goal]["status"], moment
        assert seen(repo)["known"][0] == before[goal]["known"][0], moment
        switch(repo.root, False)
        assert seen(repo) == before[False], moment
