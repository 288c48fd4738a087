"""The real clients, where they are installed; each test that needs one says loudly that it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import CHATTING, CLIENTS, Claude, Client, Codex, Copilot, Gemini, OpenCode, Qwen, why_missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each test take as long as clients do on a machine that has much else to do: what they wait for are events."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(14_400))


def _connected(kind: type[Client], repo, home) -> Iterator[Client]:
    if why := why_missing(kind.program):
        pytest.skip(why)
    client = kind(repo.root, home)
    try:
        made = client.memsync("init", "--agent", client.name, "--no-git-hooks")
        assert made.code == 0, made.err
        client.be_patient()
        yield client
    finally:
        client.close()


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.name)
def client(request, repo, home) -> Iterator[Client]:
    """Return each client in turn, connected to a project by `memsync init`."""
    yield from _connected(request.param, repo, home)


@pytest.fixture
def claude(repo, home) -> Iterator[Client]:
    yield from _connected(Claude, repo, home)


@pytest.fixture
def codex(repo, home) -> Iterator[Client]:
    yield from _connected(Codex, repo, home)


@pytest.fixture
def gemini(repo, home) -> Iterator[Client]:
    yield from _connected(Gemini, repo, home)


@pytest.fixture(params=CLIENTS + CHATTING, ids=lambda kind: kind.name)
def anyone(request, repo, home) -> Iterator[Client]:
    """Return every client in turn, connected to a project by `memsync init`."""
    yield from _connected(request.param, repo, home)


@pytest.fixture(params=[Claude, OpenCode, Qwen], ids=lambda kind: kind.name)
def forking(request, repo, home) -> Iterator[Client]:
    """Return each client in turn that can fork a session by a command."""
    yield from _connected(request.param, repo, home)


@pytest.fixture(params=[Claude, Copilot, OpenCode], ids=lambda kind: kind.name)
def helped(request, repo, home) -> Iterator[Client]:
    """Return each client in turn whose model can start a subagent by itself, which is told what a hook says."""
    yield from _connected(request.param, repo, home)


@pytest.fixture
def qwen(repo, home) -> Iterator[Client]:
    yield from _connected(Qwen, repo, home)


@pytest.fixture
def copilot(repo, home) -> Iterator[Client]:
    yield from _connected(Copilot, repo, home)
