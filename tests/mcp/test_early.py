"""The first answers, which are there before the SDK is: the same as the SDK's, once each, and nothing is lost on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from helpers import memory_line, until
from prefork import Prefork

from memsync.mcp import early
from tools.write_docs import first_answers

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask(id_: object, method: str, **params: object) -> dict:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def hello(version: str = "2025-06-18") -> dict:
    return ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
RECALL = {"name": "recall", "arguments": {"query": "node of CI"}}
# As a process, which says at its end whether the SDK was loaded.
SERVE = "import sys; from memsync.cli import main\ntry: main()\nfinally: print('mcp' in sys.modules, file=sys.stderr)"
FRESH = (sys.executable, "-c", SERVE)
MODULES = (
    "memsync.mcp.server",
    "memsync.cli.servers",
    "memsync.memories.finder",
    "memsync.index.core",
    "memsync.index.static",
    "memsync.store.watch",
    "memsync.skills.skills",
    "anyio._backends._asyncio",
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Return a memsync that has everything loaded already, for what is not about the loading."""
    if sys.platform == "win32":
        pytest.skip("the first answers are for POSIX, and so is forking")
    made = Prefork(tmp_path_factory.mktemp("prefork"), *MODULES)
    yield (str(made.bin / "memsync"),)
    made.close()


def talk(root: Path, command: Sequence[str], *messages: object) -> tuple[list[dict], list[str]]:
    """Return the answers of *command* to *messages* (lines as they are, or objects), and what it said beside them."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in messages]
    done = subprocess.run(command, cwd=root, input=b"".join(lines), capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode().splitlines()


def without_sdk(root: Path, *messages: object, words: Sequence[str] = ("mcp",)) -> list[dict]:
    answers, said = talk(root, (*FRESH, *words), *messages)
    assert said == ["False"]
    return answers


def by_sdk(root: Path, loaded: Sequence[str], *messages: object) -> list[dict]:
    """Return what the SDK answers: `-C` goes past the first answers."""
    return talk(root, (*loaded, "-C", str(root), "mcp"), *messages)[0]


def test_the_file_has_what_the_sdk_answers(repo, loaded):
    assert Path(early.ANSWERS).read_text(encoding="utf-8") == first_answers(repo.root, loaded), "run `make docs`"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_first_words_of_a_client_are_answered_without_the_sdk_and_as_the_sdk_does(repo, loaded, version):
    said = [hello(version), READY, ask(1, "tools/list"), ask("2", "prompts/list"), ask(3, "resources/list", _meta={})]
    assert without_sdk(repo.root, *said) == by_sdk(repo.root, loaded, *said)


def test_a_client_without_a_handshake_is_answered_without_the_sdk_too(repo, loaded):
    said = [ask(1, "server/discover", _meta=META), ask(2, "tools/list", _meta=META)]
    answers = without_sdk(repo.root, *said)
    assert answers == by_sdk(repo.root, loaded, *said)
    assert answers[1]["result"]["ttlMs"] > 0


LISTEN = ask(
    "l", "subscriptions/listen", _meta=META, notifications={"toolsListChanged": True, "promptsListChanged": True}
)


def test_a_client_that_listens_before_it_asks_for_the_tools_is_heard_without_the_sdk_and_once(repo, loaded):
    said = [LISTEN, ask(1, "tools/list", _meta=META)]
    answers = without_sdk(repo.root, *said)
    assert answers[0]["params"]["notifications"] == LISTEN["params"]["notifications"]
    assert answers == [one for one in by_sdk(repo.root, loaded, *said) if one.get("id") != "l"]
    after, _ = talk(repo.root, (*loaded, "mcp"), *said, ask(2, "tools/call", _meta=META, **RECALL))
    assert [one for one in after if one.get("id") not in (2, "l")] == answers


def test_groups_of_tools_are_chosen_early_too(repo):
    answers = without_sdk(repo.root, hello(), READY, ask(1, "tools/list"), words=("mcp", "--tools", "history"))
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["memory_history", "memory_diff", "memory_blame"]


@pytest.mark.parametrize("lists", [[], [ask(1, "tools/list")]])
def test_a_call_goes_on_with_the_sdk_and_everything_is_answered_once(repo, loaded, lists):
    repo.write_memories(memory_line("mm-aaaaaa", "CI needs Node 20"))
    said = [hello(), READY, *lists, ask(2, "tools/call", **RECALL), ask(3, "ping")]
    answers, _ = talk(repo.root, (*loaded, "mcp"), *said)
    assert sorted(answer["id"] for answer in answers) == [0, *(one["id"] for one in lists), 2, 3]
    (called,) = (answer["result"] for answer in answers if answer["id"] == 2)
    assert called["content"][0]["text"].endswith("CI needs Node 20")


def test_a_call_without_a_handshake_goes_on_with_the_sdk(repo, loaded):
    said = [ask(1, "tools/list", _meta=META), ask(2, "tools/call", _meta=META, **RECALL)]
    answers, _ = talk(repo.root, (*loaded, "mcp"), *said)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["content"][0]["text"] == "nothing is known about that"


@pytest.mark.parametrize(
    "said",
    [
        [b"not json\n"],
        [b'{"jsonrpc":"2.0","id":1}\n'],
        [b"[]\n"],
        [ask(1, "tools/list")],
        [ask(1, "initialize")],
        [hello(), READY, ask(1, "tools/list", cursor="x")],
        [hello(), READY, ask(1, "no/such")],
        [hello("1999-01-01"), READY, ask(1, "tools/list")],
        [ask(1, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})],
        [ask(1, "subscriptions/listen", _meta=META, notifications={"noSuch": True})],
        [ask(1, "server/discover", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"})],
    ],
)
def test_what_is_not_plain_is_answered_as_the_sdk_does(repo, loaded, said):
    assert talk(repo.root, (*loaded, "mcp"), *said)[0] == by_sdk(repo.root, loaded, *said)


def test_the_sdk_is_loaded_while_the_client_rests_so_that_the_first_call_does_not_wait(repo):
    code = "from memsync.cli import main\nfrom memsync.mcp import early\nearly._REST = 0.1\nmain()"
    words = [sys.executable, "-c", code, "mcp"]
    with subprocess.Popen(words, cwd=repo.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        for message in (hello(), READY, ask(1, "tools/list")):
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        assert [json.loads(server.stdout.readline())["id"] for _ in range(2)] == [0, 1]
        maps = Path(f"/proc/{server.pid}/maps")
        if maps.exists():
            until(lambda: "pydantic_core" in maps.read_text())
        server.stdin.close()
        assert server.wait(60) == 0


def test_nothing_heavy_is_loaded_for_the_first_answers(repo):
    code = SERVE.replace("'mcp' in sys.modules", "' '.join(sys.modules)")
    _, said = talk(repo.root, (sys.executable, "-c", code, "mcp"), hello(), READY, ask(1, "tools/list"))
    heavy = "click mcp pydantic anyio numpy orjson git"
    assert set(heavy.split()) & set(said[-1].split()) == set()
