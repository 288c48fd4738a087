"""The skill tools as an agent uses them."""

from __future__ import annotations

import pytest

FIELDS = {
    "name": "run-tests",
    "instructions": "1. `make test`\n2. read the summary",
    "description": "How to run the tests of this project",
    "trigger_pattern": "test|pytest",
    "tags": ["testing"],
}


@pytest.fixture
def skill(server) -> dict:
    return server.call("create_skill", **FIELDS)["skill"]


def test_a_skill_is_written_where_clients_find_it(server, repo, skill):
    text = (repo.root / ".claude" / "skills" / "run-tests" / "SKILL.md").read_text()
    assert "make test" in text
    assert [one["id"] for one in server.call("list_skills")["skills"]] == [skill["id"]]
    assert "instructions" not in server.call("list_skills")["skills"][0]


def test_a_skill_is_found_by_what_somebody_wants_to_do(server, skill):
    assert [s["name"] for s in server.call("search_skills", query="the tests are red")["skills"]] == ["run-tests"]
    assert server.call("list_skills", query="paint the lighthouse")["skills"] == []


def test_a_skill_is_applied_and_its_outcome_counted(server, skill):
    assert server.call("apply_skill", skill_id="run-tests")["instructions"] == FIELDS["instructions"]
    told = server.call("apply_skill", skill_id=skill["id"][:6], outcome="success")
    assert (told["use_count"], told["success_rate"]) == (1, 1.0)
    assert server.call("skill_stats")["uses"] == 1


def test_a_skill_is_changed_removed_and_restored(server, repo, skill):
    changed = server.call("update_skill", skill_id="run-tests", name="test", instructions="1. `tox`")["skill"]
    assert (changed["id"], changed["name"], changed["tags"]) == (skill["id"], "test", ["testing"])
    assert [one["name"] for one in server.call("delete_skill", skill_id="test")["deleted"]] == ["test"]
    assert not (repo.root / ".claude" / "skills" / "test").exists()
    assert server.call("restore_skill", name="test")["skill"]["instructions"] == "1. `tox`"


def test_a_skill_edited_by_hand_is_read_as_it_is_now(server, repo, skill):
    path = repo.root / ".claude" / "skills" / "run-tests" / "SKILL.md"
    path.write_text(path.read_text().replace("make test", "nox"))
    assert "nox" in server.call("get_skill", skill_id="run-tests")["instructions"]


def test_skills_are_copied_within_the_project_only(server, repo, skill, tmp_path):
    assert server.call("export_skills", directory="copies")["exported"] == [str(repo.root / "copies" / "run-tests")]
    (repo.root / "copies" / "run-tests" / "SKILL.md").write_text("mine")
    assert "force: true replaces its files" in server.refusal("export_skills", directory="copies")
    assert "is outside of" in server.refusal("export_skills", directory=str(tmp_path / "away"))
    assert not (tmp_path / "away").exists()
    assert "is git's own" in server.refusal("export_skills", directory=".git", force=True)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("get_skill", {"skill_id": "zzz"}, "no skill 'zzz'; list_skills shows"),
        ("create_skill", {**FIELDS, "name": "Bad Name"}, "Bad Name"),
        ("create_skill", {**FIELDS, "instructions": " "}, "the instructions are empty"),
        ("create_skill", {**FIELDS, "trigger_pattern": "("}, "trigger"),
        ("create_skill", {**FIELDS, "trigger": "x"}, "did you mean trigger_pattern?"),
        ("apply_skill", {"skill_id": "zzz", "outcome": "so so"}, "'success' or 'failure'"),
    ],
)
def test_a_refusal_says_what_to_do(server, repo, name, arguments, said):
    assert said in server.refusal(name, **arguments)
    assert server.call("list_skills")["count"] == 0
