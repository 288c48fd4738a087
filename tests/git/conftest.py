"""Repositories with our hooks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memsync.git.install import install
from memsync.store.places import locate

if TYPE_CHECKING:
    from helpers import GitRepo


@pytest.fixture
def hooked(repo) -> GitRepo:
    """Return a repository with one committed memory, `mm-aaaaaa`, and our hooks."""
    repo.write_memories('{"content":"first","id":"mm-aaaaaa","updated_at":"2026-01-01T00:00:00.000Z"}\n')
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "memories")
    install(locate(repo.root))
    return repo
