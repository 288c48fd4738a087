"""Codex: drops all added context at a compaction; SessionStart(compact) comes only with the next turn.

Both empty the ledger; the second finds it empty. An answer with any key that Codex does not know is refused.
"""

from __future__ import annotations

from memsync.agents.client import ANY, Client

CLIENT = Client(
    name="codex",
    prompt_event="UserPromptSubmit",
    turn="turn_id",
    lost={"session-start": ("compact", "clear"), "post-compact": ANY},
)
