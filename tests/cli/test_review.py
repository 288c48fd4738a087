"""`memsync review` at a real terminal: one key a card, and what was decided is taken back."""

from __future__ import annotations

import json

import pytest
from helpers import memory_line, memsync
from test_dedup_review import talk

from memsync.janitor import queue
from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.extract import extract
from memsync.records import Memory

pytest.importorskip("pty", reason="terminals are POSIX")

TEXTS = ("The linter is strict", "The port of staging is 8081", "Prices are integers in cents")


def test_a_key_shows_the_turn_that_a_lesson_is_from(project, repo, monkeypatch, tmp_path):
    path = tmp_path / "one.jsonl"
    rows = [("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "git push"}}])]
    refused = "The user doesn't want to proceed with this tool use. The user said: never push on a Friday"
    rows.append(("user", [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": refused}]))
    path.write_text("".join(
        json.dumps({"type": kind, "sessionId": "one", "cwd": "/x", "message": {"role": kind, "content": content}}) + "\n"
        for kind, content in rows
    ))  # fmt: skip
    extract(project, path)
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("TERM", "dumb")
    shown = talk(["review"], ["t", "q"], "it is from")
    assert "call: Bash git push (refused)" in shown
    assert "user: never push on a Friday" in shown


@pytest.fixture
def sit_down(repo, monkeypatch, tmp_path):
    """Return what puts somebody at a terminal in the repository, whose editor does what a line of shell does to the file `$1`."""

    def sit(line: str) -> None:
        editor = tmp_path / "editor"
        editor.write_text(f"#!/bin/sh\n{line}\n")
        editor.chmod(0o755)
        for name in ("EDITOR", "VISUAL"):
            monkeypatch.setenv(name, str(editor))
        monkeypatch.chdir(repo.root)
        monkeypatch.setenv("TERM", "dumb")

    return sit


def test_keys_approve_reject_edit_go_on_and_back_and_take_back(project, sit_down):
    Candidates(project).propose([Proposal(memory=Memory("", text)) for text in TEXTS])
    names = queue.list_names(project)
    sit_down("printf 'written in an editor' > \"$1\"")
    shown = talk(["review"], ["j", "k", "?a", "e", "x"], "q quit")
    assert "1/3 candidate" in shown
    assert "nothing waits for a decision" in shown
    assert {entry.content for entry in project.memories()} == {TEXTS[0], "written in an editor"}
    shown = talk(["review", "--undo"], [], "none")
    assert "took back: reject" in shown
    shown = talk(["review"], ["u", "u", "q"], "q quit")
    assert shown.count("took back") == 2
    assert sorted(queue.list_names(project)) == sorted(names)
    assert project.memories() == []


def test_what_one_imports_is_ones_own_and_what_a_copy_says_is_anothers_is_not(repo):
    (repo.root / "notes.md").write_text("- Deploys need two approvals\n- The API listens on port 8443\n")
    (repo.root / "copy.jsonl").write_text(memory_line("mm-bobsbox", "The staging box is in Oslo", author="Bob"))
    for name in ("notes.md", "copy.jsonl"):
        done = memsync("import", name, cwd=repo.root)
        assert done.code == 0, done.err
    listed = json.loads(memsync("list", "--json", cwd=repo.root).out)["memories"]
    assert {one["content"]: one["author"] for one in listed if one["id"] != "mm-bobsbox"} == {
        "Deploys need two approvals": "Test User",
        "The API listens on port 8443": "Test User",
    }
    cards = json.loads(memsync("review", "--json", cwd=repo.root).out)["cards"]
    assert [card["name"] for card in cards if card["kind"] == "new"] == ["new:project:mm-bobsbox"]
    assert "1 new here" in memsync("status", cwd=repo.root).out
    told = memsync("inject", "--prompt", "How many approvals do deploys need?", cwd=repo.root).out
    assert "Deploys need two approvals\n" in told


def test_skills_are_written_and_changed_in_an_editor_as_memories_are(repo, sit_down):
    sit_down("printf '1. make release\\n' >> \"$1\"")
    talk(["skill", "add", "release", "-d", "How to release"], [], "none")
    talk(["skill", "edit", "release"], [], "none")
    text = (repo.root / ".claude" / "skills" / "release" / "SKILL.md").read_text()
    assert text.endswith("\n1. make release\n1. make release\n")
