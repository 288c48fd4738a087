"""Doing a plan, and taking it back: exactly that, on records that are still what the plan saw."""

from __future__ import annotations

import json
import shutil

import pytest

from memsync import Memsync
from memsync.errors import MemsyncError, StoreUnreadable
from memsync.janitor import review, runs
from memsync.janitor.plan import Archive, Confirm, Merge, Reverse
from memsync.janitor.run import apply
from memsync.janitor.runs import undo
from memsync.janitor.survey import survey
from memsync.records import format_time
from memsync.store.state import Dedup

RICH = "Run make fmt before every commit; CI rejects unformatted Go. Use version 1.2."
POOR = "Run make fmt before every commit; CI rejects unformatted Go."


def memory(project: Memsync, id_: str = "mm-a"):
    project.stores.refresh()
    return project.store("project").get(id_)


def live(project: Memsync) -> dict[str, str]:
    project.stores.refresh()
    return {id_: found.content for id_, found in project.store("project").memories().items()}


def raw_line(repo, id_: str) -> list[str]:
    return [line for line in repo.memories.read_text().splitlines() if f'"{id_}"' in line and "deleted_at" not in line]


def statuses(report) -> list[str]:
    return [outcome.status for outcome in report.outcomes]


def test_what_is_kept_takes_over_tags_and_the_larger_importance_and_what_was_superseded(project, put):
    put(RICH, tags=["go"], importance=0.4, source_type="session", supersedes=["mm-x"])
    put(POOR, start="b", tags=["ci", "go"], importance=0.9, supersedes=["mm-y"])
    report = apply(project, survey(project, ["dedup"]).steps)
    kept = memory(project)
    assert statuses(report) == ["done"]
    assert (kept.tags, kept.importance, kept.supersedes) == (("go", "ci"), 0.9, ("mm-x", "mm-y"))
    assert kept.source_type == "user"
    assert live(project) == {"mm-a": RICH}


def test_a_removal_is_not_dated_by_another_record_that_a_wrong_clock_has_put_into_the_future(repo, project, put):
    put(RICH)
    put(POOR, start="b")
    put("The API listens on port 8080; it logs to stdout and to syslog.", start="c")
    put("The API listens on port 8080.", start="d", updated_at="2090-01-01T00:00:00Z")
    apply(project, survey(project, ["dedup"]).steps)
    lines = map(json.loads, repo.memories.read_text().splitlines())
    gone = {row["id"]: row["deleted_at"] for row in lines if "deleted_at" in row}
    assert gone.keys() == {"mm-b", "mm-d"}
    assert gone["mm-b"] <= format_time(project.clock()) < "2090" < gone["mm-d"]


def test_links_to_what_is_merged_away_lead_to_what_stands_for_it_until_that_is_taken_back(project, put):
    put(RICH, links=["see:mm-b"])
    put(POOR, start="b", links=["because:mm-a", "needs:mm-c"])
    put("The API is in Go", start="c", links=["because:mm-b", "see:mm-a", "see:mm-x", "needs:mm-b"])
    before = project.store("project").memories()
    apply(project, [step for step in survey(project, ["dedup"]).steps if step.keep == "mm-a"])
    assert memory(project).links == ("needs:mm-c",)
    assert memory(project, "mm-c").links == ("because:mm-a", "see:mm-a", "see:mm-x", "needs:mm-a")
    undo(project)
    after = project.store("project").memories()
    assert {id_: one.links for id_, one in after.items()} == {id_: one.links for id_, one in before.items()}


def test_several_copies_merged_into_one_leave_all_their_tags(project, put):
    for number in range(3):
        put(POOR, start="abc"[number], tags=[f"tag{number}"], importance=0.5 + number / 10)
    apply(project, survey(project, ["dedup"]).steps)
    (kept,) = project.store("project").memories().values()
    assert (set(kept.tags), kept.importance) == ({"tag0", "tag1", "tag2"}, 0.7)


def test_a_merge_is_a_row_of_the_dedup_log_with_the_line_that_was_dropped(project, put, repo):
    put(RICH)
    put(POOR, start="b", weird=1)
    dropped = raw_line(repo, "mm-b")[0]
    apply(project, survey(project, ["dedup"]).steps)
    (row,) = project.state("project").dedup_log()
    assert (row.new_text, row.existing_id, row.existing_text, row.decision) == (POOR, "mm-a", RICH, "subsumed")
    assert row.rejected.decode() == dropped


