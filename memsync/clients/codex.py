"""Codex: drops all added context at a compaction, and says so with PostCompact at once.

SessionStart(compact) comes only with the next turn: not at all if the user leaves before, and after a
SessionStart(resume) that has given everything again. So it loses nothing. An answer with any key that Codex does not know is refused.
"""

from __future__ import annotations

from typing import Any, Final

from memsync.clients.facts import ANY, CLAUDE_TOOLS, Client, File, Home, Hook, any_of, group, run, server, spell

HOOKS: Final = (
    Hook("SessionStart", "session-start", 5, "startup|resume|clear|compact|fork"),
    Hook("UserPromptSubmit", "prompt", 5),
    Hook("PostCompact", "post-compact", 5),  # its SessionStart(compact) is lost if the user leaves before the next turn
    Hook("SubagentStart", "subagent-start", 5),
    Hook("PreToolUse", "pre-tool", 5, any_of("apply_patch", *CLAUDE_TOOLS)),  # those of Claude Code for the plugin
    Hook("PostToolUse", "post-tool", 5, any_of("Bash")),
    Hook("SessionEnd", "session-end", 3),  # Codex gives no more, and warns about more
)
# Codex gives up on a server after 10 seconds by itself, which a busy machine needs for the imports.
_SERVER: Final = server("mcp_servers", startup_timeout_sec=30)


def _handler(hook: Hook, client: str) -> dict[str, Any]:
    return {**run(hook, client), "commandWindows": spell(hook, client)}


CODEX: Final = Client(
    name="codex",
    title="Codex",
    variables=("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"),
    home=Home(".codex", "CODEX_HOME"),
    signs=(".codex",),
    hooks=HOOKS,
    files=(
        File(".codex/hooks.json", "hooks.json", group("codex", HOOKS, _handler)),
        File(".codex/config.toml", "config.toml", (_SERVER,), form="toml"),
    ),
    after="start Codex here, trust the directory, and approve the hooks of memsync in /hooks",
    after_private="start Codex, and approve the hooks of memsync in /hooks",
    turn="turn_id",
    denies=True,
    lost={"session-start": ("clear",), "post-compact": ANY},
)
