"""The janitor by itself: at most once a day, only what it was let do, with a report; a model's word within its budget."""

from __future__ import annotations

import json

import pytest

from memsync.agents.actions import Turn, run
from memsync.agents.session import RecallSession
from memsync.cli.status import describe_janitor
from memsync.janitor.run import read_report, run_daily
from memsync.janitor.runs import undo
from memsync.store.workflow import Step, load

POOR = "Run make fmt before every commit; CI rejects unformatted Go."
RICH = f"{POOR} Use version 1.2."
PAIR = ("The staging database is on host pg-2 in Frankfurt", "pg-2 in Frankfurt is the host of the staging database")


def let(project, how):
    project.settings = project.settings._replace(janitor_automatic=how)


def test_a_session_that_ends_runs_it_only_where_the_user_lets_it(project, put):
    put(RICH, POOR)
    assert "janitor" in [step.action for step in load(project.layout).steps["session_end"]]
    turn = Turn(RecallSession(project, "s1"), {})
    assert run([Step("janitor", {}, "test")], turn)[0].result["reason"] == "janitor.automatic is off"
    assert read_report(project) is None
    let(project, "propose")
    assert run([Step("janitor", {}, "test")], turn)[0].result["status"] == "proposed"


def test_it_proposes_and_changes_no_byte(project, put, repo):
    put(RICH, POOR, *PAIR)
    let(project, "propose")
    before = repo.memories.read_bytes()
    assert (run_daily(project)["merges"], run_daily(project)["reason"]) == (1, "it ran in the last 20 hours")
    assert repo.memories.read_bytes() == before
    line = describe_janitor(read_report(project))
    assert "would have 1 merged" in line
    assert "`memsync janitor run`" in line


def test_it_applies_what_needs_no_person_once_a_day_and_that_can_be_undone(project, put, clock):
    put(RICH, POOR)
    let(project, "apply")
    done = run_daily(project)
    assert (done["status"], done["merges"], len(project.memories())) == ("done", 1, 1)
    undo(project, done["run"])
    assert len(project.memories()) == 2
    clock.move(hours=19)
    assert run_daily(project)["status"] == "nothing"
    clock.move(hours=2)
    assert (run_daily(project)["status"], len(project.memories())) == ("done", 2)  # what was undone stays so


@pytest.mark.parametrize("damage", [b"", b"[1]", b"{", b'{"at": 7}'])
def test_a_damaged_report_counts_as_none(project, put, damage):
    put(POOR)
    let(project, "propose")
    run_daily(project)
    (project.layout.place("project").local / "janitor.json").write_bytes(damage)
    assert read_report(project) is None
    assert run_daily(project)["status"] == "proposed"


NEAR = "Always run make fmt before each commit, since CI rejects Go that is not formatted."
SAME = json.dumps({"pairs": [{"n": 1, "relation": "duplicate", "reason": "as told"}]})


def test_a_model_judges_in_the_background_within_its_budget_and_only_where_its_word_is_done(asking, put, clock):
    put(POOR, NEAR)
    project, model = asking(SAME, janitor={"automatic": "propose"})
    assert (run_daily(project)["clusters"], model.asked) == (1, [])
    clock.move(days=1)
    project, model = asking(SAME, janitor={"automatic": "apply"})
    project.settings = project.settings._replace(llm_budget_per_day=10)
    done = run_daily(project)
    assert (done["merges"], done["clusters"], model.asked) == (0, 1, [])
    assert "budget" in done["notes"][0]
    clock.move(days=1)
    project, model = asking(SAME, janitor={"automatic": "apply"})
    assert (run_daily(project)["merges"], len(model.asked)) == (1, 1)
    assert project.state("project").dedup_log()[0].review_status == "unreviewed"  # a person can look at it
