"""Learning a skill, and going over what dedup decided, as an agent does it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers import memsync

SESSION = "0f1e2d3c-aaaa-bbbb-cccc-000000000001"
SKILL = Path(__file__).parents[2] / "templates" / "plugin" / "skills" / "remember" / "SKILL.md"


@pytest.fixture
def transcript(home):
    """A session of Claude Code in which one command failed and one worked."""
    rows: list[dict] = [{"type": "user", "message": {"role": "user", "content": "run the tests"}}]
    for number, (command, said, failed) in enumerate(
        [("pytest", "pytest: command not found", True), ("uv run pytest -q", "12 passed", False)]
    ):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": said, "is_error": failed}
        rows.append({"type": "assistant", "message": {"role": "assistant", "content": [call]}})
        rows.append({"type": "user", "message": {"role": "user", "content": [result]}})
    path = home / ".claude" / "projects" / "repo" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({**row, "sessionId": SESSION}) + "\n" for row in rows))
    return path


def test_a_session_comes_back_as_a_digest_and_a_draft_that_waits(server, transcript):
    told = server.call("learn_skill", name="run-tests", session=SESSION)
    assert (told["status"], told["by"], told["skill"]) == ("candidate", "rules", None)
    assert "uv run pytest -q" in json.dumps(told["digest"])
    assert "call learn_skill with them" in told["next"]
    assert server.call("list_skills")["count"] == 0


def test_instructions_that_the_agent_wrote_are_a_skill_at_once(server, transcript):
    server.call("learn_skill", name="run-tests", session=SESSION)
    steps = "1. `uv run pytest -q`\n2. all must pass"
    assert "as the first line of the instructions" in server.refusal(
        "learn_skill", name="run-tests", instructions=steps
    )
    told = server.call("learn_skill", name="run-tests", instructions=f"Run the tests before a commit.\n\n{steps}")
    assert (told["status"], told["skill"]["name"]) == ("created", "run-tests")
    assert "uv run pytest" in server.call("get_skill", skill_id="run-tests")["instructions"]
    again = server.call("learn_skill", name="run-tests", instructions="Run the tests.\n\n1. `uv run pytest -q -n 4`")
    assert "-n 4" in again["skill"]["instructions"]


def test_without_anything_to_learn_from_the_agent_is_told_what_to_do(server):
    assert "give instructions that you write yourself or session" in server.refusal("learn_skill", name="x")
    assert "give instructions" in server.refusal("learn_skill", name="x", from_session=False)
    elsewhere = server.refusal("learn_skill", name="x", session="../../../etc/passwd")
    assert "give instructions that you write yourself" in elsewhere


def test_first_memories_are_proposed_and_wait_for_the_user(server, repo):
    (repo.root / "CLAUDE.md").write_text("- Always run the tests with `uv run pytest` before a commit.\n")
    told = server.call("init_memory", scan_codebase=False)
    assert ["uv run pytest" in one["content"] for one in told["proposed"]] == [True]
    assert told["proposed"][0]["where"] == "CLAUDE.md:1"
    assert server.call("list_memories")["count"] == 0
    assert server.call("init_memory", scan_codebase=False)["proposed"] == []


def test_notes_are_read_within_the_project_only(server, repo, home):
    (repo.root / "notes.md").write_text("- Always run the tests with `uv run pytest` before a commit.\n")
    (home / "diary.md").write_text("- Always close the window at night.\n")
    (source,) = server.call("extract_memories", paths=["notes.md"], dry_run=True)["sources"]
    assert (source["source"], len(source["proposed"])) == ("notes.md", 1)
    assert "is outside of" in server.refusal("extract_memories", paths=[str(home / "diary.md")])


def test_the_agent_is_told_to_judge_what_the_user_put_right_and_gets_it_from_the_tool_and_in_a_shell(
    server, repo, transcript
):
    with transcript.open("a") as file:
        row = {"type": "user", "message": {"role": "user", "content": "with -n 4 please"}, "sessionId": SESSION}
        file.write(json.dumps(row) + "\n")
    (source,) = server.call("extract_memories", session=SESSION, dry_run=True)["sources"]
    assert source["turns"][1:] == [{"line": 6, "about": "Bash uv run pytest -q", "text": "with -n 4 please"}]
    for text in (server.ask("get_prompt", "remember_this_session").messages[0].content.text, SKILL.read_text("utf-8")):
        (command,) = re.findall(r"`memsync (extract [^`]+)`", text)
        shell = memsync(*command.split(), "--from-session", SESSION, cwd=repo.root)
        assert shell.json["sources"][0]["turns"] == source["turns"]


def test_a_rejected_text_is_found_in_the_log_and_brought_back(server):
    server.call("remember", content="Run the tests with uv run pytest before each commit")
    told = server.call("remember", content="run the tests with `uv run pytest` before each commit.")
    assert told["status"] == "exists"
    (decision,) = server.call("dedup_log", status="unreviewed")["decisions"]
    assert decision["new_text"] == "run the tests with `uv run pytest` before each commit."
    assert server.call("dedup_reverse", decision_id=decision["id"])["status"] == "restored"
    assert server.call("list_memories")["count"] == 2
    assert server.call("dedup_log", status="reversed")["count"] == 1


def test_a_decision_is_confirmed_and_not_shown_as_open_again(server):
    for text in ("Deploys happen on Mondays", "deploys  happen on Mondays!"):
        server.call("remember", content=text)
    (decision,) = server.call("dedup_log")["decisions"]
    assert server.call("dedup_confirm", decision_ids=[decision["id"]])["confirmed"] == [decision["id"]]
    assert server.call("dedup_log", status="unreviewed")["count"] == 0
    assert "dedup_log lists them" in server.refusal("dedup_confirm", decision_ids=["99"])
    assert "use " in server.refusal("dedup_log", decision="nonsense")
