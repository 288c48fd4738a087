"""Gemini CLI: announces a compression before every request, and passes earlier context on as part of the prompt.

PreCompress(auto) is sent whether anything is compressed or not, and no event follows one:
only the user's own /compress empties the ledger, and runs a hook of ours. What is added to a prompt stays in the
history of the chat, also when it is resumed (0.61, looked at in its requests), though its documentation says for one turn.
What is added at its start does not. A compression keeps the last third of the chat, so what was given there is not given again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from memsync.clients.facts import Client, File, Home, Hook, allow, any_of, group, nested, run_in_ms, server, typed

_TOOLS: Final = any_of(
    *"read_file read_many_files write_file replace run_shell_command search_file_content grep_search glob list_directory web_fetch".split()
)
_HOOKS: Final = (
    Hook("SessionStart", "session-start", 5, "*"),
    Hook("BeforeAgent", "prompt", 5),
    Hook("PreCompress", "pre-compact", 5, "manual"),
    Hook("AfterTool", "post-tool", 5, _TOOLS),  # before one it takes no context
    Hook("SessionEnd", "session-end", 5),
)
_CONTEXT: Final = re.compile(r"(?:\s*<hook_context>.*?</hook_context>)+\s*", re.DOTALL)


def without_context(prompt: str) -> str:
    """Return *prompt* without what hooks put before it; inside, Gemini has escaped every tag."""
    found = _CONTEXT.match(prompt)
    return typed(prompt[found.end() :] if found else prompt)


def _read(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *payload* with the transcript of a session that is resumed: it names a new one, and the first goes on."""
    if payload.get("source") != "resume":
        return payload
    folder, name = os.path.split(str(payload.get("transcript_path") or ""))
    with suppress(OSError):
        same = (one for one in os.listdir(folder) if one.endswith(f"-{name.rpartition('-')[2]}"))
        name = min(same, default=name)
    return {**payload, "transcript_path": os.path.join(folder, name)}


def _answer(event: str, text: str) -> dict[str, Any]:
    """Return the answer without an `@`: without a terminal Gemini reads what is added at its start as typed, and each file that it names."""
    return nested(event, text.replace("@", "&#64;"))


GEMINI: Final = Client(
    name="gemini",
    title="Gemini CLI",
    variables=("GEMINI_CLI",),
    home=Home(".gemini", "GEMINI_CLI_HOME", ".gemini"),  # its variable names what .gemini is in
    signs=(".gemini", "GEMINI.md"),
    hooks=_HOOKS,
    answer=_answer,
    files=(
        File(
            ".gemini/settings.json",
            "settings.json",
            (*group("gemini", _HOOKS, run_in_ms), server(), *allow("tools", "allowed", pattern="mcp_memsync_{}")),
            form="json+comments",
        ),
    ),
    after="start Gemini CLI here, and trust the folder when it asks",
    looks_above=False,
    turn="timestamp",
    lost={"session-start": ("clear",), "pre-compact": ("manual",)},
    ignored={"pre-compact": ("auto",)},
    read=_read,
    prompt=without_context,
    # with an answer: a process first says its own start, and only then the session that it resumes
    restates=re.compile(rb'^\{"\$set":\{"messages":.*"type":"gemini"', re.MULTILINE),
    keeps_start=False,
)
