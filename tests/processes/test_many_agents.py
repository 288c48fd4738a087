"""Agents, a server, a hand and git on one repository at once: what was acknowledged can be found again.

`MEMSYNC_CHECK_AGENTS=20 MEMSYNC_CHECK_WRITES=50` for more of it; `-s` shows what happened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from helpers import GitRepo, memory_line, memsync

from memsync import Memsync

if TYPE_CHECKING:
    from crew import Actor

AGENTS = int(os.environ.get("MEMSYNC_CHECK_AGENTS") or 3)
WRITES = int(os.environ.get("MEMSYNC_CHECK_WRITES") or 3)
BRANCHES = ("feature", "main")


def call(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def ask_server(repo: GitRepo) -> list[str]:
    """Let a server remember as much as an agent does, and return what it acknowledged."""
    done = []
    words = [sys.executable, "-m", "memsync", "mcp"]
    with subprocess.Popen(words, cwd=repo.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:

        def ask(method: str, **params: object) -> dict:
            server.stdin.write(call(1, method, **params))
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        about = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
        ask("initialize", protocolVersion="2025-06-18", **about)
        for number in range(WRITES):
            text = f"the server found out number {number}"
            said = ask("tools/call", name="remember", arguments={"content": text})
            assert not said["result"].get("isError"), said
            done.append(text)
        server.stdin.close()
    return done


class User:
    """Somebody who writes into the file and goes from branch to branch while others write."""

    def __init__(self, repo: GitRepo) -> None:
        self.repo, self.wrote, self.did = repo, list[str](), Counter[str]()

    def append(self) -> None:
        text = f"a hand wrote number {len(self.wrote)}"
        with open(self.repo.memories, "a") as file:
            file.write(memory_line(f"hand-{len(self.wrote)}", text))
        self.wrote.append(text)

    def save(self) -> None:
        """Save the file as an editor does, over whatever was written since it was read."""
        data = self.repo.memories.read_bytes()
        swap = self.repo.memories.with_name("memories.jsonl~")
        swap.write_bytes(data)
        os.replace(swap, self.repo.memories)

    def git(self, *words: str) -> None:
        done = subprocess.run(["git", *words], cwd=self.repo.root, capture_output=True, text=True, check=False)
        self.did[f"git {words[0]}" + (" refused" if done.returncode else "")] += 1

    def work(self, others: list[Future[object]]) -> None:
        while not all(other.done() for other in others):
            self.append()
            self.save()
            for branch in BRANCHES:
                self.git("commit", "-qam", "work")
                self.git("checkout", "-q", branch)


@pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: the crew forks as only Linux does")
def test_nothing_is_lost_that_agents_write_while_a_user_edits_and_changes_branches(crew, repo):
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    repo.git("add", "-A"), repo.git("commit", "-qm", "begin"), repo.git("branch", BRANCHES[0])
    user, agents = (
        User(repo),
        [crew.start("agent", root=str(repo.root), name=f"agent {n}", count=WRITES) for n in range(AGENTS)],
    )
    with ThreadPoolExecutor(AGENTS + 1) as pool:
        server = pool.submit(ask_server, repo)
        user.work([server, *(pool.submit(hear_out, agent) for agent in agents)])
    wanted = {
        *server.result(),
        *user.wrote,
        *(what["text"] for agent in agents for what in agent.to_the_end() if "did" in what),
    }
    assert len(wanted) == WRITES * (AGENTS + 1) + len(user.wrote)
    for branch in BRANCHES:  # whoever is on one may have written there last
        user.git("commit", "-qam", "the rest")
        user.git("checkout", "-q", branch)
    repo.git("merge", "-q", "-m", "together", BRANCHES[0])
    missing = wanted - texts_of(repo)
    brought = memsync("memory", "restore", "--json", cwd=repo.root)
    print(f"{len(wanted)} acknowledged, {len(missing)} of them brought back by restore; {dict(user.did)}")
    assert wanted - texts_of(repo) == set(), brought
    assert user.did["git checkout"] > 2
    with Memsync.open(repo.root) as project:
        assert project.store("project").problems() == []


def hear_out(agent: Actor) -> None:
    while agent.listen():
        pass


def texts_of(repo: GitRepo) -> set[str]:
    with Memsync.open(repo.root) as project:
        return {entry.content for entry in project.memories()}