def test_keep_and_drop_may_be_swapped_and_the_kept_text_worded_anew(project, put):
    put(RICH, POOR)
    (step,) = survey(project, ["dedup"]).steps
    apply(project, [step._replace(keep=step.drop[0], drop=(step.keep,), content="Run make fmt 1.2.")])
    assert {entry.id: entry.content for entry in project.memories()} == {"mm-b": "Run make fmt 1.2."}


@pytest.mark.parametrize("which", ["mm-a", "mm-b"])
def test_a_record_that_changed_since_the_plan_is_left_alone(project, put, which):
    put(RICH, POOR)
    steps = survey(project, ["dedup"]).steps
    project.update(which, importance=0.123)
    before = live(project)
    report = apply(project, steps)
    assert [(o.status, o.reason) for o in report.outcomes] == [
        ("skipped", f"{which} was changed since the plan was made")
    ]
    assert (live(project), report.run) == (before, None)


def test_a_record_that_is_gone_is_left_alone_and_the_rest_is_done(project, put):
    put(RICH, POOR, "The tests need docker.", "the tests  need docker.")
    steps = survey(project, ["dedup"]).steps
    project.forget("mm-b")
    assert sorted(statuses(apply(project, steps))) == ["done", "skipped"]
    assert set(live(project)) == {"mm-a", "mm-c"}


def test_new_words_that_another_record_says_already_are_refused(project, put):
    put(RICH, POOR, "The tests need docker.")
    (step,) = survey(project, ["dedup"]).steps
    report = apply(project, [step._replace(content="the tests need DOCKER.")])
    assert report.outcomes[0].reason == "mm-c says already what mm-a should say"


def test_new_words_that_hold_a_secret_are_refused_and_the_rest_is_done(project, put):
    put(RICH, POOR, "The tests need docker.", "the tests  need docker.")
    one, other = survey(project, ["dedup"]).steps
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    before = live(project)
    report = apply(project, [other._replace(content=f"Log in with {token}"), one])
    assert statuses(report) == ["failed", "done"]
    assert token not in str(report.outcomes[0].reason)
    assert live(project).keys() == before.keys() - set(one.drop)


def test_without_room_for_the_backup_nothing_is_changed(project, put, repo):
    put(RICH)
    put(POOR, start="b", tags=["ci"])
    steps = survey(project, ["dedup"]).steps
    before = repo.memories.read_bytes()
    local = repo.root / ".gobby" / "local"
    local.mkdir(exist_ok=True)
    (local / "janitor").write_text("a file where the backups should be")
    assert statuses(apply(project, steps)) == ["failed"]
    assert repo.memories.read_bytes() == before


def test_one_store_that_cannot_be_written_does_not_stop_another(project, put, repo):
    put(RICH, POOR)
    id_ = project.remember("My editor is Helix.", scope="global").entry.id
    shutil.rmtree(repo.root / ".gobby" / "local", ignore_errors=True)  # where the index is
    (repo.root / ".gobby" / "local").write_text("a file where the lock should be")
    steps = [Merge("project", "mm-a", ("mm-b",)), Archive("global", id_)]
    report = apply(project, steps)
    assert statuses(report) == ["failed", "done"]
    assert live(project) == {"mm-a": RICH, "mm-b": POOR}


def test_an_archived_record_stays_in_the_file_and_is_recalled_no_more(project, put, repo):
    put("Redis was flaky in the old cluster.")
    apply(project, [Archive("project", "mm-a")])
    assert memory(project).archived_at is not None
    assert memory(project).updated_at is None
    assert (list(project.recall("redis")), len(raw_line(repo, "mm-a")) > 0) == ([], True)


def test_what_was_used_since_the_plan_is_not_archived(project, put, clock):
    put("Redis was flaky.", source_type="session", importance=0.3, created_at="2024-01-01T00:00:00Z")
    project.state("project").record_use([("mm-a", clock())])
    report = apply(project, [Archive("project", "mm-a", worth=0.1)])
    assert report.outcomes[0].reason == "mm-a was used since the plan was made"


def test_a_step_that_is_done_already_is_skipped(project, put):
    put("Redis was flaky.")
    assert [statuses(apply(project, [Archive("project", "mm-a")])) for _ in range(2)] == [["done"], ["skipped"]]


