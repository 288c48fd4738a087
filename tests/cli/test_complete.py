"""What the shell offers after TAB, and the scripts that ask for it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import prefork
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from helpers import memsync

from memsync.cli.app import cli
from memsync.cli.words import ALIASES, EVERY_DAY


@pytest.fixture
def offer(repo, monkeypatch):
    """Return a function from the words before the cursor to what is offered, with its help."""
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("_MEMSYNC_COMPLETE", "bash_complete")

    def complete(*words):
        found = ShellComplete(cli, {}, "memsync", "_MEMSYNC_COMPLETE").get_completions([*words[:-1]], words[-1])
        return {one.value: one.help for one in found}

    return complete


def test_ids_with_their_texts_tags_types_settings_skills_and_revisions_are_offered(offer, repo, caplog):
    repo.write_memories('{"id":"mm-a2b3","content":"Use uv","tags":["tools"],"memory_type":"habit"}\n')
    skill = repo.root / ".claude/skills/release/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: release\ndescription: How to release\n---\nmake it\n")
    (repo.root / ".claude/skills/bad").mkdir()
    (repo.root / ".claude/skills/bad/SKILL.md").write_text("---\nname: a: b\n---\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin")
    repo.git("branch", "topic")
    assert offer("show", "") == offer("show", "mm-a") == offer("memory", "show", "a2") == {"mm-a2b3": "Use uv"}
    assert offer("list", "--tag", "t") == {"tools": None}
    assert "habit" in offer("list", "--type", "")
    assert offer("config", "get", "memory.recall_l").keys() == {"memory.recall_limit"}
    assert offer("skill", "show", "r") == {"release": "How to release"}
    assert not caplog.messages  # of the other skill: a line is being typed
    assert "topic" in offer("log", "--since", "")
    assert offer("sessions", "show", "") == {}


def test_each_command_on_memories_is_offered_without_that_word_and_stands_in_the_help(offer, repo, monkeypatch):
    own = set(offer("memory", "")) - {"init"}
    assert own <= set(offer(""))
    monkeypatch.delenv("_MEMSYNC_COMPLETE")
    shown = {
        line.split()[0]
        for line in memsync("--help", cwd=repo.root).out.splitlines()
        if line.startswith("  ") and line[2:3] > " "
    }
    assert own - set(ALIASES) - set(EVERY_DAY.split()) <= shown


def test_outside_of_any_repository_nothing_is_offered_and_nothing_fails(offer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert offer("show", "") == {}


# How each shell asks the function that its script defines: what would be offered after `memsync show `.
ASKING = {
    "bash": "source ./script; COMP_WORDS=(memsync show ''); COMP_CWORD=2; _memsync_completion memsync; echo ${COMPREPLY[@]}",
    "zsh": "compdef() {}; _describe() { print -l $completions_with_descriptions }; words=(memsync show ''); CURRENT=3;"
    "source ./script; _memsync_completion",
    "fish": "source ./script; complete -C 'memsync show '",
}


@pytest.mark.parametrize("shell", ASKING)
def test_a_shell_that_read_our_script_offers_ids_with_their_texts_and_nothing_else(shell, repo, home, monkeypatch):
    if not shutil.which(shell):
        pytest.skip(f"NOT TESTED: there is no {shell} here")
    repo.write_memories('{"id":"mm-a2b3","content":"Use: uv"}\n')
    (repo.root / "script").write_text(CliRunner().invoke(cli, ["completion", shell]).output)
    shim = home / "bin" / "memsync"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.join(prefork.command())} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    done = subprocess.run([shell, "-c", ASKING[shell]], cwd=repo.root, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (
        ["mm-a2b3"] if shell == "bash" else ["mm-a2b3:Use:", "uv"] if shell == "zsh" else ["mm-a2b3", "Use:", "uv"],
        "",
    )
