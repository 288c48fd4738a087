"""Gemini CLI: announces a compression before every request, and passes earlier context on as part of the prompt.

PreCompress(auto) is sent whether anything is compressed or not, and no event follows one:
only the user's own /compress empties the ledger. What is added to a prompt stays in the
history of the chat, also when it is resumed (0.61, looked at in its requests), though its documentation says for one turn.
"""

from __future__ import annotations

import re
from typing import Final

from memsync.agents.client import Client

_CONTEXT: Final = re.compile(r"(?:\s*<hook_context>.*?</hook_context>)+\s*", re.DOTALL)


def without_context(prompt: str) -> str:
    """Return *prompt* without what hooks put before it; inside, Gemini has escaped every tag."""
    found = _CONTEXT.match(prompt)
    return prompt[found.end() :] if found else prompt


CLIENT = Client(
    name="gemini",
    prompt_event="BeforeAgent",
    turn="timestamp",
    lost={"session-start": ("clear",), "pre-compact": ("manual",)},
    ignored={"pre-compact": ("auto",)},
    prompt=without_context,
)