def test_many_merges_are_done_in_one_run(project, put, repo, line):
    repo.write_memories("".join(line(f"mm-{n}", f"fact number {n // 2} of many") for n in range(260)))
    report = apply(project, survey(project, ["dedup"]).steps)
    assert (report.count("done"), len(live(project))) == (130, 130)


# taking back


def test_a_dropped_record_comes_back_byte_for_byte(project, put, repo):
    put(RICH)
    put(POOR, start="b", weird={"z": 1, "a": [2]})
    before = raw_line(repo, "mm-b")
    apply(project, survey(project, ["dedup"]).steps)
    assert "mm-b" not in live(project)
    undo(project)
    assert raw_line(repo, "mm-b")[-1:] == before
    assert live(project) == {"mm-a": RICH, "mm-b": POOR}


def test_what_was_kept_gets_back_what_it_said_before(project, put):
    put(RICH, tags=["go"], importance=0.4, source_type="session")
    put(POOR, start="b", tags=["ci"], importance=0.9)
    (step,) = survey(project, ["dedup"]).steps
    before = memory(project)
    apply(project, [step._replace(content="Other words.")])
    undo(project)
    assert memory(project)._replace(updated_at=None) == before._replace(updated_at=None)


def test_three_merges_into_one_record_are_taken_back_whole(project, put):
    for number in range(4):
        put(POOR, start="abcd"[number], tags=[f"tag{number}"], importance=0.5 + number / 10)
    before = {id_: found._replace(updated_at=None) for id_, found in project.store("project").memories().items()}
    apply(project, survey(project, ["dedup"]).steps)
    undo(project)
    after = {id_: found._replace(updated_at=None) for id_, found in project.store("project").memories().items()}
    assert after == before


@pytest.mark.parametrize("raw", [b'{"step":' + b"[" * 5000 + b"]" * 5000 + b"}", b"{no json}"])
def test_a_run_with_a_line_that_cannot_be_read_is_refused_before_anything_is_undone(project, put, raw):
    put(RICH)
    put(POOR, start="b")
    apply(project, survey(project, ["dedup"]).steps)
    (run,) = runs.names(project)
    path = runs.directory(project, "project") / f"{run}.jsonl"
    path.write_bytes(path.read_bytes() + raw + b"\n")
    with pytest.raises(StoreUnreadable, match="has a line that cannot be read"):
        undo(project)
    assert live(project) == {"mm-a": RICH}
    assert runs.names(project) == [run]


def test_later_edits_are_kept(project, put):
    put(RICH, tags=["go"], importance=0.4)
    put(POOR, start="b", tags=["ci"], importance=0.9)
    apply(project, survey(project, ["dedup"]).steps)
    project.update("mm-a", tags=["mine"])
    done = undo(project)
    assert (memory(project).tags, memory(project).importance) == (("mine",), 0.4)
    assert "mm-a keeps its tags, changed since" in done


def test_a_text_that_lives_again_is_not_brought_back_twice(project, put):
    put(RICH, POOR)
    apply(project, survey(project, ["dedup"]).steps)
    put(POOR.upper(), start="z")
    assert undo(project) == ["mm-b stays out: mm-z says the same"]
    assert set(live(project)) == {"mm-a", "mm-z"}


def test_an_archived_record_is_back_and_not_archived_again_at_once(project, put, clock):
    put("The tests need docker.", start="u")
    put("Redis was flaky.", source_type="session", importance=0.3, created_at="2024-01-01T00:00:00Z")
    project.state("project").record_use([("mm-u", clock())])
    steps = survey(project, ["decay"]).steps
    apply(project, steps)
    assert undo(project) == ["mm-a is back"]
    assert memory(project).archived_at is None
    assert survey(project, ["decay"]).steps == []


@pytest.mark.parametrize("other", [POOR, RICH.upper()])
def test_what_was_taken_back_is_not_merged_again(project, put, other):
    put(RICH, other)
    apply(project, survey(project, ["dedup"]).steps)
    undo(project)
    assert survey(project, ["dedup"]).steps == []
    assert [row.review_status for row in project.state("project").dedup_log()] == ["reversed"]


