"""What the shell offers after TAB, and the scripts that ask for it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from memsync.cli.app import cli


@pytest.fixture
def offer(repo, monkeypatch):
    """Return a function from the words before the cursor to what is offered, with its help."""
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("_MEMSYNC_COMPLETE", "bash_complete")

    def complete(*words):
        found = ShellComplete(cli, {}, "memsync", "_MEMSYNC_COMPLETE").get_completions([*words[:-1]], words[-1])
        return {one.value: one.help for one in found}

    return complete


def test_ids_with_their_texts_tags_types_settings_skills_and_revisions_are_offered(offer, repo):
    repo.write_memories('{"id":"mm-a2b3","content":"Use uv","tags":["tools"],"memory_type":"habit"}\n')
    skill = repo.root / ".claude/skills/release/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: release\ndescription: How to release\n---\nmake it\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    repo.git("branch", "topic")
    assert offer("show", "") == offer("show", "mm-a") == offer("memory", "show", "a2") == {"mm-a2b3": "Use uv"}
    assert offer("list", "--tag", "t") == {"tools": None}
    assert "habit" in offer("list", "--type", "")
    assert offer("config", "get", "memory.recall_l").keys() == {"memory.recall_limit"}
    assert offer("skill", "show", "r") == {"release": "How to release"}
    assert "topic" in offer("log", "--since", "")
    assert offer("sessions", "show", "") == {}


def test_outside_of_any_repository_nothing_is_offered_and_nothing_fails(offer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert offer("show", "") == {}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_it_reads(shell):
    script = CliRunner().invoke(cli, ["completion", shell]).output
    assert "_MEMSYNC_COMPLETE" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0
