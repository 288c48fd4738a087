"""Codex: drops all added context at a compaction, and says so with PostCompact at once.

SessionStart(compact) comes only with the next turn: not at all if the user leaves before, and after a
SessionStart(resume) that has given everything again. So it loses nothing. An answer with any key that Codex does not know is refused.
"""

from __future__ import annotations

from memsync.agents.client import ANY, Client

CLIENT = Client(
    name="codex",
    prompt_event="UserPromptSubmit",
    turn="turn_id",
    lost={"session-start": ("clear",), "post-compact": ANY},
)
