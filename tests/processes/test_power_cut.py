"""A power cut after a command has answered: all that it acknowledged is on the disk, and its name in the directory is, too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from helpers import memory_line

SOURCE = Path(__file__).with_name("disk_log.c")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C library's calls are noted as on Linux")
WORKFLOW = "on_session_end:\n  - {action: memory_extract}\n"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc"):
        pytest.skip("NOT TESTED: a power cut; install cc, which builds what notes the calls")
    library = tmp_path_factory.mktemp("disk") / "disk_log.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture
def run(tmp_path: Path, library: Path, repo) -> Callable[..., list[tuple[str, Path, Path]]]:
    """Return what runs a command and gives the calls that it made, by name, path and new path."""
    log = tmp_path / "calls"
    home = Path.home() / ".gobby"

    def run(*words: str) -> list[tuple[str, Path, Path]]:
        log.unlink(missing_ok=True)
        env = {**os.environ, "LD_PRELOAD": str(library), "DISK_LOG": str(log)}
        command = [sys.executable, "-P", "-m", "memsync", *words]
        done = subprocess.run(command, cwd=repo.root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        calls = [line.split("\t") for line in log.read_text().splitlines()]
        return [(what, Path(path), Path(to)) for what, path, to in calls if is_truth(Path(path), repo.root, home)]

    return run


def is_truth(path: Path, root: Path, home: Path) -> bool:
    """Tell whether *path* holds what no other file has, or its name: not what is made anew, and not the locks."""
    derived = ("state.db", "index", "lock", "patterns", "hooks", "run", "repositories", "workflows.json", "undo")
    if path in (root, home.parent):
        return True
    for top in (root / ".gobby", root / ".claude", home):
        if path.is_relative_to(top):
            return not any(part.startswith(derived) for part in path.relative_to(top).parts)
    return False


def find_unsynced(calls: Iterable[tuple[str, Path, Path]], named: Path) -> list[str]:
    """Return what a power cut after *calls* may take of the file *named* and of the names on the way to it."""
    written: dict[Path, bool] = {}  # files by name, and whether all that was written is on the disk
    names: dict[Path, bool] = {}  # and whether their directory is
    for what, path, to in calls:
        if what == "write":
            written[path] = False
        elif what == "sync":
            written[path] = True
            names |= {name: True for name in names if name.parent == path}
        elif what == "create":
            names[path] = False
        elif what == "rename":
            assert written.get(path, True), f"{path} got the name {to} before its content was on the disk"
            written[to] = True
            names[to] = False
    lost = [f"the content of {path}" for path, is_safe in written.items() if path == named and not is_safe]
    return lost + [
        f"the name {path}" for path, is_safe in names.items() if path in (named, *named.parents) and not is_safe
    ]


DEEDS = {
    "the first memory": ((), ("remember", "CI needs Node 20"), ".gobby/memories.jsonl"),
    "another memory": ((("remember", "one"),), ("remember", "CI needs Node 20"), ".gobby/memories.jsonl"),
    "an edit": ((), ("update", "mm-aaaaaa", "--content", "other"), ".gobby/memories.jsonl"),
    "a removal": ((), ("rm", "mm-aaaaaa"), ".gobby/memories.jsonl"),
    "an import": ((), ("import", "more.jsonl"), ".gobby/memories.jsonl"),
    "an export in place": ((), ("memory", "export"), ".gobby/memories.jsonl"),
    "a setting": ((), ("config", "memory.recall_limit", "7"), ".gobby/config.yaml"),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_what_a_command_has_acknowledged_outlives_a_power_cut(run, repo, deed):
    before, words, path = DEEDS[deed]
    if deed != "the first memory":
        repo.write_memories(memory_line("mm-bbbbbb", "two") + memory_line("mm-aaaaaa", "one"))
    (repo.root / "more.jsonl").write_text('{"content":"the build is slow on Mondays"}\n')
    for earlier in before:
        run(*earlier)
    calls = run(*words)
    assert any(named == repo.root / path for _, *both in calls for named in both), calls
    assert find_unsynced(calls, repo.root / path) == []


def test_what_waits_for_a_commit_outlives_a_power_cut(run, repo):
    repo.git("commit", "-q", "--allow-empty", "-m", "begin")
    run("config", "--global", "memory_sync.mode", "on-commit")
    calls = run("remember", "CI needs Node 20")
    assert find_unsynced(calls, repo.root / ".gobby" / "local" / "pending.jsonl") == []


def test_a_new_skill_outlives_a_power_cut(run, repo):
    path = repo.root / ".claude" / "skills" / "release" / "SKILL.md"
    (repo.root / "steps.md").write_text("1. Run the tests\n")
    calls = run("skill", "add", "release", "-d", "How to release", "-i", "steps.md")
    assert any(named == path for _, *both in calls for named in both), calls
    assert find_unsynced(calls, path) == []


def test_an_approval_outlives_a_power_cut(run, repo):
    folder = repo.root / ".gobby" / "workflows"
    folder.mkdir(parents=True)
    (folder / "w.yaml").write_text(WORKFLOW)
    calls = run("trust", "--yes")
    (path,) = {to for what, _, to in calls if what == "rename" and to.name == "trust.json"}
    assert find_unsynced(calls, path) == []


@pytest.mark.parametrize("scope", ["private", "global"])
def test_a_memory_outside_of_the_repository_outlives_a_power_cut(run, repo, scope):
    for text in ("CI needs Node 20", "The build is slow on Mondays"):  # the first makes the directories, too
        calls = run("remember", text, f"--{scope}")
        (path,) = {path for _, *both in calls for path in both if path.name == "memories.jsonl"}
        assert find_unsynced(calls, path) == []