def test_runs_are_taken_back_one_by_one_the_last_first_or_by_name(project, put):
    put(RICH, POOR)
    first = apply(project, survey(project, ["dedup"]).steps).run
    put("The tests need docker.", "the tests  need docker.", start="m")
    second = apply(project, survey(project, ["dedup"]).steps).run
    assert runs.names(project) == [second, first]
    undo(project, first)
    assert set(live(project)) == {"mm-a", "mm-b", "mm-m"}
    undo(project)
    assert len(live(project)) == 4
    with pytest.raises(MemsyncError, match="no run of the janitor is left to undo"):
        undo(project)
    with pytest.raises(MemsyncError, match="no run of the janitor is left to undo"):
        undo(project, "x")


def test_a_run_that_was_killed_before_it_wrote_is_taken_back_as_nothing(project, put, repo):
    put(RICH, POOR)
    before = repo.memories.read_bytes()
    apply(project, survey(project, ["dedup"]).steps)
    repo.memories.write_bytes(before)  # the backup is written first, and this is what a crash right after it leaves
    assert undo(project) == ["mm-b is there already"]
    assert live(project) == {"mm-a": RICH, "mm-b": POOR}


def test_a_backup_that_was_cut_off_by_a_crash_is_read_as_far_as_it_goes(project, put, repo):
    put(RICH, POOR)
    name = apply(project, survey(project, ["dedup"]).steps).run
    with (repo.root / ".gobby" / "local" / "janitor" / f"{name}.jsonl").open("a") as file:
        file.write('{"step": {"do": "arch')
    assert undo(project) == ["mm-b is back"]


def test_a_run_is_git_ignored_and_private_where_the_store_is(project, put, repo):
    put(RICH, POOR)
    apply(project, survey(project, ["dedup"]).steps)
    assert "janitor" not in repo.status("--untracked-files=all")
    project.remember("A secret habit.", scope="private")
    (id_,) = project.store("private").memories()
    apply(project, [Archive("private", id_)])
    (path,) = runs.directory(project, "private").glob("*.jsonl")
    assert path.stat().st_mode & 0o077 == 0


# review


def rejected(project: Memsync, line: str | None, decision: str = "auto_reject", text: str = POOR) -> Dedup:
    raw = line.strip().encode() if line else None
    row = Dedup(project.clock(), text, "mm-a", RICH, 0.97, decision, "why", "Test User", raw)
    project.state("project").log_dedup([row])
    return row


def only_row(project: Memsync) -> review.Row:
    (row,) = review.rows(project)
    return row


def test_a_decision_of_this_moment_can_be_reversed_at_once(project):
    project.remember(RICH)
    assert project.remember(POOR).status == "exists"
    (row,) = review.rows(project)
    assert review.reverse(project, row).entry.content == POOR


def test_a_rejected_text_comes_back_under_its_own_id(project, put, line):
    put(RICH)
    rejected(project, line("mm-new", POOR, tags=["ci"]))
    back = review.reverse(project, only_row(project))
    assert (back.entry.id, back.entry.memory.tags, live(project)["mm-new"]) == ("mm-new", ("ci",), POOR)
    assert only_row(project).decision.review_status == "reversed"


def test_a_rejected_text_whose_id_is_in_use_gets_another(project, put, line):
    put(RICH)
    rejected(project, line("mm-a", POOR))
    back = review.reverse(project, only_row(project))
    assert live(project) == {"mm-a": RICH, back.entry.id: POOR}


def test_a_text_that_lives_again_is_not_restored(project, put, line):
    put(RICH, POOR.upper())
    rejected(project, line("mm-new", POOR))
    back = review.reverse(project, only_row(project))
    assert (back.entry, back.reason) == (None, "mm-b says the same, so nothing was brought back")
    assert len(live(project)) == 2


def test_where_both_were_kept_there_is_nothing_to_reverse(project, put):
    put(RICH, POOR)
    rejected(project, None, "fallback_keep")
    with pytest.raises(MemsyncError, match="kept both texts"):
        review.reverse(project, only_row(project))


def test_without_a_model_the_janitor_confirms_copies_and_counts_the_rest(project, put, line):
    put(RICH)
    rejected(project, line("mm-x", RICH), "hash_exact")
    rejected(project, line("mm-y", POOR), "auto_reject")
    plan = survey(project, ["review"])
    assert plan.steps == [Confirm("project", (1,), "the same text")]
    assert plan.notes == [
        "1 rejection waits for a review; `memsync review --kind rejection` shows them one by one",
    ]


