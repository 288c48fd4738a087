"""A server in this process, over a real repository."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from calling import Caller, connected

from memsync.agents.live import Live
from memsync.mcp.server import build


@pytest.fixture
def server(repo, clock) -> Iterator[Caller]:
    with connected(build(Live(repo.root, clock=clock))) as caller:
        yield caller
