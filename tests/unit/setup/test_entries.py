"""What the clients are told: users have approved these very strings, so no release may change them."""

from __future__ import annotations

import pytest

from memsync.agents.client import CLIENTS
from memsync.setup import entries


def commands(client: str, spoken_to: str | None = None) -> list[tuple]:
    found = []
    for one in entries.list_hooks(client, spoken_to):
        (run,) = one.value["hooks"]
        found.append((one.keys[-1], one.value.get("matcher"), run["command"], run["timeout"]))
    return found


def test_the_commands_of_claude_code_never_change():
    assert commands("claude") == [
        ("SessionStart", "startup|resume|clear|compact|fork", "memsync hook session-start --client claude", 10),
        ("UserPromptSubmit", None, "memsync hook prompt --client claude", 5),
        ("PreCompact", None, "memsync hook pre-compact --client claude", 5),
        ("SessionEnd", None, "memsync hook session-end --client claude", 5),
    ]
    assert entries.server("claude").value == {"type": "stdio", "command": "memsync", "args": ["mcp"]}


def test_the_commands_of_codex_never_change():
    assert commands("codex") == [
        ("SessionStart", "startup|resume|clear|compact|fork", "memsync hook session-start --client codex", 10),
        ("UserPromptSubmit", None, "memsync hook prompt --client codex", 5),
        ("PreCompact", None, "memsync hook pre-compact --client codex", 5),
        ("PostCompact", None, "memsync hook post-compact --client codex", 5),
        ("SessionEnd", None, "memsync hook session-end --client codex", 3),
    ]
    assert entries.server("codex").value == {"command": "memsync", "args": ["mcp"]}


def test_the_commands_of_gemini_cli_never_change_and_count_milliseconds():
    assert commands("gemini") == [
        ("SessionStart", "*", "memsync hook session-start --client gemini", 10_000),
        ("BeforeAgent", None, "memsync hook prompt --client gemini", 5_000),
        ("SessionEnd", None, "memsync hook session-end --client gemini", 5_000),
    ]
    names = [one.value["hooks"][0]["name"] for one in entries.list_hooks("gemini")]
    assert names == ["memsync-session-start", "memsync-prompt", "memsync-session-end"]


def test_hooks_are_in_shell_form_because_codex_drops_args():
    handlers = [one.value["hooks"][0] for client in CLIENTS for one in entries.list_hooks(client)]
    assert {tuple(sorted(handler)) for handler in handlers} == {
        ("command", "timeout", "type"),
        ("command", "name", "timeout", "type"),
    }


@pytest.mark.parametrize(
    "command",
    [
        "memsync hook prompt --client claude",
        "/home/me/.local/bin/memsync hook prompt --client claude",
        '"C:\\Program Files\\memsync.exe" hook prompt --client claude',
        "MEMSYNC_HOME=/x memsync hook prompt --client claude",
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


def test_our_server_is_known_by_what_it_starts():
    assert entries.is_server({"command": "/opt/memsync", "args": ["mcp"], "env": {"A": "1"}})
    assert entries.is_server({"command": "C:\\bin\\memsync.exe", "args": ["mcp"]})
    assert not any(
        entries.is_server(value)
        for value in (None, [], {"command": 1}, {"command": "uvx", "args": ["memsync", "mcp"]}, {"url": "https://x"})
    )
