"""`memsync review` at a real terminal: one key a card, and what was decided is taken back."""

from __future__ import annotations

import pytest
from test_dedup_review import talk

from memsync.janitor import queue
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory

pytest.importorskip("pty", reason="terminals are POSIX")

TEXTS = ("The linter is strict", "The port of staging is 8081", "Prices are integers in cents")


def test_keys_approve_reject_edit_go_on_and_back_and_take_back(project, repo, monkeypatch, tmp_path):
    Candidates(project).propose([Proposal(memory=Memory("", text)) for text in TEXTS])
    names = queue.list_names(project)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'written in an editor' > \"$1\"\n")
    editor.chmod(0o755)
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.setenv(name, str(editor))
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("TERM", "dumb")
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
