"""What other repositories know, beside the list: a hub that hangs holds up no other page, and the page says that it does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from helpers import until

from memsync.hub import config
from memsync.web import hub


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Return a hub's server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        config.save(config.Settings(server=f"http://127.0.0.1:{server.getsockname()[1]}", token="token"))
        yield server


def test_other_pages_are_shown_while_the_hub_hangs(repo, desk, line, silent):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    assert "Asking the hub" in desk.get("/hub", q="node").text
    with silent.accept()[0]:  # it is being asked
        assert "CI needs Node 20" in desk.get("/memories").text
        assert "Asking the hub" in desk.get("/hub", q="node").text


def test_the_page_says_after_some_seconds_that_the_hub_does_not_answer(desk, silent, monkeypatch):
    monkeypatch.setattr(hub, "_SLOW", 0.0)
    page = desk.get("/hub", q="node")
    assert "The hub has not answered for" in page.text
    assert page.every("section", id="hub")[0]["hx-get"] == "/hub?q=node"


def test_no_more_than_a_few_questions_wait_for_a_hub_that_hangs(desk, silent, monkeypatch):
    monkeypatch.setattr(hub, "_WAIT", 0.0)
    for n in range(hub._MOST):
        assert "Asking the hub" in desk.get("/hub", q=f"node {n}").text
    assert "has not answered what was asked before" in desk.get("/hub", q="one more").text


def test_the_answer_of_the_hub_is_shown_by_the_page_that_waits_for_it(desk, silent, monkeypatch):
    monkeypatch.setattr(hub, "_WAIT", 0.0)
    assert "Asking the hub" in desk.get("/hub", q="node").text
    with silent.accept()[0] as connection:
        connection.recv(10_000)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    pages = []
    until(lambda: "Asking the hub" not in (pages.append(desk.get("/hub", q="node").text), pages[-1])[1])
    assert "503" in pages[-1]
