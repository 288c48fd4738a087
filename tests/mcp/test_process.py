"""`memsync mcp` as a client runs it: a process of its own, from the first word to the last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calling import Caller, connected
from helpers import memsync
from mcp.client.extension import advertise
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from memsync import Memsync
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory

COMMAND = [sys.executable, "-m", "memsync", "mcp", "--tools", "all", "--whole"]
PATIENCE = 60

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def call(id_: int, tool: str, **arguments: object) -> dict:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Server:
    """A server process at the end of two pipes."""

    def __init__(self, root: Path, **env: str) -> None:
        self.process = subprocess.Popen(
            COMMAND,
            cwd=root,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.ask(HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict) -> dict:
        self.say(message)
        return json.loads(self.process.stdout.readline())

    def call(self, tool: str, **arguments: object) -> dict:
        return self.ask(call(1, tool, **arguments))["result"]["structuredContent"]

    def hang_up(self) -> None:
        self.process.stdin.close()
        self.process.stdin = None

    def end(self) -> str:
        """Wait for its end, and return what it wrote to standard error."""
        _, err = self.process.communicate(timeout=PATIENCE)
        return err.decode()


@contextmanager
def serving(root: Path, **env: str) -> Iterator[Server]:
    server = Server(root, **env)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@pytest.fixture
def client(repo) -> Iterator[Caller]:
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=repo.root, env=dict(os.environ))
    with connected(stdio_client(parameters)) as caller:
        yield caller


def test_a_client_of_the_sdk_remembers_and_the_command_line_recalls(client, repo):
    id_ = client.call("remember", content="CI needs docker")["memory"]["id"]
    assert [m["id"] for m in memsync("memory", "recall", "docker", "--json", cwd=repo.root).json["memories"]] == [id_]
    memsync("memory", "update", id_, "--content", "CI needs podman", cwd=repo.root)
    assert client.call("recall", query="what does CI need")["memories"][0]["content"] == "CI needs podman"


def test_a_client_that_shows_cards_has_the_queue_over_stdio(repo):
    with Memsync.open(repo.root) as project:
        Candidates(project).propose([Proposal(memory=Memory("", "CI needs docker"))])
    able = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
    parameters = StdioServerParameters(
        command=COMMAND[0], args=["-m", "memsync", "mcp"], cwd=repo.root, env=dict(os.environ)
    )
    with connected(stdio_client(parameters), extensions=[able]) as caller:
        page = caller.tools()["review_card"].meta["ui"]["resourceUri"]
        assert page == caller.tools()["recall"].meta["ui"]["resourceUri"]
        assert "<script>" in caller.ask("read_resource", page).contents[0].text
        card = caller.call("review_card")["card"]
        assert "CI needs docker" in card["text"]
        caller.call("review_card", at=card["name"], was=card["was"], action="approve")
    assert [m["content"] for m in memsync("memory", "list", "--json", cwd=repo.root).json["memories"]] == [
        "CI needs docker"
    ]


def test_at_the_end_of_the_input_all_calls_are_answered_and_the_file_is_in_order(repo):
    words = [HELLO, *(call(n, "remember", content=f"fact {n}") for n in range(1, 9))]
    done = subprocess.run(
        COMMAND,
        cwd=repo.root,
        input="".join(json.dumps(word) + "\n" for word in words).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, {a["id"] for a in answers}) == (0, set(range(9)))
    lines = repo.memories.read_text().splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    assert len(ids) == 8
    assert ids == sorted(ids)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order_while_it_waits_for_a_word(repo, number):
    with serving(repo.root) as server:
        for word in ("zebra", "ant"):
            server.call("remember", content=word)
        server.call("recall", query="zebra")
        server.process.send_signal(number)
        assert "Traceback" not in server.end()
        assert server.process.returncode == 0
    ids = [json.loads(line)["id"] for line in repo.memories.read_text().splitlines()]
    assert ids == sorted(ids)
    assert {e.content: e.access_count for e in Memsync.open(repo.root).list()} == {"zebra": 1, "ant": 0}


def test_a_killed_server_has_lost_nothing_that_it_confirmed(repo):
    with serving(repo.root) as server:
        ids = {server.call("remember", content=f"fact {n}")["memory"]["id"] for n in range(5)}
        (used,) = server.call("recall", query="fact 3", limit=1)["memories"]
        server.process.kill()
        server.end()
    with serving(repo.root) as server:
        counts = {m["id"]: m["access_count"] for m in server.call("list_memories")["memories"]}
    assert counts == {id_: int(id_ == used["id"]) for id_ in ids}


def test_two_servers_on_one_store_see_each_other_at_once(repo):
    with serving(repo.root) as first, serving(repo.root) as second:
        for turn in range(5):
            one, other = (first, second) if turn % 2 else (second, first)
            id_ = one.call("remember", content=f"a fact of turn {turn} about badgers")["memory"]["id"]
            assert id_ in {m["id"] for m in other.call("recall", query="badgers", limit=50)["memories"]}
            assert other.call("remember", content=f"a fact of turn {turn} about badgers")["status"] == "exists"
        for server in (first, second):
            server.hang_up()
            assert server.end() == ""
    assert len(repo.memories.read_text().splitlines()) == 5


def test_nothing_but_the_protocol_is_on_standard_output(repo):
    repo.write_memories('{"id":"a","content":"one"}\nbroken\n')
    with serving(repo.root) as server:
        server.say({"nonsense": True})
        server.process.stdin.write(b"\xff\xfe not json\n")
        server.say(call(7, "remember", content="two"))
        server.hang_up()
        lines = server.process.stdout.read().splitlines()
        assert {json.loads(line).get("id") for line in lines} >= {7}
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)


def test_a_broken_store_is_an_error_of_the_calls_until_it_is_mended(repo):
    repo.memories.mkdir(parents=True)
    with serving(repo.root) as server:
        refused = server.ask(call(1, "recall", query="x"))["result"]
        assert refused["isError"]
        assert "not a regular file; move it away" in refused["content"][0]["text"]
        repo.memories.rmdir()
        assert server.call("remember", content="mended")["status"] == "created"


def test_settings_that_change_count_from_the_next_call_on(repo):
    with serving(repo.root) as server:
        server.call("remember", content="in the tree")
        memsync("memory", "config", "--stealth", "on", cwd=repo.root)
        # also where a model says "project", which is where a text goes by itself
        assert server.call("remember", content="a secret plan", scope="project")["memory"]["scope"] == "private"
        assert not repo.memories.exists()
        (repo.root / ".gobby").mkdir(exist_ok=True)
        (repo.root / ".gobby" / "config.yaml").write_text("memory: [1\n")
        # Settings that cannot be read are no reason to know nothing, nor to publish anything.
        assert len(server.call("recall")["memories"]) == 2
        assert server.call("remember", content="said meanwhile")["memory"]["scope"] == "private"
        (repo.root / ".gobby" / "config.yaml").unlink()
        assert {m["content"] for m in server.call("recall")["memories"]} == {
            "in the tree",
            "a secret plan",
            "said meanwhile",
        }


def test_it_serves_the_project_that_the_client_names_when_started_outside_of_any(repo, tmp_path, line):
    repo.write_memories(line("a", "one"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with serving(elsewhere, CLAUDE_PROJECT_DIR=str(repo.root)) as server:
        assert server.call("list_memories")["count"] == 1
    with serving(repo.root, CLAUDE_PROJECT_DIR=str(elsewhere)) as server:
        assert server.call("list_memories")["count"] == 1


def test_without_the_sdk_it_says_what_to_install(repo):
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['memsync', 'mcp']; from memsync.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=repo.root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs the package mcp" in done.stderr
    assert "-m pip install" in done.stderr


@pytest.mark.parametrize(
    "frame",
    [
        b"[" * 5000 + b"]" * 5000,
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + b"[" * 200 + b"]" * 200 + b"}",
        b'"' + b"x" * (20 * 1024 * 1024) + b'"',
        b"[" * 100_000,
    ],
    ids=["brackets", "objects", "in a request", "long", "no end"],
)
def test_a_frame_that_is_too_deep_or_too_long_is_answered_with_an_error_and_the_server_lives(repo, frame):
    with serving(repo.root) as server:
        server.process.stdin.write(frame + b"\n")
        server.process.stdin.flush()
        refused = json.loads(server.process.stdout.readline())
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert server.call("list_memories")["count"] == 0


def test_it_does_not_wait_for_its_own_answer_to_what_is_not_a_request(repo):
    endless = "from memsync.mcp import wire; wire.PATIENCE = 1e6; from memsync.cli import main; main()"
    said = b'{"jsonrpc":"2.0","id":5,"result":{}}\n{"jsonrpc":"2.0","id":6}\n'
    words = [sys.executable, "-c", endless, "mcp"]
    done = subprocess.run(words, cwd=repo.root, input=said, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
