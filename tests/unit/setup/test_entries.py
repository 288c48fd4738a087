"""What the clients are told: users have approved these very strings, so no release may change them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from memsync.clients import facts
from memsync.clients.facts import command as command_of
from memsync.setup import entries

GUARD = "" if os.name == "nt" else " 2>/dev/null || exit 0"


def entries_of(client: str, kind: str) -> list:
    return [one for file in facts.find(client).files for one in file.entries if one.kind == kind]


def server_of(client: str):
    (found,) = entries_of(client, "MCP server")
    return found.value


def commands(client: str) -> list[tuple]:
    found = []
    for one in entries_of(client, "hooks"):
        (run,) = one.value["hooks"]
        found.append((one.keys[-1], one.value.get("matcher"), run["command"], run["timeout"]))
    return found


TOOLS = "Read|Edit|MultiEdit|Write|NotebookEdit|Bash|Grep|Glob|WebFetch|Skill"


def test_the_commands_of_claude_code_never_change():
    assert commands("claude") == [
        ("SessionStart", "startup|resume|clear|compact|fork", f"memsync hook session-start --client claude{GUARD}", 5),
        ("UserPromptSubmit", None, f"memsync hook prompt --client claude{GUARD}", 5),
        ("SubagentStart", None, f"memsync hook subagent-start --client claude{GUARD}", 5),
        ("PreToolUse", f"^(?:{TOOLS}|mcp_.*)$", f"memsync hook pre-tool --client claude{GUARD}", 5),
        ("PreToolUse", "^(?:Agent|Task)$", f"memsync hook pre-tool --client claude{GUARD}", 5),
        (
            "PostToolUseFailure",
            f"^(?:{TOOLS}|Task|Agent|mcp_.*)$",
            f"memsync hook post-tool --client claude{GUARD}",
            5,
        ),
        ("PostToolUse", "^ExitPlanMode$", f"memsync hook post-tool --client claude{GUARD}", 5),
        ("SessionEnd", None, f"memsync hook session-end --client claude{GUARD}", 5),
    ]
    assert server_of("claude") == {
        "type": "stdio",
        "command": "memsync",
        "args": ["mcp"],
        "alwaysLoad": True,
    }


def test_the_commands_of_codex_never_change():
    assert commands("codex") == [
        ("SessionStart", "startup|resume|clear|compact|fork", f"memsync hook session-start --client codex{GUARD}", 5),
        ("UserPromptSubmit", None, f"memsync hook prompt --client codex{GUARD}", 5),
        ("PostCompact", None, f"memsync hook post-compact --client codex{GUARD}", 5),
        ("SubagentStart", None, f"memsync hook subagent-start --client codex{GUARD}", 5),
        ("PreToolUse", f"^(?:apply_patch|{TOOLS}|mcp_.*)$", f"memsync hook pre-tool --client codex{GUARD}", 5),
        ("PostToolUse", "^(?:Bash|mcp_.*)$", f"memsync hook post-tool --client codex{GUARD}", 5),
        ("SessionEnd", None, f"memsync hook session-end --client codex{GUARD}", 3),
    ]
    assert server_of("codex") == {"command": "memsync", "args": ["mcp"], "startup_timeout_sec": 30}


def test_codex_is_told_what_to_run_on_windows_where_no_shell_knows_the_guard():
    handlers = [one.value["hooks"][0] for one in entries_of("codex", "hooks")]
    assert [handler["commandWindows"] for handler in handlers] == [
        f"memsync hook {hook.name} --client codex" for hook in facts.find("codex").hooks
    ]


def test_the_commands_of_gemini_cli_never_change_and_count_milliseconds():
    assert commands("gemini") == [
        ("SessionStart", "*", f"memsync hook session-start --client gemini{GUARD}", 5_000),
        ("BeforeAgent", None, f"memsync hook prompt --client gemini{GUARD}", 5_000),
        ("PreCompress", "manual", f"memsync hook pre-compact --client gemini{GUARD}", 5_000),
        (
            "AfterTool",
            (
                "^(?:read_file|read_many_files|write_file|replace|run_shell_command|search_file_content|grep_search|glob|list_directory"
                "|web_fetch|mcp_.*)$"
            ),
            f"memsync hook post-tool --client gemini{GUARD}",
            5_000,
        ),
        ("SessionEnd", None, f"memsync hook session-end --client gemini{GUARD}", 5_000),
    ]
    names = [one.value["hooks"][0]["name"] for one in entries_of("gemini", "hooks")]
    assert names == [
        "memsync-session-start",
        "memsync-prompt",
        "memsync-pre-compact",
        "memsync-post-tool",
        "memsync-session-end",
    ]


def test_hooks_are_in_shell_form_because_codex_drops_args():
    handlers = [
        one.value["hooks"][0] for client in ("claude", "codex", "gemini") for one in entries_of(client, "hooks")
    ]
    assert {tuple(sorted(handler)) for handler in handlers} == {
        ("command", "timeout", "type"),
        ("command", "commandWindows", "timeout", "type"),
        ("command", "name", "timeout", "type"),
    }


@pytest.mark.parametrize(
    "command",
    [
        "memsync hook prompt --client claude",
        "/home/me/.local/bin/memsync hook prompt --client claude",
        '"C:\\Program Files\\memsync.exe" hook prompt --client claude',
        "MEMSYNC_HOME=/x memsync hook prompt --client claude",
        "memsync hook prompt --client claude 2>/dev/null || exit 0",
        "memsync hook prompt --client claude || true",
        "memsync hook prompt --client claude; exit 0",
    ],
)
def test_a_hook_of_ours_is_known_however_the_program_is_spelled(command):
    assert entries.hook_of({"type": "command", "command": command}) == ("prompt", "claude")


@pytest.mark.parametrize(
    "handler",
    [
        None,
        "memsync hook prompt --client claude",
        {},
        {"command": 1},
        {"command": "not-memsync hook prompt --client claude"},
        {"command": "memsync doctor"},
        {"command": "echo memsync hook prompt --client claude > log"},
    ],
)
def test_what_belongs_to_others_is_not_taken_for_ours(handler):
    assert entries.hook_of(handler) is None


@pytest.mark.parametrize("shell", [shell for shell in ("sh", "dash", "bash", "zsh") if shutil.which(shell)])
@pytest.mark.parametrize("program", [None, "#!/no/such/python\n", "#!/bin/sh\necho noise >&2; exit 2\n"])
def test_a_hook_whose_program_is_gone_or_dead_or_old_says_nothing_and_ends_with_0(shell, program, tmp_path):
    if program:
        (tmp_path / "memsync").write_text(program)
        (tmp_path / "memsync").chmod(0o755)
    ran = subprocess.run(
        [shutil.which(shell), "-c", command_of(facts.find("gemini").hooks[1], "gemini")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_our_server_is_known_by_what_it_starts():
    assert entries.is_server({"command": "/opt/memsync", "args": ["mcp"], "env": {"A": "1"}})
    assert entries.is_server({"command": "C:\\bin\\memsync.exe", "args": ["mcp"]})
    assert not any(
        entries.is_server(value)
        for value in (None, [], {"command": 1}, {"command": "uvx", "args": ["memsync", "mcp"]}, {"url": "https://x"})
    )
