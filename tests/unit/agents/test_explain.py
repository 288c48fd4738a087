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


def test_the_start_of_a_session_is_explained_too(session):
    rules = {verdict.entry.id: verdict.rule for verdict in explain(session, None).verdicts}
    assert (rules["mm-seen"], rules["mm-next"], rules["mm-big"]) == ("ledger", "given", "budget")


def test_looking_notes_nothing(session):
    before = session.variables()
    explain(session, ASK)
    explain(session, None)
    assert session.variables() == before
