"""What the first answer of the server has beside what was asked, where no hook has given it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

import pytest
from calling import Caller, connected
from helpers import memsync

from memsync import Memsync
from memsync.agents.hooks import answer
from memsync.agents.live import Live
from memsync.clients import facts
from memsync.mcp import tool
from memsync.mcp.server import build
from memsync.system.programs import find_pids

FACT = "The staging database listens on port 5433"
RULE = "Never restart the queue by hand"
SESSION = {"sessionId": "s1", "threadId": "s1"}


@pytest.fixture
def ids(repo, clock) -> dict[str, str]:
    with Memsync.open(repo.root, clock=clock) as project:
        return {text: project.remember(text, importance=0.9).entry.id for text in (FACT, RULE)}


@pytest.fixture
def start(repo, clock, monkeypatch) -> Iterator[Callable[..., Caller]]:
    """Return what starts a server at the time of the test's clock."""
    monkeypatch.setattr(tool, "STARTED", clock().timestamp())
    with connected(build(Live(repo.root, clock=clock))) as caller:
        yield caller


def ask(server: Caller, name: str = "recall", session: dict[str, str] | None = None, **arguments: object) -> list[str]:
    """Return the parts of an answer."""
    return [part.text for part in server.ask("call_tool", name, arguments, meta=session).content]


def hook(root, clock, event: str, session: str, **payload: object) -> str:
    with Memsync.open(root, clock=clock) as project:
        reply = answer(project, facts.find("claude"), event, {"session_id": session, **payload})
        reply.used()
        return reply.out


@pytest.mark.parametrize("session", [None, SESSION])
def test_what_a_session_starts_with_comes_once_and_without_what_the_answer_has(start, ids, session):
    asked, begun = ask(start, session=session, query="port of staging")
    assert (FACT in asked, FACT in begun) == (True, False)
    assert begun == f"<project-memory>\n## Facts\n\n- [{ids[RULE]}] {RULE}\n\n</project-memory>"
    assert len(ask(start, session=session, query="queue")) == 1


def test_a_first_call_that_stores_or_fails_leaves_nothing_out(start, ids):
    assert start.ask("call_tool", "forget", {"memory_id": "zzzz"}).is_error
    stored, begun = ask(start, "remember", content="CI needs Node 20")
    assert stored.startswith("created ")
    assert [text in begun for text in (FACT, RULE, "Node 20")] == [True, True, False]
    assert len(ask(start, "remember", content="The card is a page")) == 1


def test_each_session_that_the_client_names_has_a_start_and_none_of_its_subagents(start, ids):
    assert len(ask(start, session=SESSION)) == 1  # which has all of them
    assert len(ask(start, session={"sessionId": "s2", "threadId": "a1"}, query="queue")) == 1
    assert len(ask(start, session={"sessionId": "s2", "threadId": "s2"}, query="queue")) == 2


def test_what_came_so_is_not_given_again_and_the_session_tells_of_it(start, ids, repo, clock):
    ask(start, session=SESSION, query="queue")
    assert hook(repo.root, clock, "prompt", "s1", prompt="which port does the staging database use?") == ""
    done = memsync("sessions", "show", "s1", "--json", cwd=repo.root).json
    assert [(event["what"], event["id"]) for event in done["events"] if event["what"] == "given"] == [
        ("given", ids[FACT])
    ]


@pytest.mark.parametrize("session", [None, SESSION])
@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_where_a_hook_has_answered_since_the_server_started_nothing_comes_twice(
    start, ids, repo, clock, session, event
):
    asked = {"prompt": "which port does the staging database use?"} if event == "prompt" else {}
    assert hook(repo.root, clock, event, "s1", source="startup", **asked)
    assert len(ask(start, session=session, query="queue")) == 1


def test_a_session_that_began_with_a_hook_before_the_server_is_known_by_its_process(start, ids, repo, clock):
    clock.move(seconds=-60)
    hook(repo.root, clock, "session-start", "s1", source="startup", client_pids=find_pids(2))
    clock.move(seconds=60)
    assert len(ask(start, query="queue")) == 1


def test_an_earlier_session_of_another_client_is_no_hook_of_this_one(start, ids, repo, clock):
    clock.move(seconds=-60)
    hook(repo.root, clock, "session-start", "s9", source="startup", client_pids=[1])
    clock.move(seconds=60)
    assert len(ask(start, query="queue")) == 2


def test_who_wants_nothing_unasked_is_given_nothing(start, ids, repo):
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  enabled: false\n")
    assert len(ask(start, query="queue")) == 1


def test_nor_who_switched_hooks_off(repo, clock, ids, monkeypatch):
    monkeypatch.setenv("MEMSYNC_HOOKS", "off")
    with connected(build(Live(repo.root, clock=clock, env=os.environ))) as caller:
        assert len(ask(caller, query="queue")) == 1


def test_a_program_that_wants_whole_objects_is_given_no_other_text(server, ids):
    assert json.loads(*ask(server, query="queue"))["memories"]
