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
    return known is not None and known.fresh and find_work(known, root, call, cwd, session_of(payload)) == []


def find_work(known: lookup.Lookup, root: str, call: ToolCall, cwd: str, session: str) -> list[int]:
    """Return what marks the parts of *call* that something is anchored to, of which the session has not had everything."""
    marks = []
    for target, keys in list_targets(root, call, cwd):
        found = known.find(keys)
        if found and not known.is_done(session, mark := lookup.mark_of(target, found)):
            marks.append(mark)
    return marks


def list_targets(root: str, call: ToolCall, cwd: str) -> list[tuple[str, list[str]]]:
    """Return each file and each command of *call* with its keys; a command stands for all with the same keys."""
    paths = lookup.all_below(call.paths, cwd, root)
    return [
        *((path, lookup.keys_of([path], [])) for path in paths),
        *((f"{path}<", lookup.keys_of([path], [])) for path in lookup.all_below(call.reads, cwd, root)),
        *(("$", lookup.keys_of([], [words])) for words in call.commands()),
    ]


def session_of(payload: Mapping[str, Any]) -> str:
    """Return the session that *payload* is of, a subagent's apart."""
    session, agent = payload.get("session_id"), payload.get("agent_id")
    return f"{session}/{agent}" if session and agent else str(session or "")
