"""Our server in the MCP Inspector: every schema in order, and a call of every tool that is offered by default."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from programs import Claude, folder, why_missing

pytestmark = pytest.mark.slow  # real clients, in processes of their own

FACT = "CI needs Node 20: the build breaks on 22"

# The tools that are offered by default, in order; `{}` in an argument is the id that the first of them gave. What each of
# the others answers is held against its schema in tests/mcp.
CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("remember", {"content": FACT, "importance": 0.9, "tags": ["ci"]}),
    ("recall", {"query": "node version of CI"}),
    ("get_memory", {"memory_id": "{}"}),
    ("update_memory", {"memory_id": "{}", "tags": ["ci", "node"]}),
    ("forget", {"memory_id": "{}"}),
    ("restore_memory", {"memory_id": "{}"}),
    ("create_skill", {"name": "deploy", "instructions": "1. Tag.\n2. Push.", "description": "How to deploy"}),
    ("search_skills", {"query": "deploy"}),
    ("apply_skill", {"skill_id": "deploy", "outcome": "success"}),
)
_PATIENT = ("--connect-timeout", "900000")  # it would wait 15 seconds, in which a busy machine has not loaded the SDK


class Inspector:
    """The command line of the MCP Inspector, which starts our server anew for each call."""

    def __init__(self, client: Claude) -> None:
        self._client = client

    def ask(self, method: str, *words: str) -> dict[str, Any]:
        """Call a method of the protocol; the Inspector exits with 5 for a failed tool and with 6 for a wrong schema."""
        done = subprocess.run(
            [
                folder("mcp-inspector") / "mcp-inspector",
                "--cli",
                "memsync-whole",
                *_PATIENT,
                "--method",
                method,
                *words,
            ],
            cwd=self._client.root,
            env=self._client.env,
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool that is to succeed, and return its answer."""
        spelled = [f"{name}={json.dumps(one)}" for name, one in arguments.items()]
        result = self.ask("tools/call", "--tool-name", tool, *(w for one in spelled for w in ("--tool-arg", one)))
        return result["structuredContent"]


@pytest.fixture
def inspector(claude) -> Inspector:
    if why := why_missing("mcp-inspector"):
        pytest.skip(why)
    whole = claude.home / "bin" / "memsync-whole"  # the Inspector would take our options for its own
    whole.write_text("#!/bin/sh\nexec memsync mcp --tools all --whole\n")
    whole.chmod(0o755)
    return Inspector(claude)


def test_every_schema_is_in_order_and_every_default_tool_answers(inspector):
    assert {name for name, _ in CALLS} <= {tool["name"] for tool in inspector.ask("tools/list", "--strict")["tools"]}
    id_ = ""
    for tool, arguments in CALLS:
        filled = {name: id_ if one == "{}" else one for name, one in arguments.items()}
        answer = inspector.call(tool, filled)
        if not id_:
            id_ = answer["memory"]["id"]


def test_resources_and_prompts_are_in_order(inspector):
    id_ = inspector.call("remember", {"content": FACT})["memory"]["id"]
    found = inspector.ask("resources/read", "--uri", f"memsync://memories/{id_}")
    assert json.loads(found["contents"][0]["text"])["content"] == FACT
    prompts = {prompt["name"] for prompt in inspector.ask("prompts/list")["prompts"]}
    assert {"remember_this_session", "learn_skill"} <= prompts
    assert inspector.ask("prompts/get", "--prompt-name", "remember_this_session")["messages"]
