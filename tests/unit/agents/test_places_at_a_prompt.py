"""What is anchored to a place is given at a prompt that names it, by the rules of any other line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memsync import Memsync
from memsync.agents import notes
from memsync.agents.session import RecallSession
from memsync.agents.toolcall import ToolCall
from memsync.agents.tools import answer_tool
from memsync.clients import facts
from memsync.memories.project import Project

TAX = "VAT is rounded per line, never on the sum"
OTHERS = (
    "The staging database listens on port 5433",
    "Deploys are frozen on Fridays unless the release manager agrees",
    "The parser keeps comments because users diff their files",
    "Screenshots are made by the nightly job",
)
CLAUDE = facts.find("claude")


@pytest.fixture
def session(project: Memsync) -> RecallSession:
    root = Path(str(project.layout.root))
    for name in ("src/billing/tax.py", "src/billing/__init__.py", "README.md", "src/core.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("def total_of():\n    pass\n", encoding="utf-8")
    for text in OTHERS:
        project.remember(text)
    return RecallSession(project, "s1")


def given(session: RecallSession, prompt: str) -> list[str]:
    return [entry.content for entry in session.at_prompt(prompt).entries]


@pytest.mark.parametrize(
    "prompt",
    [
        "refactor src/billing/tax.py",
        "make `tax.py` shorter",
        "what does total_of() do?",
        'Traceback\n  File "/srv/app/src/billing/tax.py", line 2, in total_of\nTypeError: no',
        "diff --git a/src/billing/tax.py b/src/billing/tax.py\n+    return 1\n\nplease review",
    ],
)
def test_a_prompt_that_names_the_place_is_given_what_is_anchored_there(session, prompt):
    session.project.remember(TAX, anchors=["src/billing/tax.py#total_of"])
    found = session.at_prompt(prompt)
    assert [entry.content for entry in found.entries] == [TAX]
    assert "(for src/billing/tax.py#total_of)" in found.text


@pytest.mark.parametrize(
    "prompt", ["refactor src/billing/invoice.py", "fix README.md", "make __init__.py shorter", "undo that"]
)
def test_another_place_or_a_name_that_many_have_gives_nothing(session, prompt):
    session.project.remember(TAX, anchors=["src/billing/tax.py", "README.md", "src/billing/__init__.py"])
    assert given(session, prompt) == []


def test_a_crowd_at_one_place_gives_nothing_without_words(session):
    for subject in (
        "Times are UTC",
        "Money carries its currency",
        "Settings are frozen",
        "Ids are ULIDs",
        "Logs hold the order",
    ):
        session.project.remember(subject, anchors=["src/core.py"])
    assert given(session, "open src/core.py") == []
    assert given(session, "in src/core.py, which currency does money carry?")[0] == "Money carries its currency"


def test_what_was_replaced_makes_no_crowd_around_what_took_its_place(session):
    stored = session.project.remember(TAX, anchors=["src/billing/tax.py"]).entry
    for text in ("We truncate VAT lines", "Sums come from ledger snapshots", "Rates are fetched nightly by cron"):
        stored = session.project.remember(text, anchors=["src/billing/tax.py"], supersedes=[stored.id]).entry
        assert given(session, "refactor src/billing/tax.py") == [text]
    with Memsync.open(session.project.layout.root) as anew:
        anew.finder.rebuild()
        assert given(RecallSession(anew, "s2"), "refactor src/billing/tax.py") == [text]


def test_what_was_given_at_the_prompt_does_not_come_again(session):
    session.project.remember(TAX, anchors=["src/billing/tax.py"])
    session.on_turn("refactor src/billing/tax.py")
    assert given(session, "now test src/billing/tax.py") == []
    path = str(Path(str(session.project.layout.root)) / "src/billing/tax.py")
    call = {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "pass", "new_string": "return 1"}}
    assert ToolCall(call).paths
    assert answer_tool(session, CLAUDE, "pre-tool", call).out == ""


def test_what_may_not_be_given_is_not_given_for_its_place(session):
    project = session.project
    stored = project.remember(TAX, anchors=["src/billing/tax.py"]).entry
    (Path(str(project.layout.root)) / "src/billing/tax.py").unlink()
    assert given(session, "refactor src/billing/tax.py") == []  # gone
    (Path(str(project.layout.root)) / "src/billing/tax.py").write_text("", encoding="utf-8")
    assert given(session, "refactor src/billing/tax.py") == [TAX]
    project.remember("VAT is rounded once", supersedes=[stored.id])
    assert given(session, "refactor src/billing/tax.py") == []


def test_a_memory_of_every_project_is_at_no_place(session):
    session.project.remember(TAX, scope="global")
    path = session.project.stores["global"].path
    line = json.loads(path.read_bytes())
    path.write_text(json.dumps(line | {"anchors": ["src/billing/tax.py"]}) + "\n", encoding="utf-8")
    assert given(session, "refactor src/billing/tax.py") == []


def test_a_private_memory_is_given_for_its_place(session):
    session.project.remember(TAX, anchors=["src/billing/tax.py"], scope="private")
    assert given(session, "refactor src/billing/tax.py") == [TAX]


def test_a_prompt_that_names_the_place_is_not_silent(repo, home):
    (repo.root / "tax.py").write_text("", encoding="utf-8")
    with Project.open(repo.root) as project:
        for text in OTHERS:
            project.remember(text)
        project.remember(TAX, anchors=["tax.py"])
        project.recall("anything")  # makes the index
    payload = {"session_id": "one", "cwd": str(repo.root), "prompt": "refactor tax.py"}
    ground = notes.find_ground(CLAUDE, payload, str(repo.root), {"MEMSYNC_HOME": str(home / ".gobby")})
    assert ground
    assert not notes.is_unanswered(ground, CLAUDE, payload)
    assert notes.is_unanswered(ground, CLAUDE, payload | {"prompt": "refactor fax.py"})
