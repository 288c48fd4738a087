"""Skills that memsync has written, as the clients load them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from app_server import AppServer

TRANSCRIPT = Path(__file__).parents[1] / "unit" / "learn" / "transcripts" / "codex.jsonl"
# What YAML could read otherwise: a colon, quotes, a number sign, another script.
DESCRIPTION = 'How to ship: run "make ship" #1, then wait. Use it for releases – nur freitags, it\'s slow'


@pytest.fixture
def skills():
    """Return a function that writes three skills the ways there are: by hand, learned and approved, updated and linked."""

    def write(client) -> dict[str, str]:
        steps = "1. Run `make ship`\n2. Watch the graph\n"
        for words in (
            ["skill", "add", "ship-it", "-i", "-", "-d", DESCRIPTION, "--trigger", "ship|release", "--tag", "ops"],
            ["skill", "learn", "run-checks", "--transcript", str(TRANSCRIPT), "--yes"],
            ["skill", "add", "draft", "-i", "-", "-d", "Soon renamed"],
            ["skill", "update", "draft", "--name", "clean-up", "-d", "How to clean up: everything", "--tag", "a,b"],
            ["skill", "link"],
        ):
            done = client.memsync(*words, stdin=steps)
            assert done.code == 0, done.err
        known = json.loads(client.memsync("skill", "list", "--json").out)["skills"]
        assert {one["name"] for one in known} == {"ship-it", "run-checks", "clean-up"}
        return {one["name"]: one["description"] for one in known}

    return write


def test_claude_code_shows_them_to_its_model(claude, skills):
    written = skills(claude)
    claude.ask("What can you do here?")
    seen = json.dumps(claude.model.turns, ensure_ascii=False)
    for name, description in written.items():
        assert f"- {name}: {json.dumps(description[:60], ensure_ascii=False)[1:-1]}" in seen


def test_codex_lists_them_without_an_error(codex, skills):
    written = skills(codex)
    with AppServer(codex) as server:
        (found,) = server.call("skills/list", {"cwds": [str(codex.root)]})["data"]
    assert found["errors"] == []
    assert written.items() <= {one["name"]: one["description"] for one in found["skills"]}.items()


def test_gemini_cli_lists_them(gemini, skills):
    written = skills(gemini)
    done = gemini.run("skills", "list")
    assert done.code == 0, done.err
    for name, description in written.items():
        assert f"{name} [Enabled]" in done.out + done.err
        assert description in done.out + done.err
