"""What the clients themselves say of our settings, plugin, extension and server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from app_server import AppServer
from programs import CHATTING, CLIENTS, Claude, Codex, Gemini, why_missing

from tools.build_plugin import EXTENSION, PLUGIN, ROOT, TEMPLATES

pytestmark = pytest.mark.slow  # real clients, in processes of their own

FACT = "CI needs Node 20: the build breaks on 22"
QUESTION = "Which Node version does CI need for the build?"


def remember(client) -> None:
    assert client.memsync("memory", "remember", FACT, "--importance", "0.9").code == 0


# Claude Code


@pytest.mark.parametrize("path", [PLUGIN, TEMPLATES, Path()], ids=str)
def test_claude_code_finds_nothing_wrong_with_the_plugin_and_its_marketplaces(claude, path):
    done = claude.run("plugin", "validate", str(ROOT / path), "--strict")
    assert done.code == 0, done.out + done.err
    assert "Validation passed" in done.out


def test_claude_code_reaches_the_server_that_its_own_command_registers(claude):
    claude.memsync("uninstall", "--agent", "claude")
    claude.memsync("init", "--agent", "claude", "--stealth")
    note = claude.memsync("status", "--json").json["clients"][0]["notes"][0]
    words = note.split("`")[1].split()
    assert words[0] == "claude"
    assert claude.run(*words[1:]).code == 0
    assert "memsync: memsync mcp - ✔ Connected" in claude.run("mcp", "list").out
    status = claude.memsync("status", "--json").json["clients"][0]
    assert (status["hooks"], status["mcp"]) == ("installed", "installed")


def test_claude_code_asks_before_it_starts_the_server_of_a_project(claude):
    assert "memsync: memsync mcp - ⏸ Pending approval" in claude.run("mcp", "list").out


def test_the_plugin_works_in_claude_code_alone_and_beside_the_settings_of_the_project(claude):
    remember(claude)
    claude.memsync("uninstall", "--agent", "claude")
    assert claude.ask(QUESTION).count(FACT) == 0
    assert claude.run("plugin", "marketplace", "add", str(ROOT)).code == 0
    assert claude.run("plugin", "install", "memsync@memsync").code == 0
    assert claude.ask(QUESTION).count(FACT) == 1
    status = claude.memsync("status", "--json").json["clients"][0]
    assert (status["hooks"], status["mcp"]) == ("installed", "installed")
    claude.memsync("init", "--agent", "claude")
    assert claude.ask(QUESTION).count(FACT) == 1
    assert claude.ask("And what else?", again=True).count(FACT) == 1


def test_the_tools_of_the_plugin_reach_claude_code_with_a_name_of_their_own(claude):
    remember(claude)
    claude.memsync("uninstall", "--agent", "claude")
    claude.run("plugin", "marketplace", "add", str(ROOT))
    claude.run("plugin", "install", "memsync@memsync")
    claude.ask(QUESTION)
    names = {tool["name"] for tool in claude.model.turns[-1]["tools"]}
    assert {"mcp__plugin_memsync_memsync__recall", "mcp__plugin_memsync_memsync__remember"} <= names


def test_the_command_of_the_plugin_puts_what_was_typed_into_the_prompt(claude):
    claude.run("plugin", "marketplace", "add", str(ROOT))
    claude.run("plugin", "install", "memsync@memsync")
    done = claude.run("-p", "/memsync:remember we deploy on Fridays")
    assert done.code == 0
    assert "What the user gave with the command: we deploy on Fridays" in json.dumps(claude.model.turns[-1]["messages"])


# Codex


def install_anew(codex) -> None:
    """Have the hooks as users have them."""
    for words in (["uninstall", "--agent", "codex"], ["init", "--agent", "codex", "--no-git-hooks"]):
        assert codex.memsync(*words).code == 0


def test_codex_lists_our_hooks_without_a_warning(codex):
    install_anew(codex)
    with AppServer(codex) as server:
        (listed,) = server.call("hooks/list", {"cwds": [str(codex.root)]})["data"]
    assert (listed["warnings"], listed["errors"]) == ([], [])
    assert sorted(hook["eventName"] for hook in listed["hooks"]) == [
        "postCompact",
        "postToolUse",
        "preToolUse",
        "sessionEnd",
        "sessionStart",
        "subagentStart",
        "userPromptSubmit",
    ]


def test_the_hash_by_which_codex_remembers_an_approval_never_changes(codex):
    install_anew(codex)
    with AppServer(codex) as server:
        (listed,) = server.call("hooks/list", {"cwds": [str(codex.root)]})["data"]
    assert {hook["eventName"]: hook["currentHash"][7:15] for hook in listed["hooks"]} == {
        "sessionStart": "2698c5aa",
        "sessionEnd": "661b24a0",
        "userPromptSubmit": "e11cca5f",
        "postCompact": "f4e1fb25",
        "subagentStart": "f05fba41",
        "preToolUse": "b8ce68a4",
        "postToolUse": "037a6cf2",
    }


def test_codex_takes_our_settings_in_strict_mode_and_knows_the_server(codex):
    done = codex.run("exec", "--strict-config", "--skip-git-repo-check", "hello")
    assert done.code == 0, done.err
    with AppServer(codex) as server:
        thread = server.call("thread/start", {"cwd": str(codex.root)})["thread"]["id"]
        (status,) = server.call("mcpServerStatus/list", {"threadId": thread})["data"]
        called = server.call(
            "mcpServer/tool/call",
            {"threadId": thread, "server": "memsync", "tool": "recall", "arguments": {}},
        )
    assert status["name"] == "memsync"
    assert called["content"] == [{"type": "text", "text": "nothing is known about that"}]


def test_the_plugin_works_in_codex_alone_and_beside_the_settings_of_the_project(codex):
    remember(codex)
    codex.memsync("uninstall", "--agent", "codex")
    assert codex.ask(QUESTION).count(FACT) == 0
    assert codex.run("plugin", "marketplace", "add", str(ROOT / TEMPLATES)).code == 0
    assert codex.run("plugin", "add", "memsync@memsync").code == 0
    assert codex.ask(QUESTION).count(FACT) == 1
    with AppServer(codex) as server:
        (listed,) = server.call("hooks/list", {"cwds": [str(codex.root)]})["data"]
        (skills,) = server.call("skills/list", {"cwds": [str(codex.root)]})["data"]
    assert (listed["warnings"], listed["errors"], skills["errors"]) == ([], [], [])
    ours = {f"memsync:{name}" for name in ("remember", "recall", "forget", "skill", "tidy", "learn")}
    assert ours <= {skill["name"] for skill in skills["skills"]}
    codex.memsync("init", "--agent", "codex")
    assert codex.ask(QUESTION).count(FACT) == 1
    assert codex.ask("And what else?", again=True).count(FACT) == 1


# Gemini CLI


def test_gemini_cli_finds_nothing_wrong_with_the_extension(gemini):
    done = gemini.run("extensions", "validate", str(ROOT / EXTENSION))
    assert done.code == 0, done.out + done.err
    assert "successfully validated" in done.out + done.err


def test_gemini_cli_reaches_the_server_of_the_project(gemini):
    done = gemini.run("mcp", "list")
    assert "✓ memsync: memsync mcp (stdio) - Connected" in done.out + done.err


def test_the_extension_works_in_gemini_cli_alone_and_beside_the_settings_of_the_project(gemini):
    remember(gemini)
    gemini.memsync("uninstall", "--agent", "gemini")
    assert gemini.ask(QUESTION).count(FACT) == 0
    assert gemini.run("extensions", "install", str(ROOT / EXTENSION), "--consent").code == 0
    assert gemini.ask(QUESTION).count(FACT) == 1
    gemini.memsync("init", "--agent", "gemini")
    assert gemini.ask(QUESTION).count(FACT) == 1


# before and after


@pytest.mark.parametrize("kind", CLIENTS + CHATTING, ids=lambda kind: kind.name)
def test_a_first_turn_changes_no_tracked_file_and_uninstall_leaves_nothing_of_ours(kind, repo, home):
    if why := why_missing(kind.program):
        pytest.skip(why)
    client = kind(repo.root, home)
    try:
        if (theirs := repo.root / "opencode.json").exists():  # of the tests: the user's own
            (home / ".config" / "opencode").mkdir(parents=True)
            theirs.rename(home / ".config" / "opencode" / "opencode.json")
        allow = () if kind is Gemini else ("--allow-tools",)  # which Gemini CLI 0.61 calls deprecated
        assert client.memsync("init", "--agent", client.name, "--no-git-hooks", *allow).code == 0
        repo.git("add", "-A")
        repo.git("commit", "-qm", "all")
        said = client.turn(QUESTION, again=False, tools=False)
        assert (said.code, repo.status()) == (0, ""), said.out + said.err
        assert [row for row in said.err.splitlines() if "deprecated" in row] == []
        assert client.memsync("uninstall").code == 0
        assert {row[:3] for row in repo.status().splitlines()} == {" D "}
        assert client.memsync("status", "--json").json["clients"][0]["where"] == []
    finally:
        client.close()


# settings of the user


@pytest.mark.parametrize("kind", [Claude, Codex], ids=lambda kind: kind.name)
def test_under_stealth_the_client_is_given_memories_and_git_sees_nothing(kind, repo, home):
    if why := why_missing(kind.program):
        pytest.skip(why)
    client = kind(repo.root, home)
    try:
        assert client.memsync("init", "--agent", client.name, "--stealth").code == 0
        remember(client)
        assert client.ask(QUESTION).count(FACT) == 1
        assert repo.status() == ""
    finally:
        client.close()
