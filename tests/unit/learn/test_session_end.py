"""What the end of a session teaches unasked: candidates only, a bounded number, and nothing where it is not wanted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsync import Memsync
from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.digest import Correction, Digest, Worked
from memsync.learn.lessons import learn_skill
from memsync.learn.session_end import (
    MOST_MEMORIES,
    MOST_OF_ONE,
    MOST_SKILLS,
    is_lesson,
    memories_of,
    name_of,
    skill_of,
    why_not,
)
from memsync.records import Memory

CLAUDE = Path(__file__).parent / "transcripts" / "claude.jsonl"
RULES = "\n".join(f"- Always keep rule number {number} in mind." for number in range(80))


def digest(*goals: str, worked: int = 0, mended: bool = False, corrected: bool = False) -> Digest:
    after = ("make it",) if mended else ()
    return Digest(
        goals=goals,
        worked=tuple(Worked(f"do {number}", number, after) for number in range(worked)),
        failed=(),
        files=(),
        corrections=(Correction("no, use uv", 1),) if corrected else (),
    )


def test_a_session_leaves_candidates_and_the_repository_as_it_was(project, repo, recorded_session):
    project.remember("A first memory makes the store")
    tracked = repo.memories.read_bytes()
    assert memories_of(project, recorded_session)["extracted"] == 1
    assert repo.memories.read_bytes() == tracked
    assert memories_of(project, recorded_session)["extracted"] == 0


def test_without_a_model_no_skill_is_drafted(project, recorded_session):
    done = skill_of(project, recorded_session, session="s")
    assert (done["status"], Candidates(project).skills()) == ("nothing", {})
    assert "its skill learn" in done["reason"]


def test_no_more_wait_than_a_person_reads(project, tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text(RULES)
    for _ in range(MOST_MEMORIES // MOST_OF_ONE):
        assert memories_of(project, notes)["extracted"] == MOST_OF_ONE
    assert "candidates wait" in memories_of(project, notes)["reason"]
    for number in range(MOST_SKILLS):
        learn_skill(project, f"skill-{number}", instructions="Do it at night.\n\n1. Do it\n")
    assert skill_of(project, CLAUDE, session="s")["status"] == "nothing"
    assert Candidates(project).count() == {"memories": MOST_MEMORIES, "skills": MOST_SKILLS}


def test_sessions_that_end_at_once_lose_no_candidate(project, repo, clock):
    project.remember("A first memory makes the store")

    def end(number: int) -> None:
        proposals = [
            Proposal(memory=Memory(id="", content=f"learned in session {number}, point {n}")) for n in range(3)
        ]
        for proposal in proposals:
            Candidates(Memsync.open(repo.root, clock=clock)).propose([proposal])

    with ThreadPoolExecutor(6) as sessions:
        list(sessions.map(end, range(6)))
    assert Candidates(project).count()["memories"] == 18


def test_the_most_important_get_the_room(project):
    texts = [("one of little worth", 0.2), ("one of great worth", 0.9), ("one of some worth", 0.5)]
    proposals = [Proposal(memory=Memory(id="", content=text, importance=worth)) for text, worth in texts]
    found = Candidates(project).propose(proposals, most=2)
    assert [one.memory.content for one in found] == ["one of great worth", "one of some worth"]


def hear(project: Memsync, session: str, text: str) -> list[str]:
    """Return what is put up where *session* teaches *text*, which is less important than what is asked about."""
    memory = Memory(id="", content=text, importance=0.6, source_session_id=session)
    return [one.memory.content for one in Candidates(project).propose([Proposal(memory=memory)], least=0.65)]


def test_what_one_session_says_without_much_evidence_waits_for_another_that_says_it_too(project):
    rule = "Every form of the shop must have a title for the reader."
    assert hear(project, "a", rule) == hear(project, "a", rule) == []
    assert Candidates(project).count()["memories"] == 0
    assert hear(project, "b", rule) == []  # the same to the letter: a template
    assert hear(project, "c", "Every form of our shop must have a title for the reader!") == [rule]
    assert [one.also for one in Candidates(project).memories()] == [("c:",)]


def test_what_was_only_heard_is_put_up_when_the_user_asks_to_have_it_remembered_in_the_same_words(project):
    rule = "Every form of the shop must have a title for the reader."
    assert hear(project, "a", rule) == []
    asked = Memory(id="", content=rule, importance=0.85, source_session_id="b")
    (one,) = Candidates(project).propose([Proposal(memory=asked)], least=0.65)
    assert (one.memory.content, one.memory.importance, one.also) == (rule, 0.9, ("b:",))


def test_what_two_sessions_taught_and_found_no_place_is_put_up_after_a_third(project):
    rule = "Every form of the shop must have a title for the reader."
    assert hear(project, "a", rule) == []
    again = Memory(id="", content=rule[:-1] + "!", importance=0.6, source_session_id="b")
    better = Memory(id="", content="Deploys need two approvals.", importance=0.9, source_session_id="b")
    put_up = Candidates(project).propose([Proposal(memory=again), Proposal(memory=better)], most=1, least=0.65)
    assert [one.memory.content for one in put_up] == ["Deploys need two approvals."]
    assert hear(project, "c", f"Indeed: {rule}") == [rule]


def test_only_the_newest_of_what_was_heard_is_remembered(project):
    memories = (
        Memory(id="", content=f"window{number} wall{number} must hold", importance=0.6, source_session_id=f"s{number}")
        for number in range(230)
    )
    assert Candidates(project).propose([Proposal(memory=one) for one in memories], least=0.65) == []
    data = (Candidates(project).directory / "memories.jsonl").read_bytes()
    assert data.count(b"\n") == 200
    assert b"window229" in data
    assert b"window29 " not in data


def test_it_is_left_alone_where_it_is_off_or_there_is_nothing(project, repo, clock, home):
    assert why_not(project, str(CLAUDE)) == "this project has no store"
    assert not (repo.root / ".gobby").exists()
    project.remember("A first memory makes the store")
    assert why_not(project, str(CLAUDE)) == ""
    assert {why_not(project, name) for name in ("", "/no/such.jsonl", __file__, str(repo.root))} == {
        "the session has no transcript"
    }
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  auto_extract: false\n")
    assert why_not(Memsync.open(repo.root, clock=clock), str(CLAUDE)) == "memory.auto_extract is off"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (digest(worked=2, mended=True), True),
        (digest(worked=2, corrected=True), True),
        (digest(worked=2), False),
        (digest(worked=1, mended=True), False),
        (digest(corrected=True), False),
    ],
)
def test_a_lesson_is_something_that_was_found_out(found, expected):
    assert is_lesson(found) is expected


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("how do I run the billing tests? And then the rest.", "billing-tests"),
        ("Fix the flaky login test on Windows CI with retries", "flaky-login-test-windows"),
        ("continue", ""),
        ("", ""),
        ("Öffne Übersicht ../../etc/passwd", "offne-ubersicht"),
        ("do it\nnow", ""),
        ("delete ~/../../etc", ""),
    ],
)
def test_a_skill_is_named_after_what_was_asked_for(goal, name):
    assert name_of(digest(goal)) == name
