"""GitHub Copilot CLI: camel-case names, answers with the context at the top, and says before it compacts, not after.

It runs the hooks of `.claude/settings.json` as well, with Claude Code's names but its own session ids.
Of its hooks about tools only those after one that succeeded take context from a command that ends with 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from memsync.clients.facts import ANY, Client, Entry, File, Home, Hook, command, flat, server, spell

_HOOKS: Final = (
    Hook("sessionStart", "session-start", 5),
    Hook("userPromptSubmitted", "prompt", 5),
    Hook("preCompact", "pre-compact", 5),
    Hook("subagentStart", "subagent-start", 5),
    Hook(
        "postToolUse",
        "post-tool",
        5,
        "view|create|edit|str_replace_editor|apply_patch|bash|powershell|grep|rg|glob|web_fetch",
    ),
    Hook("sessionEnd", "session-end", 5),
)
_NAMES: Final = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "agentId": "agent_id",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_response",
}


def _handler(hook: Hook) -> dict[str, Any]:
    shells = {"bash": command(hook, "copilot"), "powershell": spell(hook, "copilot")}
    matcher = {"matcher": hook.matcher} if hook.matcher else {}
    return {"type": "command", **matcher, **shells, "timeoutSec": hook.limit}


def _read(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *payload* in our names; a subagent's own prompt has its own id as the session's."""
    ours = {_NAMES.get(name, name): value for name, value in payload.items()}
    if isinstance(given := ours.get("tool_input"), str):
        ours["tool_input"] = _read_arguments(given)
    return {**ours, "session_id": parent} if (parent := payload.get("parentAgentId")) else ours


def _read_arguments(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"input": text}


COPILOT: Final = Client(
    name="copilot",
    title="Copilot CLI",
    variables=("COPILOT_CLI",),
    home=Home(".copilot", "COPILOT_HOME"),
    signs=(".github/hooks", ".github/copilot-instructions.md"),
    hooks=_HOOKS,
    files=(
        File(
            ".github/hooks/memsync.json",
            "hooks/memsync.json",
            tuple(Entry(("hooks", hook.event), _handler(hook), "hooks", is_element=True) for hook in _HOOKS),
            base={"version": 1},
        ),
        File(".github/mcp.json", "mcp-config.json", (server(kind="local", tools=["*"]),)),
    ),
    after="start Copilot CLI here, and trust the folder when it asks",
    lost={"session-start": ("clear",), "pre-compact": ANY},
    read=_read,
    answer=flat,
    keeps_start=False,  # 1.0.102: what was added to a prompt is there when it is resumed, what was added at its start is not
)
