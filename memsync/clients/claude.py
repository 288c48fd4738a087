"""Claude Code: keeps what hooks add until a compaction has happened, which SessionStart says.

PreCompact may still be blocked, and PostCompact comes after the new context was given.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import SERVER, Client, Entry, File, Home, Hook, allow, both, group, server

_HOOKS: Final = (
    Hook("SessionStart", "session-start", 10, "startup|resume|clear|compact|fork"),
    Hook("UserPromptSubmit", "prompt", 5),
    Hook("PreCompact", "pre-compact", 5),
    Hook("SubagentStart", "subagent-start", 5),
    Hook("PreToolUse", "pre-tool", 5, "Read|Edit|MultiEdit|Write|NotebookEdit|Bash"),
    Hook("PostToolUseFailure", "post-tool", 5, "Bash"),
    Hook("SessionEnd", "session-end", 5),
)
_ALLOWED: Final = allow("permissions", "allow", pattern="mcp__memsync__{}")
_APPROVED: Final = Entry(("enabledMcpjsonServers",), SERVER, "allowed tools", is_element=True)
LOCAL_SERVER: Final = "claude mcp add --scope local memsync -- memsync mcp"

CLIENT: Final = Client(
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
    after_private=f"run `{LOCAL_SERVER}` here, which adds the tools to Claude Code for you alone",
    lost={"session-start": ("compact", "clear")},
    asks=True,
    answer=both,  # for Copilot CLI, which runs the hooks of .claude/settings.json; Claude Code passes the key over
)
