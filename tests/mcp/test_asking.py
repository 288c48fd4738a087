"""A client that can ask its user is told to: does the new memory replace what it contradicts?"""

from __future__ import annotations

from typing import Any

import pytest
from calling import connected
from mcp.types import ElicitResult

from memsync.agents.live import Live
from memsync.mcp.early import choose
from memsync.mcp.server import build


@pytest.fixture(params=["auto", "legacy"])
def asked_client(request, repo, clock):
    """Return a function that connects a client whose user answers so, and the questions that it was asked."""
    questions: list[str] = []

    def connect(reply: ElicitResult):
        async def ask(_: Any, params: Any) -> ElicitResult:
            questions.append(params.message)
            return reply

        server = build(Live(repo.root, clock=clock), choose("all"), whole=True)
        return connected(server, elicitation_callback=ask, mode=request.param)

    return connect, questions


@pytest.mark.parametrize(
    ("reply", "status", "archived"),
    [
        (ElicitResult(action="accept", content={"replace": True}), "superseded", True),
        (ElicitResult(action="accept", content={"replace": False}), "created", False),
        (ElicitResult(action="decline"), "created", False),
        (ElicitResult(action="cancel"), "created", False),
    ],
    ids=["yes", "no", "declined", "cancelled"],
)
def test_the_user_is_asked_once_and_the_answer_counts(asked_client, project, reply, status, archived):
    old = project.remember("The API listens on port 8080").entry
    connect, questions = asked_client
    with connect(reply) as server:
        told = server.call("remember", content="The API listens on port 8081")
        server.call("remember", content="Anna owns billing")
    assert (len(questions), told["status"]) == (1, status)
    assert f"{old.id}: The API listens on port 8080" in questions[0]
    project.stores.refresh()
    assert (project.get(old.id).memory.archived_at is not None) is archived
    assert [entry.content for entry in project.memories()].count("The API listens on port 8081") == 1


def test_a_client_that_cannot_ask_gets_the_next_call(default, project):
    old = project.remember("The API listens on port 8080").entry
    said = default.ask("call_tool", "remember", {"content": "The API listens on port 8081"}).content[0].text
    assert f'supersedes=["{old.id}"])' in said
