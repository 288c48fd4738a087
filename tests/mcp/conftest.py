"""A server in this process, over a real repository."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from calling import Caller, connected

from memsync.agents.live import Live
from memsync.mcp.early import choose
from memsync.mcp.server import build


@pytest.fixture
def server(repo, clock) -> Iterator[Caller]:
    """Return a server with every tool, whose answers are whole objects."""
    with connected(build(Live(repo.root, clock=clock), choose("all"), whole=True)) as caller:
        yield caller


@pytest.fixture
def default(repo, clock, monkeypatch) -> Iterator[Caller]:
    """Return a server as clients start it, which stands in for no hook: that is in test_first_answer.py."""
    monkeypatch.setenv("MEMSYNC_HOOKS", "off")
    with connected(build(Live(repo.root, clock=clock))) as caller:
        yield caller
