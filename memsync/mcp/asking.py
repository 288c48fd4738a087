"""Asking the user, through a client that can, what a new memory replaces. Others get the next call in the answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel, Field

from memsync.errors import UsageError
from memsync.records import format_time, parse_time
from memsync.system.texts import one_line

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

_ASKED: Final = "replace"
_WITHOUT_CHANNEL: Final = "2026-07-28"  # from here on a server asks in its answer, and the client calls again
_LONGEST: Final = 300

Found = tuple[Any, datetime]  # an answer as JSON has it, and when it was given


class Answer(BaseModel):
    """What the user is asked."""

    replace: bool = Field(default=False, description="Archive the old one; it can be restored.")


def _find_wrong(found: Any) -> list[str]:
    """Return the ids of the memories that a new one contradicts, if *found* is the answer of `remember` with such a one."""
    if not isinstance(found, Mapping) or found.get("status") != "created":
        return []
    return [one["id"] for one in found.get("similar") or () if one["relation"] == "contradicts"]


async def settle(
    ctx: Context[Any, Any],
    first: Callable[[], Awaitable[Found]],
    supersede: Callable[[str, list[str]], Awaitable[Found]],
) -> Found | InputRequiredResult:
    """Return what *first* finds; where that is a new memory and the user says so, what became of it by *supersede*.

    A client of the newer protocols is made to ask and to call again with the answer.
    """
    if ctx.request_state is None:
        found = await first()
        asked = await _ask(ctx, found)
    else:
        found, asked = _read_answer(ctx)
    if isinstance(asked, InputRequiredResult):
        return asked
    return await supersede(found[0]["memory"]["id"], asked) if asked else found


async def _ask(ctx: Context[Any, Any], found: Found) -> list[str] | InputRequiredResult:
    """Return what the user says that the new memory of *found* replaces, or what makes the client ask and call again."""
    value, now = found
    wrong, able = _find_wrong(value), ctx.client_capabilities
    if not (wrong and able and able.elicitation):
        return []
    said = _spell(value)
    if (ctx.protocol_version or "") >= _WITHOUT_CHANNEL:
        params = ElicitRequestFormParams(message=said, requested_schema=render_elicitation_schema(Answer))
        state = json.dumps([value, format_time(now)])
        return InputRequiredResult(input_requests={_ASKED: ElicitRequest(params=params)}, request_state=state)
    with suppress(MCPError, ValueError):  # a client that promised more than it does
        result = await ctx.elicit(said, Answer)
        return wrong if result.action == "accept" and result.data.replace else []
    return []


def _read_answer(ctx: Context[Any, Any]) -> tuple[Found, list[str]]:
    """Return what was found in the first call, and what it replaces by the user's answer.

    Raises:
        UsageError: the client gave back something else than it got.
    """
    try:
        value, when = json.loads(ctx.request_state or "")
        wrong, now = _find_wrong(value), parse_time(when)
    except (ValueError, KeyError, TypeError, AttributeError):
        wrong, now = [], None
    if now is None:
        raise UsageError("this answers no question; call the tool again without it")
    said = (ctx.input_responses or {}).get(_ASKED)
    is_yes = getattr(said, "action", "") == "accept" and (getattr(said, "content", None) or {}).get("replace") is True
    return (value, now), wrong if is_yes else []


def _spell(found: Mapping[str, Any]) -> str:
    wrong = [one for one in found["similar"] if one["relation"] == "contradicts"]
    rows = [f"{one['id']}: {one_line(one['content'])[:_LONGEST]}" for one in wrong]
    new = one_line(found["memory"]["content"])[:_LONGEST]
    return "\n".join(
        [f"New in the project's memory: {new}", "It contradicts:", *rows, "Does it replace what it contradicts?"]
    )
