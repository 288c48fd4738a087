"""One hook's answer, where the same hook is installed twice."""

from __future__ import annotations

import json

from memsync import Memsync
from memsync.agents import hooklog
from memsync.agents.hooks import answer
from memsync.agents.tools import Reply
from memsync.clients import facts

FACT = "The staging database listens on port 5433"
PROMPT = {"session_id": "s1", "prompt_id": "p1", "prompt": "which port does the staging database use?"}
COMPACTED = {"session_id": "s1", "source": "compact"}


def twins(project: Memsync, event: str, payload: dict[str, str]) -> list[str]:
    """Return what each of two hooks for one event prints, neither knowing of the other."""
    opened = [Memsync.open(project.layout.start, clock=project.clock) for _ in range(2)]
    return [answer(one, facts.find("claude"), event, payload).out for one in opened]


def test_of_two_hooks_for_one_prompt_one_prints(project):
    project.remember(FACT)
    first, second = twins(project, "prompt", PROMPT)
    assert FACT in json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert second == ""


def test_of_two_hooks_for_one_start_one_prints(project):
    project.remember(FACT)
    assert [FACT in out for out in twins(project, "session-start", {"session_id": "s1", "source": "startup"})] == [
        True,
        False,
    ]
    assert [FACT in out for out in twins(project, "session-start", COMPACTED)] == [True, False]


def test_the_next_prompt_is_answered_by_whichever_hook_comes_first(project, clock):
    project.remember(FACT)
    for turn in ("p1", "p2", "p1"):
        assert [bool(out) for out in twins(project, "prompt", {**PROMPT, "prompt_id": turn})] == [True, False]
        clock.move(seconds=5)


def test_a_memory_comes_once_where_a_session_is_resumed_and_spoken_to_at_once(project, clock):
    project.remember(FACT)
    copilot = facts.find("copilot")

    def ask(event: str, **payload: str) -> Reply:
        opened = Memsync.open(project.layout.start, clock=clock)
        return answer(opened, copilot, event, {"sessionId": "s1", **payload})

    ask("session-start", source="new").used()
    begun = ask("session-start", source="resume")
    asked = ask("prompt", prompt=PROMPT["prompt"])  # before the other is known to have been printed
    assert [FACT in begun.out, FACT in asked.out] == [True, False]
    for reply in (begun, asked):
        reply.used()
    clock.move(seconds=5)
    assert FACT in ask("session-start", source="resume").out


def test_a_memory_comes_once_where_two_tools_are_called_at_once(project):
    project.remember(FACT, anchors=["*.yaml"])
    calls = [
        {"session_id": "s1", "tool_use_id": f"t{n}", "tool_name": "Write", "tool_input": {"file_path": f"{n}.yaml"}}
        for n in range(2)
    ]
    opened = [Memsync.open(project.layout.start, clock=project.clock) for _ in calls]
    replies = [answer(one, facts.find("claude"), "pre-tool", call) for one, call in zip(opened, calls, strict=True)]
    assert [FACT in reply.out for reply in replies] == [True, False]


def test_how_many_memories_a_compaction_lets_come_again_is_in_the_log(project):
    project.remember(FACT)
    for payload in ({"session_id": "s1", "source": "startup"}, COMPACTED):
        answer(project, facts.find("claude"), "session-start", payload).used()
    assert [note.get("cleared") for note in hooklog.read(project.layout, "project")] == [None, 1]
