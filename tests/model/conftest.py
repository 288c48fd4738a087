"""A home for all users of a model; the `memsync` that git's hooks start is loaded already."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from clones import GITCONFIG


@pytest.fixture
def surroundings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the steps set the time, the user and the chance, and take it all back afterwards."""
    if sys.platform == "win32":
        pytest.skip("Windows can neither fork nor pass files")
    (home / ".gitconfig").write_text(GITCONFIG)
    monkeypatch.setattr("os.urandom", os.urandom)
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "MEMSYNC_HOME"):
        monkeypatch.setenv(name, "")
