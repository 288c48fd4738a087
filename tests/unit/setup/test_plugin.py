"""The plugin and the extension that ship are what the script writes; what clients demand of them beyond their own checks."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from helpers import memsync

from memsync import __version__
from memsync.clients import gemini
from tools.build_plugin import COMMANDS, EXTENSION, PLUGIN, ROOT, TEMPLATES, files


@pytest.mark.parametrize("path", files(), ids=str)
def test_what_ships_is_what_the_script_writes(path):
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], "run `make docs`"


@pytest.mark.skipif(sys.platform == "win32", reason="commands have no guard there")
def test_the_agents_that_work_on_memsync_itself_are_connected_as_init_would_do_it():
    clients = [word for name in ("claude", "codex", "gemini") for word in ("--agent", name)]
    done = memsync("init", *clients, "--no-git-hooks", "--dry-run", cwd=ROOT)
    assert (done.code, done.out) == (0, "nothing to do\n")


def test_nothing_else_is_in_the_folders():
    there = {path.relative_to(ROOT) for folder in (PLUGIN, EXTENSION) for path in (ROOT / folder).rglob("*")}
    assert {path for path in there if (ROOT / path).is_file()} <= files().keys()


def test_the_commands_have_the_names_that_people_know():
    assert [command.name for command in COMMANDS] == ["remember", "recall", "forget", "skill", "tidy", "learn"]


def test_the_hooks_of_the_plugin_ask_the_event_which_client_it_is():
    hooks = json.loads(files()[PLUGIN / "hooks" / "hooks.json"])["hooks"]
    commands = [run["command"] for groups in hooks.values() for group in groups for run in group["hooks"]]
    assert commands == [
        "memsync hook session-start --client auto 2>/dev/null || exit 0",
        "memsync hook prompt --client auto 2>/dev/null || exit 0",
        "memsync hook post-compact --client auto 2>/dev/null || exit 0",
        "memsync hook subagent-start --client auto 2>/dev/null || exit 0",
        "memsync hook pre-tool --client auto 2>/dev/null || exit 0",
        "memsync hook post-tool --client auto 2>/dev/null || exit 0",
        "memsync hook session-end --client auto 2>/dev/null || exit 0",
    ]


def test_the_extension_runs_the_same_hooks_as_the_settings_of_a_project():
    hooks = json.loads(files()[EXTENSION / "hooks" / "hooks.json"])["hooks"]
    assert hooks == {one.keys[-1]: [one.value] for one in gemini.GEMINI.files[0].entries if one.kind == "hooks"}


def test_every_command_of_the_extension_is_toml_that_takes_what_the_user_typed():
    for command in COMMANDS:
        said = tomllib.loads(files()[EXTENSION / "commands" / f"{command.name}.toml"])
        assert said["description"] == command.description
        assert "{{args}}" in said["prompt"]
        assert "$ARGUMENTS" in files()[PLUGIN / "skills" / command.name / "SKILL.md"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_of_the_plugin_is_a_valid_skill(command, tmp_path):
    from skills_ref import validate

    assert validate(ROOT / PLUGIN / "skills" / command.name) == []


def test_both_marketplaces_lead_to_the_plugin():
    for place in (Path(), TEMPLATES):
        said = json.loads((ROOT / place / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
        assert (ROOT / place / said["plugins"][0]["source"]).resolve() == (ROOT / PLUGIN).resolve()
    assert json.loads(files()[PLUGIN / ".claude-plugin" / "plugin.json"])["version"] == __version__
