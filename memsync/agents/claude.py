"""Claude Code: keeps what hooks add until a compaction has happened, which SessionStart says.

PreCompact may still be blocked, and PostCompact comes after the new context was given.
"""

from __future__ import annotations

from memsync.agents.client import Client

CLIENT = Client(
    name="claude",
    prompt_event="UserPromptSubmit",
    turn="prompt_id",
    lost={"session-start": ("compact", "clear")},
)
