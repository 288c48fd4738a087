"""What nobody could answer is told when several have asked the same, and nothing of it before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from filling import bring, count, give
from helpers import memsync

from memsync.errors import UsageError
from memsync.hub import questions, report
from memsync.hub.nominate import Filters

ASKED = "who rotates the zanzibar certificates"


@pytest.fixture
def asked(hub, make):
    """Return a hub with one memory, that three principals may read, and a function by which one asks."""
    repo = make("payments", "the integration tests need docker")
    bring(hub, repo)
    for name in ("bob", "carol"):
        give(hub, name, repo)
    return lambda name, text=ASKED, **how: hub.search(text, principal=name, **how)


def begin(hub, askers=3):
    with hub.database.writing() as connection:
        questions.collect(connection, askers)


def told(hub):
    with hub.database.writing() as connection:
        return questions.top(connection)


def test_no_text_is_kept_before_so_many_have_asked_the_same(hub, asked):
    begin(hub)
    for name in ("alice", "alice", "bob", "alice"):
        asked(name)
    assert told(hub) == []
    with hub.database.writing() as connection:
        assert "zanzibar" not in str(
            connection.execute(
                "select q::text, t::text from question q left join question_text t using (asked)"
            ).fetchall()
        )
    asked("carol", "the Zanzibar certificates: who rotates?")
    assert told(hub) == [{"question": "the Zanzibar certificates: who rotates?", "askers": 3, "times": 5}]
    made = report.make(hub.database, hub.owner("alice"))
    assert "3 have asked: the Zanzibar certificates: who rotates?" in report.as_html(made)


def test_nothing_is_collected_unless_it_is_chosen_nor_what_is_answered_narrowed_or_a_secret(hub, asked):
    asked("alice")
    assert count(hub, "question") == 0
    begin(hub, 2)
    asked("alice", "what do the integration tests need")
    asked("alice", filters=Filters(memory_type="pattern"))
    asked("alice", "why does ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 fail")
    asked("mallory")  # who may read nothing learns nothing, and tells nothing
    assert count(hub, "question") == 0
    asked("alice")
    assert count(hub, "question") == 1
    with hub.database.writing() as connection:
        questions.stop(connection)
    assert (count(hub, "question"), told(hub)) == (0, [])
    with pytest.raises(UsageError, match="at least 2"):
        begin(hub, 1)


def test_what_was_asked_long_ago_is_forgotten(hub, asked):
    begin(hub, 2)
    asked("alice")
    asked("bob")
    assert len(told(hub)) == 1
    with hub.database.writing() as connection:
        connection.execute("update question set at = at - %s", [timedelta(days=91)])
    assert told(hub) == []
    assert (count(hub, "question"), count(hub, "question_text")) == (0, 0)


def test_its_command_begins_shows_and_stops(hub, dsn, asked, home, tmp_path):
    def run(*words):
        return memsync("hub", "questions", *words, cwd=tmp_path, env={"MEMSYNC_HUB_DSN": dsn}).out

    assert run().startswith("questions are not collected; --collect N")
    assert run("--collect", "2") == "nothing that 2 have asked in vain\n"
    asked("alice")
    asked("bob")
    assert run() == f"2 have asked in vain: {ASKED}\n"
    assert run("--stop").startswith("questions are not collected; --collect N")
