"""What `memsync sessions` and `memsync statusline` know of the sessions of agents."""

from __future__ import annotations

import json

import pytest
from helpers import memsync

from memsync import Memsync
from memsync.agents.sessions import find_session, list_sessions
from memsync.errors import MemsyncError

FACT = "The staging database listens on port 5433"
ASK = "which port does the staging database use?"


@pytest.fixture
def lived(repo, monkeypatch):
    """Return a repository in which a session was given a fact, asked for it, stored one, and sent a subagent."""
    memsync("memory", "add", FACT, cwd=repo.root)
    send(repo, "prompt", prompt="ok thanks")
    send(repo, "prompt", prompt=ASK)
    send(repo, "subagent-start", agent_id="a1")
    monkeypatch.setenv("MEMSYNC_SESSION_ID", "s1")
    memsync("memory", "recall", ASK, cwd=repo.root)
    memsync("memory", "add", "Use tabs in Makefiles", cwd=repo.root)
    monkeypatch.delenv("MEMSYNC_SESSION_ID")
    return repo


def send(repo, event: str, **payload: str) -> None:
    said = {"session_id": "s1", "cwd": str(repo.root), **payload}
    assert memsync("hook", event, "--client", "claude", cwd=repo.root, stdin=json.dumps(said)).code == 0


def test_a_session_is_shown_with_what_it_was_given_and_why(lived):
    with Memsync.open(lived.root) as project:
        session = find_session(list_sessions(project), "s1")
    assert [(event.what, event.content) for event in session.events] == [
        ("nothing", None),
        ("given", FACT),
        ("recalled", FACT),
        ("stored", "Use tabs in Makefiles"),
    ]
    assert session.events[0].why == "small talk"
    assert session.events[1].why.startswith("the prompt was about it (confidence ")
    listed = memsync("sessions", "--json", cwd=lived.root).json["sessions"]
    assert {one["id"]: (one["given"], one["recalled"], one["stored"]) for one in listed} == {
        "s1": (1, 1, 1),
        "s1/a1": (1, 0, 0),
    }
    shown = memsync("sessions", "show", "s1/", cwd=lived.root).out
    assert "a subagent began" in shown
    assert FACT in shown


def test_a_session_without_its_log_is_known_by_the_notes_on_use(lived):
    (lived.root / ".gobby" / "local" / "hooks.log").unlink()
    with Memsync.open(lived.root) as project:
        assert [event.what for event in find_session(list_sessions(project), "s1").events] == [
            "given",
            "recalled",
            "stored",
        ]


def test_a_session_that_is_not_there_or_not_alone_is_refused(lived):
    with Memsync.open(lived.root) as project:
        found = list_sessions(project)
        assert find_session(found, "") == found[0]
        assert find_session(found, "s1").id == "s1"
        for ref in ("zz", "s"):
            with pytest.raises(MemsyncError, match="`memsync sessions` lists them"):
                find_session(found, ref)
    assert memsync("sessions", "remove", cwd=lived.root).code == 2


def test_the_status_line_counts_memories_and_what_the_session_was_given(lived, tmp_path):
    said = json.dumps({"session_id": "s1", "cwd": "/", "workspace": {"current_dir": str(lived.root)}})
    assert memsync("statusline", cwd=tmp_path, stdin=said).out == "memsync 2 · 1 given\n"
    assert memsync("statusline", cwd=lived.root, stdin="nonsense").out == "memsync 2\n"
    assert memsync("statusline", cwd=tmp_path).out == ""
    lived.memories.unlink()
    lived.memories.mkdir()
    assert memsync("statusline", cwd=lived.root).out == "memsync: memory is unavailable\n"


def test_what_was_left_out_is_told_with_its_rule_and_what_nobody_can_read_is_passed_over(project):
    local = project.layout.place("project").local
    local.mkdir(parents=True)
    notes = [
        {"session": "s1", "event": "prompt", "given": ["mm-a"], "sure": {"mm-a": 0.5}, "left": {"mm-b": "budget", "mm-c": "alike"}, "chars": 41},
        {"session": "s1", "event": "prompt", "given": [["x"], 7], "sure": [1], "left": [1], "errors": 5, "chars": 10**30},
        {"session": "s1", "event": {"a": 1}, "given": 5, "sure": {"mm-a": "high"}, "left": {"mm-d": 3}, "chars": "12"},
    ]  # fmt: skip
    (local / "hooks.log").write_text("".join(json.dumps(note) + "\n" for note in notes) + "[[[\n")
    (session,) = list_sessions(project)
    left = [(event.id, event.why) for event in session.events if event.what == "left out"]
    assert left == [
        ("mm-b", "it is too long for what is left of memory.injection_budget"),
        ("mm-c", "a line that is given says the same"),
        ("mm-d", "3"),
    ]
    assert session.tokens == 11
