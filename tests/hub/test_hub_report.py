"""What many repositories say is counted once, with all that say it; where two disagree, both are named."""

from __future__ import annotations

import pytest
from filling import bring, give
from helpers import memory_line

from memsync.hub import report

RULE = "Always run database migrations in a transaction"


def test_what_many_say_is_counted_and_what_contradicts_is_shown_with_both_sides():
    found = [(f"org/r{n}", RULE) for n in range(70)]
    found += [("org/x", "always run database migrations in a transaction."), ("org/r1", "Payments listen on port 8080")]
    found += [("org/r2", "Payments listen on port 8081"), ("org/r3", "A text of its own")]
    shared, clashes = report.compare(found)
    assert [(said.text, len(said.repositories)) for said in shared] == [(RULE, 71)]
    ((one, other, why),) = [(c.one, c.other, c.why) for c in clashes]
    assert {one, other} == {
        ("Payments listen on port 8080", ("org/r1",)),
        ("Payments listen on port 8081", ("org/r2",)),
    }
    assert why


def test_what_one_repository_says_twice_is_no_agreement_and_no_clash_between_repositories():
    found = [("org/one", RULE), ("org/one", f"{RULE}."), ("org/one", "the port is 1"), ("org/one", "the port is 2")]
    assert report.compare(found) == ([], [])


@pytest.mark.parametrize(
    "otherwise", [{}, {"created_at": "2024-03-09T08:00:00Z"}, {"tags": ["ci"]}, {"cues": ["containers"]}]
)
def test_what_several_say_is_compared_before_what_is_important(hub, make, monkeypatch, otherwise):
    monkeypatch.setattr(report, "MOST", 2)
    lone = memory_line("mm-a", "ports begin at 8000", importance=1.0)
    bring(
        hub,
        make("one", lone, "the tests need docker"),
        make("two", memory_line("mm-b", "The tests need docker.", **otherwise), lone.replace("8000", "9000")),
    )
    made = report.make(hub.database, hub.owner("alice"))
    assert made.compared == 2
    assert [said.repositories for said in made.shared] == [("org/one", "org/two")]


def test_a_report_is_over_what_its_reader_may_read_and_its_page_takes_texts_as_texts(hub, make):
    line = memory_line("mm-a", "Render <Form> inside <Page> & nothing else")
    one, two, three = (make(name, line) for name in ("one", "two", "three"))
    bring(hub, one, two)
    bring(hub, three, to="bob")
    give(hub, "bob", one, two)
    mine, theirs = (report.make(hub.database, hub.owner(name)) for name in ("alice", "bob"))
    assert [said.repositories for said in mine.shared] == [("org/one", "org/two")]
    assert (len(mine.rules), len(theirs.rules)) == (0, 1)
    assert sorted(one["name"] for one in mine.repositories) == ["org/one", "org/two"]
    page = report.as_html(theirs)
    assert "<Form>" not in page
    assert "3 repositories say: Render &amp;lt;Form" in page
    assert report.make(hub.database, hub.owner("mallory")).memories == 0
