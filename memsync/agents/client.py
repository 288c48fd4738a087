"""What is to know about a client, as data: its words for things, and when its context is lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

ClientName = Literal["claude", "codex", "gemini"]
CLIENTS: Final[tuple[ClientName, ...]] = ("claude", "codex", "gemini")
ANY: Final[Collection[str]] = ()
EVENTS: Final = ("session-start", "prompt", "pre-compact", "post-compact", "session-end")
_OWN: Final = {name: name.replace("-", "_") for name in EVENTS if name != "post-compact"}


def typed(prompt: str) -> str:
    """Return the prompt as the client reports it."""
    return prompt


class Client(NamedTuple):
    """One client.

    `lost` names the events at which what hooks added is gone from its context, for the given
    values of `source` or `trigger`, or ANY; `ignored` those that mean nothing. `turn` is the key that tells one
    event from the next. `prompt` takes away what the client puts before a prompt.
    """

    name: ClientName
    prompt_event: str
    turn: str
    lost: Mapping[str, Collection[str]]
    ignored: Mapping[str, Collection[str]] = {}
    prompt: Callable[[str], str] = typed

    def output_event(self, event: str) -> str:
        """Return what the client calls *event* in a hook's answer; "" where no answer can add context."""
        return {"session-start": "SessionStart", "prompt": self.prompt_event}.get(event, "")

    def triggers(self, event: str, payload: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which triggers of the lifecycles *event* pulls, in order."""
        if _is_among(event, payload, self.ignored):
            return ()
        own = (_OWN[event],) if event in _OWN else ()
        if not _is_among(event, payload, self.lost):
            return own
        return ("compact", *own) if event == "session-start" else (*own, "compact")


def _is_among(event: str, payload: Mapping[str, Any], table: Mapping[str, Collection[str]]) -> bool:
    if event not in table:
        return False
    return table[event] == ANY or (payload.get("source") or payload.get("trigger")) in table[event]
