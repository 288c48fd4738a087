"""The page that somebody opens in the morning: what waits for him, what changed, what agents were given."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from helpers import memsync

from memsync import Memsync
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory, format_time


def said(page) -> str:
    return " ".join("".join(page.said).split())


def test_an_empty_project_says_what_a_memory_is_and_how_the_first_one_comes(desk):
    text = said(desk.get_whole("/"))
    assert "A memory is one thing that whoever works here should know" in text
    assert "Write the first" in text
    assert "Nothing waits for a decision." in text


def test_what_waits_is_counted_by_kind_here_and_in_the_head_of_every_page(repo, browse):
    with Memsync.open(repo.root) as project:
        Candidates(project).propose([Proposal(memory=Memory("", f"Box {n} holds screws")) for n in range(3)])
    desk = browse(repo.root)
    page = desk.get_whole("/")
    assert "3 Learned" in said(page)
    assert "/review?kind=candidate" in [one["href"] for one in page.every("a")]
    assert "Review 3" in said(desk.get("/timeline"))
    assert page.every("span", id="count")  # which takes the place of the one on a page that is still reading


@pytest.fixture
def project(repo):
    """Return the project, with one memory that somebody wrote weeks ago."""
    with Memsync.open(repo.root) as project:
        project.remember("The staging box is in Oslo")
    text = repo.memories.read_text().replace(f"{datetime.now(UTC):%Y-%m-%d}", "2026-01-05")
    repo.memories.write_text(text)
    return project


def test_what_was_written_since_somebody_was_here_stands_there_with_who_wrote_it(repo, project, browse):
    desk = browse(repo.root)
    assert "Nothing. The Timeline" in said(desk.get("/"))
    with Memsync.open(repo.root) as other:
        other.remember("CI needs Node 20")
    text = said(desk.get("/"))
    assert "1 memory: Test User 1" in text
    assert "CI needs Node 20" in text
    assert "The staging box" not in text


def test_who_comes_back_is_told_what_changed_since_the_last_visit_and_not_since_the_last_click(repo, project, browse):
    before = datetime.now(UTC) - timedelta(days=9)
    with Memsync.open(repo.root) as other:
        other.state("project").change_variables(":desk", before, lambda _: {"last": format_time(before)})
        other.remember("CI needs Node 20")
    desk = browse(repo.root)
    for _ in range(2):
        text = said(desk.get("/"))
        assert "Changed since you were here 1 week ago" in text
        assert "CI needs Node 20" in text


def test_what_agents_were_given_today_is_there_without_what_was_asked(repo, browse):
    with Memsync.open(repo.root) as project:
        project.remember("CI needs Node 20 for the build")
    told = json.dumps({"session_id": "s-one", "cwd": str(repo.root), "prompt": "which Node does the build of CI need?"})
    assert memsync("hook", "prompt", "--client", "claude", cwd=repo.root, stdin=told).code == 0
    page = browse(repo.root).get("/")
    assert "1 given, 0 recalled, 0 stored" in said(page)
    assert "which Node" not in page.text
    assert [one["href"] for one in page.every("a") if (one["href"] or "").startswith("/sessions/one")]


def test_whether_all_is_well_is_told_in_one_line(repo, line, browse):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20") + "{broken\n")
    page = browse(repo.root).get("/health/doctor")
    assert re.search(r"Health: (\d+ \w+, )*1 warning", said(page)), said(page)
