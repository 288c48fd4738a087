"""What git runs of us has a clock: a file that never ends, or a lock that is never given back, does not keep git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync.git.install import BLOCKED, ROOTS

_PATIENCE = 30  # seconds that the test waits; the clock of the hooks is set to one


@pytest.fixture(autouse=True)
def short_clock(monkeypatch):
    monkeypatch.setenv("MEMSYNC_GIT_SECONDS", "1")


@pytest.fixture
def stuck(repo: GitRepo) -> GitRepo:
    """Return a repository whose memory file, when git's filter reads it, never ends."""
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    repo.write_memories(memory_line("mm-aaaaaa", "the tests need docker"))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    pipe = repo.root / ".git" / "never"
    os.mkfifo(pipe)
    repo.git("config", "filter.never.clean", f"cat; exec cat '{pipe}'")
    with (repo.root / ".gitattributes").open("a") as file:
        file.write(".gobby/memories.jsonl filter=never\n")
    return repo


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in the file system")
@pytest.mark.parametrize("name", ["merge-driver", "merge-skill", "textconv"])
def test_a_driver_that_never_gets_its_file_ends_so_that_git_does_without_it(tmp_path, name):
    os.mkfifo(tmp_path / "never")
    (tmp_path / "ours").write_text(memory_line("mm-a", "ours"))
    words = ["never"] if name == "textconv" else ["never", "ours", "ours"]
    began = time.monotonic()
    done = memsync("git", name, *words, cwd=tmp_path, timeout=_PATIENCE)
    assert time.monotonic() - began < _PATIENCE
    assert done.code not in (0, 1)
    assert "did not finish within 1 seconds; MEMSYNC_GIT_SECONDS allows more" in done.err
    assert (tmp_path / "ours").read_text() == memory_line("mm-a", "ours")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in the file system")
def test_a_pre_commit_that_gets_stuck_says_that_nothing_was_checked_and_lets_git_go_on(stuck):
    stuck.memories.write_text(memory_line("mm-aaaaaa", "the tests need docker and time"))
    done = memsync("git", "hook", "pre-commit", cwd=stuck.root, timeout=_PATIENCE)
    assert done.code == 0
    assert "NOT CHECKED FOR SECRETS" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
def test_a_secret_that_was_found_before_the_time_ran_out_stops_the_commit(repo, tmp_path, monkeypatch):
    for name, text in (("aa", "staging: ghp_5up3rS3cr3tT0kenF0rStag1ngTest5Only2"), ("bb", "the tests need docker")):
        (repo.root / name / ".gobby").mkdir(parents=True)
        (repo.root / name / ".gobby" / "memories.jsonl").write_text(memory_line(f"mm-{name}", text))
        repo.git("config", "--add", ROOTS, name)
    repo.git("add", "-A")
    slow = tmp_path / "bin" / "git"  # as slow as a disk that is asleep, once the second file is read
    slow.parent.mkdir()
    real = shutil.which("git")
    mark = tmp_path / "checking"  # the first file is being looked at
    slow.write_text(
        f"#!/bin/sh\ncase \"$*\" in 'cat-file --batch') [ ! -e '{mark}' ] || exec sleep 60; : > '{mark}';; esac\n"
        f"exec '{real}' \"$@\"\n"
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MEMSYNC_GIT_SECONDS", "8")
    done = memsync("git", "hook", "pre-commit", cwd=repo.root, timeout=_PATIENCE)
    assert "did not finish within" in done.err
    assert "aa/.gobby/memories.jsonl" in done.err
    assert done.code == BLOCKED


def test_code_in_c_that_keeps_python_from_running_is_ended_too():
    code = (
        "from memsync.system import limits\nimport re\n"
        "limits.start_clock(0.2, lambda: 0)\n"
        "re.match('(a|b|ab)*c', 'ab' * 40)\n"  # one call that lasts for ages and lets no thread of Python in
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=_PATIENCE, capture_output=True, check=False)
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("work", ["while True: pass", "time.sleep(60)"])
def test_a_clock_of_work_ends_who_works_long_before_who_only_waits(work):
    code = f"from memsync.system import limits\nimport time\nlimits.start_clock(8, lambda: 3, own=0.5)\n{work}\n"
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], timeout=_PATIENCE, check=False)
    took = time.monotonic() - begun
    assert (done.returncode, took >= 8) == (3, "sleep" in work)


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf"])
def test_a_clock_that_is_set_to_nonsense_still_runs(tmp_path, repo, value):
    done = memsync("git", "hook", "post-merge", cwd=repo.root, env={"MEMSYNC_GIT_SECONDS": value}, timeout=_PATIENCE)
    assert done.code in (0, BLOCKED)
