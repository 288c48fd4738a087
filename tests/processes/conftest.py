"""Actors, and the store that they work on."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crew import Crew

from memsync import Memsync


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    if sys.platform != "linux":
        pytest.skip("the crew forks and passes sockets as only Linux does")
    company = Crew()
    yield company
    company.close()


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    """Return a project without git, with an empty store of its own."""
    (tmp_path / ".gobby").mkdir()
    return tmp_path


@pytest.fixture
def quick_root(home: Path) -> Iterator[Path]:
    """Return such a project on a disk in memory, where fsync costs nothing."""
    directory = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    Path(directory, ".gobby").mkdir()
    yield Path(directory)
    shutil.rmtree(directory)


@pytest.fixture
def shown() -> Callable[[Path], dict[str, str]]:
    """Return a function that opens a project afresh and returns id -> text."""

    def show(root: Path) -> dict[str, str]:
        return {entry.id: entry.content for entry in Memsync.open(root).list()}

    return show
