"""What is to know about each client, as data: its words for things, and when its context is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

ClientName = Literal["claude", "codex", "gemini"]
CLIENTS: Final[tuple[ClientName, ...]] = ("claude", "codex", "gemini")
ANY: Final[Collection[str]] = ()
# The same words for every client. The answer to those about a subagent or a tool is nothing yet.
EVENTS: Final = (
    "session-start",
    "prompt",
    "pre-compact",
    "post-compact",
    "subagent-start",
    "pre-tool",
    "post-tool",
    "session-end",
)
_OWN: Final = {name: name.replace("-", "_") for name in ("session-start", "prompt", "pre-compact", "session-end")}

# What clients put into prompts themselves: the word of a subagent that is done, the output of a command.
_MACHINE_MADE: Final = re.compile(
    r"\s*<(task-notification|system-reminder|local-command-[a-z]+|command-[a-z]+|bash-[a-z]+|environment_context)>"
    r".*?(?:</\1>|\Z)",
    re.DOTALL,
)


def typed(prompt: str) -> str:
    """Return what the user has typed of *prompt*: without what the client put before it."""
    while found := _MACHINE_MADE.match(prompt):
        prompt = prompt[found.end() :]
    return prompt


class Client(NamedTuple):
    """One client.

    `lost` names the events at which what hooks added is gone from its context, for the given
    values of `source` or `trigger`, or ANY; `ignored` those that mean nothing. `turn` is the key that tells one
    event from the next. `prompt` takes away what the client puts before a prompt. `repeats_context`: an answer
    has the context at its top as well, for those that read the client's settings and look only there.
    `keeps_start`: what was added at the start of a session is there again when it is resumed.
    """

    name: ClientName
    prompt_event: str
    turn: str
    lost: Mapping[str, Collection[str]]
    ignored: Mapping[str, Collection[str]] = {}
    prompt: Callable[[str], str] = typed
    repeats_context: bool = False
    keeps_start: bool = True

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


# Claude Code: keeps what hooks add until a compaction has happened, which SessionStart says.
#
# PreCompact may still be blocked, and PostCompact comes after the new context was given.
CLAUDE = Client(
    name="claude",
    prompt_event="UserPromptSubmit",
    turn="prompt_id",
    lost={"session-start": ("compact", "clear")},
    repeats_context=True,  # for Copilot CLI, which runs the hooks of .claude/settings.json; Claude Code passes the key over
)


# Codex: drops all added context at a compaction, and says so with PostCompact at once.
#
# SessionStart(compact) comes only with the next turn: not at all if the user leaves before, and after a
# SessionStart(resume) that has given everything again. So it loses nothing. An answer with any key that Codex does not know is refused.
CODEX = Client(
    name="codex",
    prompt_event="UserPromptSubmit",
    turn="turn_id",
    lost={"session-start": ("clear",), "post-compact": ANY},
)


# Gemini CLI: announces a compression before every request, and passes earlier context on as part of the prompt.
#
# PreCompress(auto) is sent whether anything is compressed or not, and no event follows one:
# only the user's own /compress empties the ledger. What is added to a prompt stays in the
# history of the chat, also when it is resumed (0.61, looked at in its requests), though its documentation says for one turn.
# What is added at its start does not.
_CONTEXT: Final = re.compile(r"(?:\s*<hook_context>.*?</hook_context>)+\s*", re.DOTALL)


def without_context(prompt: str) -> str:
    """Return *prompt* without what hooks put before it; inside, Gemini has escaped every tag."""
    found = _CONTEXT.match(prompt)
    return typed(prompt[found.end() :] if found else prompt)


GEMINI = Client(
    name="gemini",
    prompt_event="BeforeAgent",
    turn="timestamp",
    lost={"session-start": ("clear",), "pre-compact": ("manual",)},
    ignored={"pre-compact": ("auto",)},
    prompt=without_context,
    keeps_start=False,
)

KNOWN: Final[Mapping[str, Client]] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
