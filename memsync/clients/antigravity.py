"""Antigravity CLI (`agy`), which follows Gemini CLI: one hook before every request to the model, without the prompt.

From its documents and other tools' reports on 1.1 and 1.2 (https://github.com/stbenjam/skillsaw,
`antigravity-hooks-valid`, measured with 1.1.25), not tried: it is not to be had without an account.
What the user said is the last USER_INPUT of the transcript. A step that is injected is seen by that one
request, so the memories of a turn are given to each of its requests. It has no event of a session's start
or end that is one, and says nothing of a compaction.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from memsync.clients.facts import Client, Entry, File, Home, Hook, run, server

_HOOKS: Final = (Hook("PreInvocation", "prompt", 5),)
_TAIL: Final = 1024 * 1024  # bytes of the transcript, from its end, that the last prompt is looked for in
_REQUEST: Final = re.compile(r"<USER_REQUEST>(.*?)</USER_REQUEST>", re.DOTALL)


def _read(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    roots = payload.get("workspacePaths")
    ours = {
        "session_id": payload.get("conversationId"),
        "transcript_path": payload.get("transcriptPath"),
        "cwd": roots[0] if isinstance(roots, list) and roots else None,
        "prompt": _read_prompt(str(payload.get("transcriptPath") or "")),
        "turn_id": str(payload.get("initialNumSteps", "")),  # of the request: each is answered
    }
    return {**payload, **{name: value for name, value in ours.items() if value}}


def _read_prompt(transcript: str) -> str:
    """Return what the user said last, by *transcript*; "" if that cannot be told."""
    with suppress(OSError), open(transcript, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        for line in reversed(file.read().splitlines()):
            with suppress(ValueError):
                step = json.loads(line) if b"USER_INPUT" in line else None
                if isinstance(step, dict) and step.get("type") == "USER_INPUT":
                    said = str(step.get("content") or "")
                    return "\n".join(_REQUEST.findall(said)) or said
    return ""


def _inject(_: str, text: str) -> dict[str, Any]:
    return {"injectSteps": [{"ephemeralMessage": text}]}


ANTIGRAVITY: Final = Client(
    name="antigravity",
    title="Antigravity CLI",
    variables=("ANTIGRAVITY_AGENT",),
    home=Home(".gemini/config"),
    signs=(".agents/hooks.json", ".agents/mcp_config.json"),
    hooks=_HOOKS,
    files=(
        File(
            ".agents/hooks.json",
            "hooks.json",
            tuple(
                Entry(("memsync", hook.event), run(hook, "antigravity"), "hooks", is_element=True) for hook in _HOOKS
            ),
        ),
        File(".agents/mcp_config.json", "mcp_config.json", (server(),)),
    ),
    after="start agy here, and trust the folder when it asks",
    turn="turn_id",
    read=_read,
    answer=_inject,
    keeps_prompts=False,
)
