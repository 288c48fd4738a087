"""Whether there is nothing to say about a tool call, by the lookup file alone: a tool waits for it. Imports next to nothing.

Whatever is odd is not quiet: then the hook looks at the memories, and guards the user's turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsync.agents.toolcall import ToolCall
from memsync.memories import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AFTERWARDS = frozenset(
    {"copilot", "gemini", "opencode"}
)  # clients whose hooks can add context only when a tool has run


def is_quiet(event: str, client: str, payload: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> bool:
    """Tell whether there is certainly nothing to say."""
    if client == "claude" and event == "pre-tool" and "timestamp" in payload:
        return True  # Copilot CLI, which runs the hooks of Claude Code and takes no context before a tool
    if client == "copilot":
        from memsync.clients.copilot import COPILOT

        payload = COPILOT.read(payload)
    call = ToolCall(payload)
    if event == "post-tool" and call.error:
        return False
    if event == "post-tool" and client not in AFTERWARDS:
        return True
    if not (call.paths or call.reads or call.line):
        return True
    root, path = lookup.find_path(cwd, env)
    known = lookup.Lookup(path) if path else None
    if known is None or not known.fresh:
        return False
    paths = lookup.all_below((*call.paths, *call.reads), cwd, root)
    return not known.has_any(lookup.keys_of(paths, call.commands()))
