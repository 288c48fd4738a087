"""What the user is told by a hook: that memory does not work as it should, and that something waits."""

from __future__ import annotations

import json

import pytest

from memsync import Memsync
from memsync.agents.hooks import answer
from memsync.clients import facts

FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"


def hook(repo, clock, event: str, client: str = "claude", session: str = "s1", **payload: object) -> dict:
    with Memsync.open(repo.root, clock=clock) as project:
        reply = answer(project, facts.find(client), event, {"session_id": session, **payload})
        reply.used()
        return json.loads(reply.out) if reply.out else {}


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_a_store_that_cannot_be_read_is_told_to_the_user_and_to_the_agent(repo, clock, client, event):
    repo.memories.mkdir(parents=True)
    found = hook(repo, clock, event, client, source="startup", prompt=ASK)
    assert found["systemMessage"].startswith("memsync: memory is unavailable: ")
    assert "not a regular file" in found["systemMessage"]
    said = found["hookSpecificOutput"]["additionalContext"]
    assert said == found["systemMessage"].removeprefix("memsync: ")


def test_lines_that_cannot_be_read_are_told_to_the_user_when_a_session_begins(repo, clock):
    with Memsync.open(repo.root, clock=clock) as project:
        project.remember(FACT)
    with repo.memories.open("a") as file:
        file.write("broken\n")
    found = hook(repo, clock, "session-start", source="startup")
    assert found["systemMessage"].startswith(f"memsync: 1 line of {repo.memories} cannot be used (line 2: ")
    assert FACT in found["hookSpecificOutput"]["additionalContext"]
    assert "systemMessage" not in hook(repo, clock, "prompt", session="s2", prompt=ASK)


def test_an_agent_that_is_given_nothing_is_told_of_lines_that_cannot_be_read(repo, clock):
    repo.write_memories("<<\nbroken\n")
    found = hook(repo, clock, "session-start", source="startup")
    said = found["hookSpecificOutput"]["additionalContext"]
    assert said.startswith(f"memory is incomplete: 2 lines of {repo.memories} cannot be used (line 1: ")
    assert said.removeprefix("memory is incomplete: ") == found["systemMessage"].removeprefix("memsync: ")
    assert hook(repo, clock, "prompt", prompt=ASK) == {}


def test_that_only_words_were_looked_for_is_told_once_a_session(repo, clock, home):
    (home / ".gobby").mkdir()
    (home / ".gobby" / "config.yaml").write_text(
        "memory:\n  embedder: model2vec:/no/such/model\n  injection_limit: 0\n"
    )
    with Memsync.open(repo.root, clock=clock) as project:
        project.remember(FACT)
    first, again, other = (
        hook(repo, clock, "prompt", session=session, prompt=prompt)
        for session, prompt in (("s1", ASK), ("s1", f"{ASK} again"), ("s2", ASK))
    )
    assert "memories are found by words only, because" in first["systemMessage"]
    assert FACT in first["hookSpecificOutput"]["additionalContext"]
    assert "systemMessage" not in again
    assert first["systemMessage"] == other["systemMessage"]


def test_candidates_that_wait_are_told_once_a_day(repo, clock, recorded_session):
    with Memsync.open(repo.root, clock=clock) as project:
        project.remember(FACT)
    hook(repo, clock, "session-end", transcript_path=str(recorded_session))
    first = hook(repo, clock, "session-start", session="s2", source="startup")
    assert "waiting for your approval (`memsync review`)" in first["systemMessage"]
    assert "systemMessage" not in hook(repo, clock, "session-start", session="s3", source="startup")
    clock.move(days=1)
    assert hook(repo, clock, "session-start", session="s4", source="startup")["systemMessage"] == first["systemMessage"]
