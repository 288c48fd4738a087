"""What steps do: values filled without evaluation, errors one by one, results as the seeds give them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.agents.actions import ACTIONS, Turn, check, fill, run
from memsync.agents.injection import CAP
from memsync.agents.session import RecallSession
from memsync.errors import MemsyncError
from memsync.store.workflow import Step

PORT = "The staging database listens on port 5433"


@pytest.fixture
def turn(project):
    project.remember(PORT)
    return Turn(RecallSession(project, "s1"), {"user_prompt": "which port does the staging database use?"})


def do(turn, action, **params):
    (outcome,) = run([Step(action, params, "test")], turn)
    return outcome.result


def test_there_are_the_actions_of_the_seeds():
    wanted = {"memory_inject", "inject_memories", "memory_recall_relevant", "reset_memory_injection_tracking",
              "save_memory", "memory.sync_import", "memory.sync_export"}  # fmt: skip
    assert wanted <= set(ACTIONS)


@pytest.mark.parametrize("action", ["memory_inject", "inject_memories", "memory_recall_relevant"])
def test_a_query_names_the_prompt_in_braces(turn, action):
    result = do(turn, action, query="{user_prompt}", limit=5)
    assert list(result) == ["inject_context", "injected", "count", "filtered"]
    assert PORT in result["inject_context"]


def test_without_a_query_the_most_important_are_given(turn):
    assert "## Facts" in do(turn, "memory_inject")["inject_context"]


def test_the_threshold_is_the_step_s_or_that_of_the_settings(turn):
    assert do(turn, "memory_inject", min_importance=0.9) == {"injected": False, "count": 0, "filtered": 0}
    assert do(turn, "memory_inject", min_importance="0.5")["injected"]


def test_several_actions_of_one_event_stay_under_the_cap_of_the_clients_together(project, turn):
    for number in range(40):
        project.remember(f"Rule {number}: " + f"word{number} " * 60)
    for _ in range(4):
        do(turn, "memory_inject", limit=20, budget=9_000)
        for found in turn.injections:
            turn.session.commit(found)
    assert len("\n".join(found.text for found in turn.injections).encode()) <= CAP


def test_a_text_is_saved_and_once(turn, project):
    turn.values = {"artifact.plan": "Ship on Friday"}
    params = {"content": "{artifact.plan}", "memory_type": "context", "importance": 0.8}
    first = do(turn, "save_memory", **params)
    assert (first["saved"], project.get(first["memory_id"]).memory.memory_type) == (True, "context")
    assert project.get(first["memory_id"]).memory.source_type == "session"
    assert do(turn, "save_memory", **params)["saved"] is False
    assert do(turn, "save_memory", content=" ")["reason"] == "nothing to save"


def test_the_file_is_taken_in_and_put_in_order(turn, project, repo):
    repo.memories.write_bytes(repo.memories.read_bytes() + b'{"id": "aa-hand", "content": "by hand"}\n')
    assert do(turn, "memory.sync_import") == {"memories": 2}
    assert do(turn, "memory.sync_export") == {"exported": True}
    assert do(turn, "memory.sync_export") == {"exported": False}
    assert repo.memories.read_text().startswith('{"id": "aa-hand"')


@pytest.mark.parametrize(
    ("action", "params", "why"),
    [
        ("dance", {}, "unknown action 'dance'"),
        ("memory_inject", {"limit": "many"}, "limit: 'many' is not a whole number"),
        ("memory_inject", {"limit": -1}, "limit: -1 is not a whole number"),
        ("memory_inject", {"limit": True}, "limit: True is not a whole number"),
        ("memory_inject", {"query": "{no_such_value}"}, "unknown value {no_such_value}"),
        ("save_memory", {"content": "x", "importance": 7}, "importance 7.0 is not between 0 and 1"),
    ],
)
def test_a_step_that_fails_says_why_and_the_next_one_runs(turn, action, params, why):
    steps = [Step(action, params, "test"), Step("memory_inject", {}, "test")]
    bad, good = run(steps, turn)
    assert why in bad.result["error"]
    assert good.result["injected"]


def test_a_parameter_that_no_action_knows_is_told_and_passed_over(turn, caplog):
    assert do(turn, "memory_recall_relevant", project_id="abc", limit=5)["injected"]  # seed 000's handler takes it
    assert "unknown parameter 'project_id'" in caplog.text
    assert "unknown parameter 'project_id'" in check(Step("memory_recall_relevant", {"project_id": "abc"}, "test"))


def test_the_plan_of_a_session_is_an_artifact(turn, project, tmp_path):
    made = {"type": "tool_use", "name": "ExitPlanMode", "input": {"plan": "Ship the port change on Friday"}}
    steps = json.dumps({"plan": [{"step": "Bump the port", "status": "pending"}, {"step": "Tell ops"}]})
    rows = {
        "claude": {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}, made]}},
        "codex": {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "update_plan", "arguments": steps},
        },
    }
    params = {"content": "{artifact.plan}", "memory_type": "context", "importance": 0.8}  # as seed 002 spells it
    assert do(turn, "save_memory", **params) == {"saved": False, "reason": "nothing to save"}
    for client, plan in {"claude": "Ship the port change on Friday", "codex": "- Bump the port\n- Tell ops"}.items():
        path = tmp_path / f"{client}.jsonl"
        path.write_text('{"name": "ExitPlanMode"\n' + json.dumps(rows[client]) + "\n")  # a torn line before it
        turn.values = {"transcript_path": str(path)}
        assert project.get(do(turn, "save_memory", **params)["memory_id"]).content == plan


def test_what_is_switched_off_is_not_done(project, turn, transcript):
    project.settings = project.settings._replace(sync_enabled=False, skills_enabled=False)
    assert do(turn, "memory.sync_export") == {"exported": False, "reason": "memory_sync.enabled is off"}
    assert do(turn, "skills_learn", transcript=str(transcript))["reason"] == "skills.enabled is off"
    project.close()
    assert project.store("project").in_log_form


def test_a_broken_store_is_an_error_of_the_step(turn, project, repo):
    repo.memories.write_bytes(b"\xff\xfea\x00")
    assert "UTF-16" in do(turn, "memory_inject")["error"]


@given(st.text(), st.text())
def test_a_value_is_put_in_as_it_is(before, value):
    text = before.replace("{", "").replace("}", "") + "{user_prompt}"
    assert fill(text, {"user_prompt": value}) == text.removesuffix("{user_prompt}") + value


@pytest.mark.parametrize("odd", ["{0}", "{user_prompt!r}", "{}", "{ user_prompt }", "{user_prompt[0]}"])
def test_nothing_in_braces_is_evaluated(odd):
    assert fill(odd, {"user_prompt": "x"}) == odd


def test_a_value_has_no_attributes():
    with pytest.raises(MemsyncError, match="unknown value"):
        fill("{user_prompt.__class__}", {"user_prompt": "x"})


def test_a_step_is_checked_before_its_values_are_known():
    assert check(Step("memory_inject", {"limit": "{limit}", "query": "{user_prompt}"}, "test")) == ""
    assert "unknown parameter" in check(Step("memory_inject", {"colour": "{user_prompt}"}, "test"))


@pytest.fixture
def transcript(tmp_path):
    rows = [
        {"type": "user", "message": {"role": "user", "content": "run the tests of the billing service"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test-billing"}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "all passed", "is_error": False}]}},
        {"type": "user", "message": {"role": "user", "content": "No, always use `uv run pytest` for the billing tests"}},
    ]  # fmt: skip
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(json.dumps({**row, "timestamp": "2026-01-15T12:00:00Z"}) + "\n" for row in rows))
    return path


def test_memories_and_a_skill_are_proposed_from_the_transcript(turn, transcript, repo):
    before = repo.memories.read_bytes()
    turn.values = {**turn.values, "transcript_path": str(transcript)}
    assert do(turn, "memory_extract")["extracted"] >= 1
    assert do(turn, "skills_learn", name="billing-tests", use_model="no")["status"] == "candidate"
    assert do(turn, "skills_learn")["status"] == "nothing"  # one command, and nothing failed
    assert repo.memories.read_bytes() == before  # they wait for approval


def test_what_a_session_was_about_is_kept_and_can_be_named_later(turn, transcript, project):
    turn.values = {**turn.values, "transcript_path": str(transcript)}
    found = do(turn, "extract_handoff_context")["handoff_context"]
    assert "make test-billing" in found
    saved = do(turn, "save_memory", content="{handoff_context}", memory_type="context")
    assert "make test-billing" in project.get(saved["memory_id"]).content


def test_a_session_without_a_transcript_teaches_nothing(turn):
    assert do(turn, "memory_extract") == {"extracted": 0, "reason": "the session has no transcript"}
    assert do(turn, "skills_learn") == {"status": "nothing", "reason": "the session has no transcript"}


@pytest.mark.parametrize("action", ["memory_extract", "extract_handoff_context"])
def test_a_transcript_that_is_not_there_is_named(turn, action):
    assert "transcript" in do(turn, "extract_handoff_context")["error"]
    assert "no-such-file" in do(turn, action, transcript="/no-such-file")["error"]
