"""What the models of the real clients are told about their tools: before what is anchored, after a failure, and once."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow  # real clients, in processes of their own

PUSH = "Never run `git push --force` here, the deploy follows it"
FROB = "The widget check says 'frobnicator is not calibrated' until `bin/calibrate` has run"


def remember(client, text, *words):
    done = client.memsync("memory", "remember", text, *words)
    assert done.code == 0, done.err
    done = client.memsync("memory", "config", "memory.injection_limit", "0")
    assert done.code == 0, done.err


def let(client, tool, given, *words):
    """Have the model call *tool*, and return all that it was sent in the end."""
    client.model.tool = (tool, given)
    done = client.run(*words)
    assert done.code == 0, f"{done.out}\n{done.err}"
    return json.dumps(client.new_in(client.model.turns[-1]), ensure_ascii=False)


def claude_says(client, tool, given, *words):
    return let(client, tool, given, "-p", "go on", "--allowedTools", "Bash,Edit,Write,Read", *words)


def codex_says(client, line, *words):
    tool, key = ("exec_command", "cmd")
    flags = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return let(client, tool, {key: line}, "exec", *flags, *words, "go on")


def test_claude_code_is_told_before_a_command_and_after_it_once(claude):
    remember(claude, PUSH)
    assert claude_says(claude, "Bash", {"command": "git push --force nowhere main"}).count("the deploy follows it") == 1
    again = claude_says(claude, "Bash", {"command": "git push --force nowhere main"}, "--continue")
    assert again.count("the deploy follows it") == 1
    assert "the deploy follows it" not in claude_says(claude, "Bash", {"command": "git status"})


def test_claude_code_is_told_what_a_failed_command_is_about(claude):
    remember(claude, FROB)
    said = claude_says(claude, "Bash", {"command": "echo 'Error: frobnicator is not calibrated' >&2; exit 3"})
    assert said.count("has run") == 1
    assert "has run" not in claude_says(claude, "Bash", {"command": "echo frobnicator is not calibrated"})


def test_claude_code_is_told_before_it_writes_a_file(claude):
    remember(claude, "Makefiles are indented with tabs", "--anchor", "*.mk")
    path = str(claude.root / "build.mk")
    assert "indented with tabs" in claude_says(claude, "Write", {"file_path": path, "content": "all:\n"})


def test_claude_code_asks_before_a_command_where_a_rule_of_the_user_wants_that(claude):
    done = claude.memsync(
        "memory", "remember", "Ask before touching x", "--type", "rule", "--anchor", "$ touch x", "--private"
    )
    assert done.code == 0, done.err
    assert claude.memsync("memory", "config", "--global", "memory.guard", "on").code == 0
    claude_says(claude, "Bash", {"command": "touch x"})
    assert not (claude.root / "x").exists()  # nobody is there who could say yes
    assert claude.memsync("memory", "config", "--global", "memory.guard", "off").code == 0
    claude_says(claude, "Bash", {"command": "touch x"})
    assert (claude.root / "x").exists()


TOUCH = "Never `touch made.txt` here: the build makes it"


def bump(client):
    remember(client, TOUCH)
    assert client.memsync("config", "--global", "memory.bump", "sure").code == 0


def test_claude_code_is_refused_a_call_once_and_knows_why_and_the_same_call_passes(claude):
    bump(claude)
    said = claude_says(claude, "Bash", {"command": "touch made.txt"})
    assert "the build makes it" in said
    assert not (claude.root / "made.txt").exists()
    claude_says(claude, "Bash", {"command": "touch made.txt"}, "--continue")
    assert (claude.root / "made.txt").exists()


def test_codex_is_refused_a_call_once_and_knows_why_and_the_same_call_passes(codex):
    bump(codex)
    said = codex_says(codex, "touch made.txt")
    assert "the build makes it" in said
    assert not (codex.root / "made.txt").exists()
    codex_says(codex, "touch made.txt", "resume", "--last")
    assert (codex.root / "made.txt").exists()


def test_qwen_is_refused_a_command_once_and_knows_why_and_the_same_command_passes(qwen):
    bump(qwen)
    said = let(qwen, "run_shell_command", {"command": "touch made.txt", "is_background": False}, "-y", "-p", "go on")
    assert said.count("the build makes it") == 1
    assert not (qwen.root / "made.txt").exists()
    again = {"command": "touch made.txt", "is_background": False}
    said = let(qwen, "run_shell_command", again, "--continue", "-y", "-p", "go on")
    assert (qwen.root / "made.txt").exists()
    assert said.count("the build makes it") == 1


def test_codex_is_told_before_a_command_and_after_it_once(codex):
    remember(codex, PUSH)
    assert codex_says(codex, "git push --force nowhere main").count("the deploy follows it") == 1
    assert "the deploy follows it" not in codex_says(codex, "git status")


def test_codex_is_told_what_a_failed_command_is_about(codex):
    remember(codex, FROB)
    assert "has run" in codex_says(codex, "echo 'Error: frobnicator is not calibrated' >&2; exit 3")
