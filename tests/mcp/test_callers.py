"""Which session a call is of, and that what an agent asked for or stored by itself is not given to it again."""

from __future__ import annotations

import json

import pytest

from memsync import Memsync
from memsync.agents.hooks import answer
from memsync.agents.session import RecallSession
from memsync.clients import facts
from memsync.system.programs import find_pids

FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"
CODEX = {"sessionId": "s1", "threadId": "s1"}


def hook(root, clock, event: str, session: str = "s1", **payload: object) -> str:
    with Memsync.open(root, clock=clock) as project:
        reply = answer(project, facts.find("claude"), event, {"session_id": session, **payload})
        reply.used()
        return json.loads(reply.out)["hookSpecificOutput"]["additionalContext"] if reply.out else ""


def call(server, name: str, arguments: dict[str, object], meta: dict[str, object] | None = None) -> None:
    assert not server.ask("call_tool", name, arguments, meta=meta).is_error


def began_in(root, clock, session: str, pids: list[int]) -> None:
    hook(root, clock, "session-start", session, source="startup", client_pids=pids)


@pytest.fixture
def fact(repo, clock) -> None:
    with Memsync.open(repo.root, clock=clock) as project:
        project.remember(FACT)
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  injection_limit: 0\n")


def test_what_the_session_that_the_call_names_has_recalled_is_not_given_to_it_again(default, repo, clock, fact):
    call(default, "recall", {"query": ASK}, CODEX)
    assert hook(repo.root, clock, "prompt", prompt=ASK) == ""
    assert FACT in hook(repo.root, clock, "prompt", "s2", prompt=ASK)
    assert FACT in hook(repo.root, clock, "session-start", source="compact")


def test_what_a_session_has_stored_is_its_own(default, repo, clock):
    call(default, "remember", {"content": FACT}, CODEX)
    assert hook(repo.root, clock, "prompt", prompt=ASK) == ""
    assert FACT in hook(repo.root, clock, "prompt", "s2", prompt=ASK)
    with Memsync.open(repo.root, clock=clock) as project:
        (entry,) = project.list()
        assert entry.memory.source_session_id == "s1"


def test_a_client_that_names_no_session_is_known_by_its_process(default, repo, clock, fact):
    (parent, *others) = find_pids(2)
    began_in(repo.root, clock, "elsewhere", [1])
    began_in(repo.root, clock, "beside", others)
    began_in(repo.root, clock, "before", [parent, *others])
    clock.move(seconds=5)
    began_in(repo.root, clock, "s1", [parent, *others])  # as after /clear
    call(default, "recall", {"query": ASK})
    assert hook(repo.root, clock, "prompt", prompt=ASK) == ""
    for session in ("elsewhere", "beside", "before"):
        assert FACT in hook(repo.root, clock, "prompt", session, prompt=ASK)


def test_what_a_subagent_recalls_is_not_kept_from_its_session(default, repo, clock, fact):
    began_in(repo.root, clock, "s1", find_pids(2))
    hook(repo.root, clock, "prompt", prompt="Let somebody write the release notes")
    hook(repo.root, clock, "subagent-start", agent_id="a1", agent_type="Explore")
    call(default, "recall", {"query": ASK})
    assert FACT in hook(repo.root, clock, "prompt", prompt=ASK)


def test_a_thread_of_codex_has_the_ledger_of_its_subagent(default, repo, clock, fact):
    call(default, "recall", {"query": ASK}, {"sessionId": "s1", "threadId": "a1"})
    assert FACT in hook(repo.root, clock, "prompt", prompt=ASK)
    with Memsync.open(repo.root, clock=clock) as project:
        assert RecallSession(project, "s1/a1").at_prompt(ASK).reason == "all given before"
