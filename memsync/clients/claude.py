"""Claude Code, and Qwen Code, which speaks as it does. Both keep what hooks add until a compaction has happened, which SessionStart says.

PreCompact may still be blocked, and PostCompact comes after the new context was given.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import (
    ANY,
    CLAUDE_TOOLS,
    SERVER,
    Client,
    Entry,
    File,
    Home,
    Hook,
    allow,
    any_of,
    both,
    group,
    run_in_ms,
    server,
)

_HOOKS: Final = (
    Hook("SessionStart", "session-start", 5, "startup|resume|clear|compact|fork"),
    Hook("UserPromptSubmit", "prompt", 5),
    Hook("SubagentStart", "subagent-start", 5),
    Hook("PreToolUse", "pre-tool", 5, any_of(*CLAUDE_TOOLS)),
    Hook("PreToolUse", "pre-tool", 5, "^(?:Agent|Task)$"),  # what a subagent is asked
    Hook("PostToolUseFailure", "post-tool", 5, any_of(*CLAUDE_TOOLS, "Task", "Agent")),
    Hook("PostToolUse", "post-tool", 5, "^ExitPlanMode$"),  # a plan that was accepted
    Hook("SessionEnd", "session-end", 5),
)
_ALLOWED: Final = allow("permissions", "allow", pattern="mcp__memsync__{}")
_APPROVED: Final = Entry(("enabledMcpjsonServers",), SERVER, "allowed tools", is_element=True)
LOCAL_SERVER: Final = "claude mcp add --scope local memsync -- memsync mcp"

CLAUDE: Final = Client(
    name="claude",
    title="Claude Code",
    variables=("CLAUDECODE",),
    home=Home(".claude", "CLAUDE_CONFIG_DIR"),
    signs=(".claude", "CLAUDE.md", ".mcp.json"),
    hooks=_HOOKS,
    files=(
        File(".claude/settings.json", "settings.json", group("claude", _HOOKS)),
        # Else it asks its model before the tools are there. Its servers for the user alone are in ~/.claude.json,
        # which a running Claude Code rewrites all the time: it must add ours itself.
        File(".mcp.json", "", (server(kind="stdio", alwaysLoad=True),)),
        File(".claude/settings.local.json", "", (_APPROVED, *_ALLOWED)),
        File("", "settings.json", _ALLOWED),
    ),
    after="start Claude Code here, and allow its MCP server memsync when it asks",
    looks_above=False,  # but for .mcp.json
    after_private=f"run `{LOCAL_SERVER}` here, which adds the tools to Claude Code for you alone",
    lost={"session-start": ("compact", "clear")},
    asks=True,
    denies=True,
    answer=both,  # for Copilot CLI, which runs the hooks of .claude/settings.json and takes the top only (1.0.102)
)

_QWEN_TOOLS: Final = any_of(*"read_file edit write_file run_shell_command grep_search glob web_fetch skill".split())
_QWEN_HOOKS: Final = (
    Hook("SessionStart", "session-start", 5),
    Hook("UserPromptSubmit", "prompt", 5),
    Hook("SubagentStart", "subagent-start", 5),
    Hook("PreToolUse", "pre-tool", 5, "^run_shell_command$"),  # may refuse; what it is given there reaches nobody
    Hook("PostToolUse", "post-tool", 5, _QWEN_TOOLS),
    Hook("PostToolUseFailure", "post-tool", 5, _QWEN_TOOLS),
    Hook("SessionEnd", "session-end", 5),
)


QWEN: Final = Client(
    name="qwen",
    title="Qwen Code",
    variables=("QWEN_CODE",),
    home=Home(".qwen", "QWEN_HOME"),
    signs=(".qwen", "QWEN.md"),
    hooks=_QWEN_HOOKS,
    files=(
        File(
            ".qwen/settings.json",
            "settings.json",
            (
                *group("qwen", _QWEN_HOOKS, run_in_ms),
                server(),
                *allow("permissions", "allow", pattern="mcp__memsync__{}"),
            ),
            form="json+comments",
            base={"$version": 4},  # which Qwen Code adds at its first start
        ),
    ),
    after="start Qwen Code here, trust the folder when it asks, and allow the server: `qwen mcp approve memsync`",
    looks_above=False,
    lost={"session-start": ("compact", "clear")},
    # It asks what to add for a subagent and, up to 0.24.4, adds it nowhere: it is only noted that one is at work.
    ignored={"subagent-start": ANY},
    denies=True,
    keeps_start=False,  # 0.24: what was added at its start is in the system prompt, and not there when it is resumed
)
