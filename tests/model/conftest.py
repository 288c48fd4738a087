"""A home for all users of a model, and memsync ready for git's hooks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clones import GITCONFIG
from prefork import Prefork

# What git's hooks and drivers load.
MODULES = (
    "memsync.cli.app",
    "memsync.cli.drivers",
    "memsync.format.merge",
    "memsync.git.hooks",
    "memsync.memories.sync",
    "memsync.store.store",
)


@pytest.fixture(scope="session")
def prefork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefork]:
    if sys.platform == "win32":
        pytest.skip("Windows can neither fork nor pass files")
    found = Prefork(tmp_path_factory.mktemp("prefork"), *MODULES)
    yield found
    found.close()


@pytest.fixture
def surroundings(home: Path, prefork: Prefork, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the steps set the time, the user and the chance, and take it all back afterwards."""
    (home / ".gitconfig").write_text(GITCONFIG)
    monkeypatch.setenv("PATH", f"{prefork.bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("os.urandom", os.urandom)
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "MEMSYNC_HOME"):
        monkeypatch.setenv(name, "")
