"""Why each memory would be given or not."""

from __future__ import annotations

import pytest

from memsync import Memsync
from memsync.agents.explain import MEANINGS, explain
from memsync.agents.session import RecallSession
from memsync.records import format_time

ASK = "which port does the staging database use?"


@pytest.fixture
def session(repo, clock, line):
    text = "The staging database listens on port 5433 of host"
    repo.write_memories(
        line("mm-seen", f"{text} seen", importance=1.0)
        + line("mm-next", f"{text} next")
        + line("mm-arc", f"{text} arc", archived_at=format_time(clock()))
        + line("mm-con", f"{text} con", conflict_of="mm-next")
        + line("mm-low", f"{text} low", importance=0.1)
        + line("mm-own", f"{text} own", source_session_id="s1")
        + line("mm-big", f"{text} {'big ' * 1_000}")
        + line("mm-far", "The database of films is read only")
    )
    session = RecallSession(Memsync.open(repo.root, clock=clock), "s1")
    session.commit(session.at_start(limit=1))
    return session


def test_each_rule_is_named(session):
    found = explain(session, ASK)
    rules = {verdict.entry.id: verdict.rule for verdict in found.verdicts}
    assert rules | {"mm-big": "", "mm-far": ""} == {
        "mm-seen": "ledger",
        "mm-next": "given",
        "mm-arc": "archived",
        "mm-con": "conflict",
        "mm-low": "importance_threshold",
        "mm-own": "session",
        "mm-big": "",
        "mm-far": "",
    }
    assert rules["mm-big"] in ("budget", "floor")
    assert rules["mm-far"] in ("floor", "given")
    assert [entry.id for entry in found.injection.entries] == [id_ for id_, rule in rules.items() if rule == "given"]
    assert set(rules.values()) <= set(MEANINGS)


def test_small_talk_and_switched_off_are_reasons_of_their_own(session):
    assert {verdict.rule for verdict in explain(session, "ok thanks").verdicts} <= {"triage"}
    session.project = session.project.with_settings(enabled=False)
    assert {verdict.rule for verdict in explain(session, ASK).verdicts} == {"off"}


def test_what_speaks_for_a_line_is_told_in_the_words_of_the_prompt_and_of_the_line(repo, clock, line):
    repo.write_memories(
        line("mm-lim", "The rate limit of the card provider is 100 calls a minute")
        + line("mm-far", "Screenshots are made by the nightly job")
    )
    found = explain(
        RecallSession(Memsync.open(repo.root, clock=clock), ""), "why a 429 from the card provider in Lisbon?"
    )
    (given,) = [one for one in found.verdicts if one.rule == "given"]
    assert set(given.evidence.has) == {"card", "provider"}
    assert (given.evidence.instead, given.evidence.lacks) == ((("429", "rate limit"),), ("Lisbon",))
    assert (found.why, given.as_dict()["evidence"]["instead"]) == ("", [{"asked": "429", "has": "rate limit"}])
    assert found.needed is not None
    assert found.injection.floor <= found.needed <= found.injection.gate


def test_a_rare_tag_that_the_prompt_says_whole_is_told_as_one(repo, clock, line):
    repo.write_memories(
        line("mm-mail", "Mail leaves through Kestrel", tags=["kestrel", "mail relay"])
        + line("mm-far", "Screenshots are made by the nightly job", tags=["screenshots"])
    )
    found = explain(RecallSession(Memsync.open(repo.root, clock=clock), ""), "how is the Kestrel queue drained?")
    told = {one.entry.id: one for one in found.verdicts}
    assert told["mm-mail"].evidence.tags == ("kestrel",)
    assert told["mm-mail"].as_dict()["evidence"]["tags"] == ["kestrel"]
    assert "mm-far" not in told or "tags" not in told["mm-far"].as_dict()["evidence"]


def test_a_part_of_a_long_prompt_is_told_where_it_found_the_line(session):
    whole = "a long story of a summer in the mountains, of goats and cheese and of a train that never came " * 2
    found = explain(session, f"{whole}\n\n{ASK}\n\nand does anybody know how whales sleep in winter?")
    given = {one.entry.id: one for one in found.verdicts if one.rule == "given"}
    assert given["mm-next"].evidence.part == ASK


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("", "The prompt is empty."),
        ("ok thanks", "The prompt is small talk, which asks for no memory."),
        ("how do whales sleep?", "No memory shares a word or a meaning with the prompt."),
        ("reading a large blue book with white letters and a bird in the train, please", "has a confidence of 0."),
    ],
)
def test_nothing_given_has_a_reason_in_a_sentence(session, prompt, why):
    found = explain(session, prompt)
    assert found.injection.entries == ()
    assert why in found.why
    assert found.as_dict()["why"] == found.why


def test_all_given_before_is_a_reason_too(session):
    session.on_turn(ASK)
    assert "this session has it already" in explain(session, ASK).why


def test_the_start_of_a_session_is_explained_too(session):
    rules = {verdict.entry.id: verdict.rule for verdict in explain(session, None).verdicts}
    assert (rules["mm-seen"], rules["mm-next"], rules["mm-big"]) == ("ledger", "given", "budget")


def test_looking_notes_nothing(session):
    before = session.variables()
    explain(session, ASK)
    explain(session, None)
    assert session.variables() == before
