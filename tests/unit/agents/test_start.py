"""What a session begins with: a small store whole; else lines that take turns, what the branch is about, and the subjects."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta

from helpers import GitRepo, memory_line, memsync

from memsync.agents.hooks import answer
from memsync.clients import facts
from memsync.memories.project import Project
from memsync.records import parse_time

ASK = "which column does cron_jobs use for the schedule?"


def start(repo: GitRepo, source: str = "startup", session: str = "s1") -> str:
    payload = {"session_id": session, "cwd": str(repo.root), "source": source}
    said = memsync("hook", "session-start", "--client", "claude", cwd=repo.root, stdin=json.dumps(payload)).json
    return said["hookSpecificOutput"]["additionalContext"]


def write_team(repo: GitRepo, many: int) -> None:
    """Write *many* equal facts of four subjects, a rule that matters more, and an old line about cron_jobs."""
    tags = ("billing", "deploy", "search", "mail")
    lines = [
        memory_line(
            f"mm-fact{n:03}", f"Machine {n} of the {tags[n % 4]} cluster answers on port {4000 + n}", tags=[tags[n % 4]]
        )
        for n in range(many)
    ]
    lines.append(memory_line("mm-rule00", "Nothing is deployed on a Friday", importance=0.9, type="preference"))
    old = {"importance": 0.5, "created_at": "2026-05-01T10:00:00Z", "updated_at": "2026-05-01T10:00:00Z"}
    lines.append(memory_line("mm-cron00", "cron_jobs keeps its schedule in the column spec, as a crontab line", **old))
    repo.write_memories("".join(lines))


def test_a_small_store_is_given_whole_whatever_its_age_and_importance(repo: GitRepo):
    write_team(repo, 22)
    given = start(repo)
    assert given.count("\n- [") == 24
    assert "cron_jobs keeps its schedule" in given
    assert len(given) <= 4000


def test_of_a_large_store_ten_lines_are_given_and_the_subjects_with_their_counts_again_after_a_compaction(
    repo: GitRepo,
):
    write_team(repo, 120)
    for source in ("startup", "compact"):
        given = start(repo, source)
        assert (given.count("\n- ["), "Nothing is deployed on a Friday" in given) == (10, True)
        assert "122 memories in all" in given
        assert "billing 30, deploy 30, mail 30, search 30" in given
        assert len(given) <= 2000


def test_a_large_store_that_has_faded_is_told_by_its_subjects_alone(repo: GitRepo):
    old = {"importance": 0.4, "created_at": "2025-05-01T10:00:00Z", "updated_at": "2025-05-01T10:00:00Z"}
    lines = [memory_line(f"mm-{n:03}", f"Fact {n} of a long list", tags=[f"part-{n % 3}"], **old) for n in range(90)]
    repo.write_memories("".join(lines))
    given = start(repo)
    assert "90 memories in all; recall finds more, among others on: part-0 30, part-1 30, part-2 30" in given
    assert "\n- [" not in given


def test_a_lower_limit_of_the_user_holds_for_a_small_store_too(repo: GitRepo):
    write_team(repo, 8)
    memsync("config", "memory.injection_limit", "3", cwd=repo.root)
    assert start(repo).count("\n- [") == 3


def test_what_the_name_of_the_branch_asks_for_is_among_the_first(repo: GitRepo):
    write_team(repo, 120)
    repo.git("checkout", "-q", "-b", "fix/cron-jobs-schedule")
    assert "cron_jobs keeps its schedule" in start(repo)


def test_over_sixty_days_equals_take_turns_and_what_was_asked_once_is_not_at_every_later_start(repo: GitRepo):
    write_team(repo, 120)
    begin = parse_time("2026-11-01T09:00:00Z")
    assert begin is not None
    shown: Counter[str] = Counter()
    for day in range(60):
        now = begin + timedelta(days=day)
        with Project.open(repo.root, clock=lambda now=now: now) as project:
            about = {"session_id": f"day-{day}", "cwd": str(repo.root), "source": "startup"}
            begun = answer(project, facts.find("claude"), "session-start", about)
            begun.used()
            shown.update(begun.given)
            if day == 3:
                asked = answer(project, facts.find("claude"), "prompt", {**about, "prompt": ASK})
                asked.used()
                assert asked.given == ("mm-cron00",)
    assert shown["mm-rule00"] == 60
    assert shown["mm-cron00"] <= 10
    times = [shown[f"mm-fact{n:03}"] for n in range(120)]
    assert (min(times) >= 3, max(times) <= 6) == (True, True)


def test_what_a_start_gives_is_noted_as_given_and_not_as_used(repo: GitRepo):
    write_team(repo, 3)
    assert "cron_jobs" in start(repo)
    assert memsync("show", "mm-cron00", "--json", cwd=repo.root).json["access_count"] == 0
    asked = {"session_id": "s2", "cwd": str(repo.root), "prompt": ASK}
    assert "cron_jobs" in memsync("hook", "prompt", cwd=repo.root, stdin=json.dumps(asked)).out
    assert memsync("show", "mm-cron00", "--json", cwd=repo.root).json["access_count"] == 1
