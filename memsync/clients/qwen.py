"""Qwen Code: speaks as Claude Code does, from one settings file.

Its hooks once counted milliseconds; from 1,000 on it still reads them so, and older versions read nothing else.
It asks what to add for a subagent and, up to 0.24.4, adds it nowhere: it is only noted that one is at work.
"""

from __future__ import annotations

from typing import Any, Final

from memsync.clients.facts import ANY, Client, File, Home, Hook, allow, group, run, server

_HOOKS: Final = (
    Hook("SessionStart", "session-start", 10),
    Hook("UserPromptSubmit", "prompt", 5),
    Hook("PreCompact", "pre-compact", 5),
    Hook("SubagentStart", "subagent-start", 5),
    Hook("PreToolUse", "pre-tool", 5, "read_file|edit|write_file|run_shell_command"),
    Hook("PostToolUseFailure", "post-tool", 5, "run_shell_command"),
    Hook("SessionEnd", "session-end", 5),
)


def _handler(hook: Hook, client: str) -> dict[str, Any]:
    return {"name": f"memsync-{hook.name}", **run(hook, client), "timeout": hook.limit * 1000}


CLIENT: Final = Client(
    name="qwen",
    title="Qwen Code",
    variables=("QWEN_CODE",),
    home=Home(".qwen", "QWEN_HOME"),
    signs=(".qwen", "QWEN.md"),
    hooks=_HOOKS,
    files=(
        File(
            ".qwen/settings.json",
            "settings.json",
            (
                *group("qwen", _HOOKS, _handler),
                server(),
                *allow("permissions", "allow", pattern="mcp__memsync__{}"),
            ),
            form="json+comments",
        ),
    ),
    after="start Qwen Code here, and trust the folder when it asks",
    lost={"session-start": ("compact", "clear")},
    ignored={"subagent-start": ANY},
    keeps_start=False,  # 0.24: what was added at its start is in the system prompt, and not there when it is resumed
)
