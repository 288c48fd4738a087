"""What a command says about a word that means nothing, and about a step that would not run."""

from __future__ import annotations

from pathlib import Path

from helpers import memsync


def test_an_id_to_leave_out_that_no_memory_has_is_told(repo):
    memsync("remember", "The staging database listens on port 5433", cwd=repo.root)
    ran = memsync("recall", "staging database", "--exclude", "mm-zzzzzz", cwd=repo.root)
    assert "5433" in ran.out
    assert "--exclude leaves nothing out" in ran.err
    assert "mm-zzzzzz" in ran.err


def test_doctor_names_a_parameter_that_no_step_takes(repo):
    memsync("remember", "The staging database listens on port 5433", cwd=repo.root)
    folder = Path.home() / ".gobby" / "workflows"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("on_prompt:\n  - type: inject_memories\n    limits: 5\n")
    assert "unknown parameter 'limits'" in memsync("doctor", cwd=repo.root).out
    (folder / "mine.yaml").write_text("on_prompt:\n  - type: inject_memories\n    limit: 5\n")
    assert "unknown parameter" not in memsync("doctor", cwd=repo.root).out


def test_the_seeds_short_name_of_a_recall_setting_is_understood(repo):
    assert memsync("config", "memory_recall_limit", "7", cwd=repo.root).code == 0
    assert memsync("config", "memory.recall_limit", cwd=repo.root).out.split()[0] == "7"


def test_the_dedup_log_calls_the_private_store_private_and_finds_it_by_that_name(repo):
    for _ in range(2):
        memsync("remember", "The staging database listens on port 5433", "--private", cwd=repo.root)
    assert "private:1" in memsync("dedup", "log", cwd=repo.root).out
    for name in ("private:1", "stealth:1"):
        assert memsync("dedup", "confirm", name, cwd=repo.root).code == 0


def test_where_skills_are_switched_off_no_command_offers_one(repo):
    text = "---\nname: roll-back\ndescription: How to roll back a release\n---\n1. Revert the tag.\n"
    (skill := repo.root / ".claude" / "skills" / "roll-back" / "SKILL.md").parent.mkdir(parents=True)
    skill.write_text(text)
    memsync("remember", "A release is rolled back by its tag", cwd=repo.root)
    asking = [("skill", "list"), ("skill", "search", "roll back"), ("recall", "roll back a release", "--skills")]
    assert all("roll-back" in memsync(*words, cwd=repo.root).out for words in asking)
    memsync("config", "skills.enabled", "false", cwd=repo.root)
    for words in asking:
        ran = memsync(*words, cwd=repo.root)
        assert (ran.code, "roll-back" in ran.out) == (2, False)
        assert "skills are switched off here (skills.enabled)" in ran.err


def test_what_was_moved_in_is_not_called_written_under_stealth(repo):
    memsync("remember", "The staging database listens on port 5433", cwd=repo.root)
    memsync("config", "--stealth", "on", "--move", cwd=repo.root)
    memsync("remember", "The vault is opened on Mondays", cwd=repo.root)
    off = memsync("config", "--stealth", "off", cwd=repo.root)
    assert "private since stealth was on: mm-" in off.out
    assert "written under stealth" not in off.out
