"""Commits of the user while an agent writes, in mode auto-commit: theirs are made, and the memories come later."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
from doing import committed, remember, shown
from helpers import memsync, until

from memsync import Memsync

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes of the machine are not looked at")


@pytest.fixture
def auto(hooked):
    """Return a repository in mode auto-commit, with something of the user's staged."""
    assert memsync("memory", "config", "memory_sync.mode", "auto-commit", "--global", cwd=hooked.root).code == 0
    (hooked.root / "code").write_text("1\n")
    hooked.git("add", "code")
    return hooked


@pytest.fixture
def slow(tmp_path) -> Path:
    """Return a program that git may start, as an editor, a hook or a signer: it stays until `pipe` is written to."""
    os.mkfifo(tmp_path / "pipe")
    program = tmp_path / "slow"
    program.write_text(
        f"#!/bin/sh\n: > {tmp_path}/reached\ncat {tmp_path}/pipe > /dev/null\n"
        'case "$1" in *MSG) echo "my long message" > "$1" ;; esac\n'
        '[ "$GPG" = "" ] || { echo "[GNUPG:] SIG_CREATED " >&2; echo SIGNED; }\n'
    )
    program.chmod(0o755)
    return program


def begin(repo, slow: Path, *words: str, **env: str) -> subprocess.Popen[bytes]:
    """Start git and return once it waits for *slow*."""
    env = {**os.environ, "GIT_EDITOR": str(slow), **env}
    git = subprocess.Popen(["git", *words], cwd=repo.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until((slow.parent / "reached").exists)
    return git


def end(git: subprocess.Popen[bytes], slow: Path) -> None:
    """Let git go on; it must do what it was asked for."""
    (slow.parent / "pipe").write_text("go\n")
    _, said = git.communicate(timeout=60)
    assert git.returncode == 0, said.decode()


def hook(repo, name: str, slow: Path) -> None:
    path = repo.root / ".git" / "hooks" / name
    path.write_text((path.read_text() if path.exists() else "#!/bin/sh\n") + f'exec {slow} "$@"\n')
    path.chmod(0o755)


@pytest.mark.parametrize(
    "words",
    [
        ["commit"],
        ["commit", "--no-verify"],
        ["commit", "--amend"],
        ["commit", "-a"],
        ["commit", "--", "code"],
        ["-c", "alias.ci=commit --no-verify", "ci"],
    ],
    ids=["plain", "--no-verify", "--amend", "--all", "some paths", "an alias"],
)
def test_a_commit_whose_message_is_being_typed_is_made(auto, slow, words):
    git = begin(auto, slow, *words)
    ran = memsync("remember", "while the user types", cwd=auto.root)
    assert "stored, but not committed: git commit is under way" in ran.err
    end(git, slow)
    assert auto.git("log", "-1", "--format=%s") == "my long message\n"
    remember(auto.root, "afterwards")
    assert [text in committed(auto) for text in ("first", "while the user types", "afterwards")] == [True] * 3
    assert auto.status() == ""


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
def test_a_commit_whose_hook_takes_its_time_is_made(auto, slow, name):
    hook(auto, name, slow)
    git = begin(auto, slow, "commit", "-m", "theirs")
    remember(auto.root, "while the hook runs")
    end(git, slow)
    remember(auto.root, "afterwards")
    assert ("while the hook runs" in committed(auto), auto.status()) == (True, "")


def test_a_commit_that_asks_for_the_passphrase_of_a_key_is_made(auto, slow):
    git = begin(auto, slow, "-c", f"gpg.program={slow}", "commit", "-S", "-m", "signed", GPG="1")
    remember(auto.root, "while the user looks for the passphrase")
    end(git, slow)
    assert auto.git("log", "-1", "--format=%s", "--no-show-signature") == "signed\n"


def test_a_merge_and_a_rebase_with_an_editor_end_well(auto, slow):
    auto.git("commit", "-qm", "work")
    auto.git("switch", "-qc", "side", "HEAD~1")
    auto.git("commit", "-q", "--allow-empty", "-m", "side")
    auto.git("switch", "-q", "main")
    git = begin(auto, slow, "merge", "--no-ff", "--edit", "side")
    remember(auto.root, "while the merge is described")
    end(git, slow)
    (slow.parent / "reached").unlink()
    auto.git("switch", "-q", "side")
    git = begin(auto, slow, "rebase", "-i", "main")
    remember(auto.root, "while the rebase is planned")
    end(git, slow)
    remember(auto.root, "afterwards")
    texts = ("while the merge is described", "while the rebase is planned", "afterwards")
    assert [text in committed(auto) for text in texts] == [True] * 3


def test_a_commit_that_was_killed_holds_nothing_back(auto, slow):
    git = begin(auto, slow, "commit")
    git.kill()
    git.wait()
    remember(auto.root, "after the kill")
    (slow.parent / "pipe").write_text("go\n")
    git.communicate()
    assert "after the kill" in committed(auto)


def test_a_commit_in_another_repository_holds_nothing_back(auto, slow, tmp_path):
    other = type(auto).create(tmp_path / "other")
    git = begin(other, slow, "commit", "--allow-empty")
    remember(auto.root, "meanwhile")
    end(git, slow)
    assert "meanwhile" in committed(auto)


@pytest.mark.slow
def test_of_many_commits_beside_an_agent_that_writes_all_the_time_none_fails(auto):
    is_done, written = threading.Event(), []

    def write() -> None:
        while not is_done.is_set():
            with Memsync.open(auto.root) as project:
                written.append(f"port {1000 + len(written)} is taken by service number {7 * len(written)}")
                project.remember(written[-1])

    agent = threading.Thread(target=write)
    agent.start()
    failed = []
    for number in range(40):
        before = len(written)
        until(lambda: len(written) > before)  # noqa: B023 - asked at once
        (auto.root / "code").write_text(f"{number} more\n")
        ways = (
            ["commit", "-am"],
            ["commit", "--no-verify", "--allow-empty", "-m"],
            ["commit", "--amend", "--allow-empty", "-m"],
        )
        done = subprocess.run(
            ["git", *ways[number % 3], f"work {number}"], cwd=auto.root, capture_output=True, text=True, check=False
        )
        failed += [done.stderr] if done.returncode else []
    is_done.set()
    agent.join()
    remember(auto.root, "afterwards")
    assert failed == []
    assert (len(written) > 10, {*written, "afterwards"} <= shown(auto.root)) == (True, True)
    assert all(text in committed(auto) for text in written)
    assert auto.status(".gobby") == ""
