"""What the janitor finds to do, and what it leaves in peace."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memsync import Memsync
from memsync.janitor.plan import TASKS, Archive, Merge, Plan
from memsync.janitor.survey import survey
from memsync.store.state import Dedup

RICH = "Run make fmt before every commit; CI rejects unformatted Go. Use version 1.2."
POOR = "Run make fmt before every commit; CI rejects unformatted Go."


def merges(plan: Plan) -> list[tuple[str, str]]:
    return [(step.keep, id_) for step in plan.steps if isinstance(step, Merge) for id_ in step.drop]


def test_a_store_in_order_has_nothing_to_do(project, put):
    put("The API listens on port 8080.", "Marta dislikes emojis in commit messages.")
    assert survey(project, ["dedup", "review"]) == Plan()


def test_no_store_at_all_has_nothing_to_do(project):
    assert survey(project, TASKS) == Plan()


def test_the_same_text_is_merged_whatever_its_case_and_spaces(project, put):
    put(POOR, POOR.upper().replace(" ", "  "))
    assert merges(survey(project, ["dedup"])) == [("mm-a", "mm-b")]


@pytest.mark.parametrize("texts", [(RICH, POOR), (POOR, RICH)])
def test_the_text_that_says_more_is_kept_whichever_is_older(project, put, texts):
    put(*texts)
    ((keep, drop),) = merges(survey(project, ["dedup"]))
    assert (project.get(keep).content, project.get(drop).content) == (RICH, POOR)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The API listens on port 8080.", "The API listens on port 8081."),
        ("Always run the linter before a commit.", "Never run the linter before a commit."),
    ],
)
def test_what_disagrees_is_neither_merged_nor_guessed(project, put, one, other):
    put(one, other)
    plan = survey(project, ["dedup"])
    assert (plan.steps, plan.guesses) == ([], [])


def test_of_many_copies_one_is_kept_and_nothing_is_merged_into_what_is_dropped(project, put):
    put(POOR, RICH, POOR.lower(), RICH.lower(), POOR.upper())
    found = merges(survey(project, ["dedup"]))
    kept, dropped = {keep for keep, _ in found}, [drop for _, drop in found]
    assert not kept & set(dropped)
    assert len(dropped) == len(set(dropped)) >= 3


def test_of_two_copies_the_one_that_a_person_wrote_is_kept(project, put):
    put(POOR, source_type="session", importance=0.9)
    put(POOR.lower(), start="b", source_type="user")
    assert merges(survey(project, ["dedup"])) == [("mm-b", "mm-a")]


@pytest.mark.parametrize("fields", [{"archived_at": "2026-01-01T00:00:00Z"}, {"conflict_of": "mm-x"}])
def test_what_is_set_aside_is_left_in_peace(project, put, fields):
    put(POOR)
    put(POOR, start="b", **fields)
    assert survey(project, ["dedup"]).steps == []


def test_what_is_superseded_is_left_in_peace(project, put):
    put(POOR, POOR)
    put("Run make format instead.", start="c", supersedes=["mm-a"])
    assert survey(project, ["dedup"]).steps == []


def test_a_private_copy_of_a_projects_memory_is_not_merged_with_it(project, put):
    put(POOR)
    project.remember(POOR, scope="private")
    assert survey(project, ["dedup"]).steps == []


def test_a_pair_that_was_once_torn_apart_is_not_proposed_again(project, put, clock):
    put(POOR, RICH)
    row = Dedup(clock(), POOR, "mm-b", RICH, 0.9, "subsumed", review_status="reversed")
    project.state("project").log_dedup([row])
    assert survey(project, ["dedup"]).steps == []


def test_looking_changes_no_byte_of_the_project(project, put, repo):
    put(POOR, RICH)
    before = repo.memories.read_bytes()
    survey(project, TASKS)
    project.close()
    assert repo.memories.read_bytes() == before


# decay

OLD = "2024-01-01T00:00:00Z"


@pytest.fixture
def used(project, put) -> None:
    """Let one memory be in use on this machine, so that the others are known not to be."""
    put("The tests need docker.", start="u")
    project.state("project").record_use([("mm-u", datetime(2026, 1, 14, tzinfo=UTC))])


def archived(project: Memsync) -> list[str]:
    return [step.id for step in survey(project, ["decay"]).steps if isinstance(step, Archive)]


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"source_type": "session", "importance": 0.3, "created_at": OLD}, ["mm-a"]),
        ({"source_type": "session", "importance": 0.05, "created_at": OLD}, ["mm-a"]),
        ({"source_type": "session", "importance": 1.0, "created_at": "2025-06-01T00:00:00Z"}, []),
        ({"source_type": "user", "importance": 0.3, "created_at": OLD}, []),
        ({"source_type": "session", "importance": 0.3}, []),
        # 0.2 above the floor is gone after 4 months of 30.44 days; archived 30 days later
        ({"source_type": "inferred", "importance": 0.3, "created_at": "2025-08-16T00:00:00Z"}, ["mm-a"]),
        ({"source_type": "inferred", "importance": 0.3, "created_at": "2025-08-17T00:00:00Z"}, []),
        ({"source_type": "session", "importance": 0.3, "created_at": OLD, "archived_at": OLD}, []),
    ],
)
def test_what_stays_at_the_floor_is_archived_unless_a_person_wrote_it(project, put, fields, ids):
    put("Redis was flaky in the old cluster.", **fields)
    assert archived(project) == ids


@pytest.mark.usefixtures("used")
def test_what_was_recalled_lately_is_not_archived(project, put):
    put("Redis was flaky.", source_type="session", importance=0.3, created_at=OLD)
    project.state("project").record_use([("mm-a", datetime(2025, 12, 1, tzinfo=UTC))])
    assert archived(project) == []


def test_on_a_machine_that_recalled_nothing_yet_nothing_counts_as_unused(project, put):
    put("Redis was flaky.", source_type="session", importance=0.3, created_at=OLD)
    plan = survey(project, ["decay"])
    assert plan.steps == []
    assert "no memory was recalled on this machine yet" in plan.notes[0]


# with a model

NEAR = "Before every commit, run make fmt: CI rejects Go code that is unformatted."


def said(relation: str) -> str:
    return json.dumps({"pairs": [{"n": 1, "relation": relation, "reason": "as told"}]})


def test_what_the_model_takes_for_the_same_is_merged(asking, put):
    put(POOR, NEAR)
    project, model = asking(said("duplicate"))
    (step,) = survey(project, ["dedup"]).steps
    assert (step.decision, step.why, len(model.asked)) == ("llm_reject", "as told", 1)


def test_what_the_model_keeps_is_not_asked_again(asking, put):
    put(POOR, NEAR)
    project, model = asking(said("different"))
    assert [survey(project, ["dedup"]) for _ in range(2)] == [Plan(), Plan()]
    assert len(model.asked) == 1
    (row,) = project.state("project").dedup_log()
    assert (row.decision, row.reasoning, row.new_text, row.existing_text) == ("llm_keep", "as told", POOR, NEAR)


def test_no_model_can_drop_a_number_a_path_or_a_not(asking, put):
    put(POOR.replace("make fmt", "make fmt in ./cmd/x.go"), NEAR.replace("make fmt", "make fmt 1.2"))
    put("Use the staging database, not production.", "Use the production database.", start="k")
    project, _ = asking(said("contains"), said("contains"))
    plan = survey(project, ["dedup"])
    assert (merges(plan), len(plan.guesses)) == ([], 1)


def test_where_a_value_would_be_lost_the_model_writes_one_text_that_has_it(asking, put):
    put(POOR.replace("make fmt", "make fmt 1.2"), NEAR.replace("make fmt", "make fmt -w"))
    text = "Before every commit run make fmt 1.2 with -w: CI rejects unformatted Go."
    project, model = asking(said("duplicate"), json.dumps({"content": text}))
    (step,) = survey(project, ["dedup"]).steps
    assert (step.content, len(step.drop), len(model.asked)) == (text, 1, 2)


@pytest.mark.parametrize("text", ["Run make fmt -w before every commit.", "", POOR * 4])
def test_a_text_of_the_model_that_lacks_a_value_or_joins_nothing_is_not_taken(asking, put, text):
    put(POOR.replace("make fmt", "make fmt 1.2"), NEAR.replace("make fmt", "make fmt -w"))
    project, _ = asking(said("duplicate"), json.dumps({"content": text}))
    plan = survey(project, ["dedup"])
    assert (plan.steps, len(plan.guesses)) == ([], 1)


@pytest.mark.parametrize("answer", ["no idea", said("duplicate").replace('"n": 1', '"n": 7')])
def test_a_model_of_no_use_leaves_guesses(asking, put, answer):
    put(POOR, NEAR)
    project, _ = asking(answer)
    plan = survey(project, ["dedup"])
    assert (merges(plan), len(plan.guesses)) == ([], 1)


def test_a_model_that_is_gone_leaves_guesses_and_a_note(asking, put):
    put(POOR, NEAR)
    project, model = asking(said("duplicate"))
    model.stop()
    plan = survey(project, ["dedup"])
    model.start()
    assert (plan.steps, len(plan.guesses)) == ([], 1)
    assert "cannot be reached" in plan.notes[0]


def test_switched_off_no_model_is_asked(asking, put):
    put(POOR, NEAR)
    project, model = asking(said("duplicate"), janitor={"dedup": {"haiku_verify_enabled": False}})
    assert len(survey(project, ["dedup"]).guesses) == 1
    assert model.asked == []
