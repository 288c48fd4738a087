"""A sandbox around every test: no real home, no real git identity, a clock that only we move."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import prefork
import pytest
from helpers import EXPLORE, GitRepo, memory_line, sample

from memsync import Memsync

# A shared machine may stop for longer than any deadline. What one run finds the next must find too, so that a
# change is not blamed for the luck of the draw; MEMSYNC_EXPLORE=1 draws anew, to look for what nobody has seen yet.
hypothesis.settings.register_profile("patient", deadline=None, derandomize=not EXPLORE, max_examples=sample(100))
hypothesis.settings.load_profile("patient")

_LEAKS = (
    "GIT_",
    "MEMSYNC_",
    "OPENAI_",
    "CLAUDE",
    "CODEX_",
    "GEMINI_",
    "XDG_",
    "NO_COLOR",
    "COLUMNS",
    "http_proxy",
    "https_proxy",
)


# Without maintenance git starts one process less at each commit.
GITCONFIG = """\
[user]
	name = Test User
	email = test@example.org
[init]
	defaultBranch = main
[gc]
	auto = 0
[maintenance]
	auto = false
"""


_NUMBERS = itertools.count()


def _make_directory(factory: pytest.TempPathFactory, name: str) -> Path:
    """Make one that no other test has; `mktemp` reads the names of all there are to find its number, for each of thousands."""
    word = re.sub(r"\W", "_", name)[:30]
    made = factory.getbasetemp() / f"{word}-{next(_NUMBERS)}"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory of the test's own."""
    return _make_directory(tmp_path_factory, request.node.name)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only home that a test can see; forgetting a path must never reach the real one."""
    for name in list(os.environ):
        if name.startswith(_LEAKS):
            monkeypatch.delenv(name)
    directory = _make_directory(tmp_path_factory, "home")
    monkeypatch.setenv("HOME", str(directory))
    if sys.platform != "win32":  # what git's hooks find starts at once
        monkeypatch.setenv("PATH", f"{prefork.shared().bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("MEMSYNC_HOOK_SECONDS", "60")  # the machine may be busy
    (directory / ".gitconfig").write_text(GITCONFIG)
    return directory


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep what ten thousand tests are made of out of every collection of garbage, each of which would take half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_after_collection = [0]


def pytest_runtest_logfinish() -> None:
    """Collect what nobody has any more before its maps are too many: in a heap as large as this one Python rarely does, and select() takes no file above 1,024."""
    if os.path.isdir("/proc/self/fd") and len(os.listdir("/proc/self/fd")) > _after_collection[0] + 200:
        gc.collect()
        _after_collection[0] = len(os.listdir("/proc/self/fd"))


@pytest.fixture
def cold_starts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each memsync be a process that its caller started, for what asks who that is or what was loaded."""
    kept = [part for part in os.environ["PATH"].split(os.pathsep) if part != str(prefork.shared().bin)]
    monkeypatch.setenv("PATH", os.pathsep.join(kept))


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 15, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        """Move by a timedelta; negative goes back."""
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def repo_pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a repository lies that is copied, which takes a third of the time of making one."""
    return tmp_path_factory.mktemp("pattern") / "repo"


@pytest.fixture
def repo(tmp_path: Path, home: Path, repo_pattern: Path) -> GitRepo:
    """Return a real git repository with one commit."""
    if not repo_pattern.exists():
        GitRepo.create(repo_pattern)
        for sample in repo_pattern.rglob("*.sample"):
            sample.unlink()
    copy = GitRepo(shutil.copytree(repo_pattern, tmp_path / "repo"))
    copy.git("update-index", "-q", "--refresh")  # its files are new to the index
    return copy


@pytest.fixture
def project(repo: GitRepo, clock: FakeClock) -> Memsync:
    """Return memsync in a real repository, at a time that stands still."""
    return Memsync.open(repo.root, clock=clock)


@pytest.fixture
def line():
    """Return a function that spells a record as a person or another tool would."""
    return memory_line


@pytest.fixture(params=["claude", "codex", "gemini"])
def recorded_session(request) -> Path:
    """Return a transcript that a real client wrote (see tests/unit/learn/test_session_transcripts.py)."""
    return Path(__file__).parent / "unit" / "learn" / "transcripts" / f"{request.param}.jsonl"
