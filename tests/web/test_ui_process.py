"""`memsync ui` as a user runs it: a process of its own, asked over a real socket."""

from __future__ import annotations

import signal
import socket
import sys

import httpx2
import pytest
from helpers import memsync, until
from running import running

from memsync.agents.live import Live
from memsync.web.health import Checkup
from memsync.web.server import count_unread, read_ahead

PATIENCE = 60


def test_the_desk_shows_the_memories_hears_of_an_edit_and_ends_when_told(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    with running(repo.root, "--port", "0") as (process, url), httpx2.Client(timeout=PATIENCE) as client:
        assert url.startswith("http://127.0.0.1:")
        base = url.partition("?")[0]
        assert client.get(base).status_code == 403
        assert client.get(url).status_code == 200
        assert "CI needs Node 20" in client.get(f"{base}memories").text
        assert client.get(base, headers={"Host": "evil.example"}).status_code == 421
        with client.stream("GET", f"{base}events") as events:
            heard = (row for row in events.iter_lines() if row.startswith("data: "))
            first = next(heard)
            repo.write_memories(line("mm-aaaaaa", "CI needs Node 22"))
            assert next(heard) != first
            assert "CI needs Node 22" in client.get(f"{base}memories").text
            process.send_signal(signal.SIGTERM)  # while somebody still listens
            assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""
    assert repo.status() == "?? .gobby/\n"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no local sockets here")
def test_the_desk_answers_hooks_while_it_runs(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    with running(repo.root, "--port", "0") as (process, _):
        until(lambda: f"by memsync ui (pid {process.pid})" in memsync("status", cwd=repo.root).out)


def test_a_project_keeps_its_port_and_gets_another_one_while_that_is_taken(repo):
    with running(repo.root) as (_, first), running(repo.root) as (_, second):
        assert first.partition("?")[0] != second.partition("?")[0]
    with running(repo.root) as (_, third):
        assert third.partition("?")[0] == first.partition("?")[0]
        assert third != first  # another token


def test_a_port_that_is_taken_is_told(repo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = memsync("ui", "--no-open", "--port", port, cwd=repo.root)
    assert done.code == 2
    assert done.err.startswith(f"memsync: port {port} cannot be had (")
    assert done.err.endswith("`memsync ui --port 0` takes any that is free\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of this machine")
def test_no_other_address_of_this_machine_answers(repo):
    with running(repo.root, "--port", "0") as (_, url):
        port = int(url.partition("/?")[0].rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=PATIENCE)


def test_the_memories_are_read_before_the_browser_comes_and_a_broken_one_ends_nothing(repo, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    live, checkup = Live(repo.root), Checkup(repo.root)
    read_ahead(live, checkup)
    assert live.call(lambda project: project.stores["project"].stamp) is not None
    live.close()
    (repo.root / ".gobby" / "config.yaml").write_text("a: [")
    broken = Live(repo.root)
    read_ahead(broken, checkup)
    broken.close()


def test_what_nobody_has_screened_is_screened_beside_the_pages(repo, line, monkeypatch):
    monkeypatch.setattr("memsync.web.server._MANY", 0)
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20"))
    live, checkup = Live(repo.root), Checkup(repo.root)
    read_ahead(live, checkup)
    until(lambda: live.call(count_unread) == 0)
    checkup.end()
    live.close()
