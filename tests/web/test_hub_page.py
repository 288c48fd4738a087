"""What other repositories know, beside the list: a hub that hangs holds up no other page, and the page says that it gives no answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from running import serving

from memsync.hub import config


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return a hub's server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        config.save(config.Settings(server=f"http://127.0.0.1:{server.getsockname()[1]}", token="token"))
        yield server


def test_other_pages_are_shown_while_the_hub_hangs_and_its_failure_is_told(repo, line, silent):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    with serving(repo.root) as url, httpx2.Client(timeout=60) as client, ThreadPoolExecutor() as threads:
        client.get(url)
        base = url.partition("?")[0]
        page = client.get(f"{base}memories?q=node&hub=1").text
        assert "Asking the hub" in page
        assert "/hub?q=node&amp;hub=1" in page
        asked = threads.submit(client.get, f"{base}hub?q=node&hub=1")
        with silent.accept()[0] as connection:  # it is being asked
            assert "CI needs Node 20" in client.get(f"{base}memories").text
            assert not asked.done()
            connection.recv(10_000)
            connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        assert "503" in asked.result().text