def test_the_model_confirms_and_reverses_and_a_reversal_can_be_undone(asking, put, line):
    put(RICH)
    project, model = asking(
        json.dumps(
            {"pairs": [{"n": 1, "verdict": "reverse", "reason": "it says less"}, {"n": 2, "verdict": "confirm"}]}
        )
    )
    rejected(project, line("mm-x", "Use make fmt twice."), text="Use make fmt twice.")
    rejected(project, line("mm-y", POOR))
    plan = survey(project, ["review"])
    assert plan.steps == [Reverse("project", 2, "it says less"), Confirm("project", (1,), "")]
    apply(project, plan.steps)
    assert "mm-y" in live(project)
    assert undo(project) == ["mm-y is taken out again"]
    assert "mm-y" not in live(project)
    assert [row.decision.review_status for row in review.rows(project)] == ["unreviewed", "confirmed"]
    assert len(model.asked) == 1


def test_a_log_that_was_lost_loses_no_memory(project, put):
    put(RICH, POOR)
    apply(project, survey(project, ["dedup"]).steps)
    shutil.rmtree(project.state("project").path.parent / "state.db", ignore_errors=True)
    project.state("project").path.unlink()
    undo(project)
    assert live(project) == {"mm-a": RICH, "mm-b": POOR}


def test_merges_of_other_stores_are_found_by_their_name(project, put, line):
    put(RICH)
    project.remember("mine", scope="global")
    row = Dedup(project.clock(), POOR, "mm-a", RICH, 0.9, "auto_reject", "", None, line("mm-g", POOR).strip().encode())
    project.state("global").log_dedup([row])
    (found,) = review.rows(project)
    assert review.name(project, found) == "global:1"
    assert review.reverse(project, review.find(project, "global:1")).entry.scope == "global"
    with pytest.raises(MemsyncError, match="the dedup log has no decision '1'"):
        review.find(project, "1")


def test_a_merge_that_names_a_record_twice_is_refused_before_anything_is_written(project, put):
    put(RICH, POOR)
    steps = [Merge("project", "mm-a", ("mm-b",)), Merge("project", "mm-a", ("mm-b",))]
    assert statuses(apply(project, steps)) == ["done", "skipped"]


# a text of several


def test_a_text_of_its_own_names_its_sources_which_are_archived_and_come_back(project, put):
    put(RICH, POOR, "Format Go before you commit.")
    private = project.remember("Go is formatted by make fmt.", scope="private").entry.id
    text = "Run make fmt (1.2) before every commit: CI rejects unformatted Go."
    step = Merge("project", "mm-a", ("mm-b", "mm-c", private), content=text, decision="llm_reject")
    assert statuses(apply(project, [step])) == ["done", "done"]
    assert {entry.content for entry in project.memories()} == {text}
    assert project.get("mm-a").memory.supersedes == ("mm-b", "mm-c")  # nobody else could follow the private one
    assert project.get(private).memory.archived_at
    undo(project)
    assert len(project.memories()) == 4
    assert project.get("mm-a").memory.supersedes == ()


def test_no_word_of_what_is_private_alone_goes_into_the_text_of_what_is_not(project, put):
    put(RICH, POOR)
    private = project.remember("Go is formatted by make fmt, which Ada broke.", scope="private").entry.id
    told = Merge("project", "mm-a", ("mm-b", private), content=f"{RICH} Ada broke it.", decision="llm_reject")
    report = apply(project, [told])
    assert [(one.status, "is private" in one.reason) for one in report.outcomes] == [("skipped", True)]
    assert project.get("mm-a").content == RICH
    assert statuses(apply(project, [told._replace(content=RICH)])) == ["done", "done"]


def test_a_source_comes_back_by_the_review_of_what_was_dropped_and_by_undo_it_goes_again(project, put):
    put(RICH, POOR)
    apply(project, [Merge("project", "mm-a", ("mm-b",), content="Run make fmt 1.2.", decision="llm_reject")])
    (row,) = project.state("project").dedup_log()
    report = apply(project, [Reverse("project", row.number)])
    assert (statuses(report), set(live(project))) == (["done"], {"mm-a", "mm-b"})
    assert project.get("mm-b").memory.archived_at is None
    undo(project, report.run)
    assert project.get("mm-b").memory.archived_at
