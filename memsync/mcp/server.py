"""The server: what it offers, and its life from the first word of the client to the last."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server import CacheHint, MCPServer
from mcp.server.stdio import stdio_server

from memsync import __version__
from memsync.agents.endpoint import Endpoint
from memsync.agents.live import Live
from memsync.errors import MemsyncError
from memsync.mcp import cards, memories, resources, skills, upkeep
from memsync.mcp.early import FOR_CARD, GROUPS, get_heard, shows_cards
from memsync.mcp.tool import Desk, tool
from memsync.mcp.wire import PATIENCE, Wire

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

_FRESH: Final = 3_600_000  # milliseconds for which a client may keep what only another version changes
OFFERS: Final = (*memories.OFFERS, *upkeep.OFFERS, *skills.OFFERS)


def build(live: Live, tools: Collection[str] = GROUPS["core"], *, whole: bool = False) -> MCPServer[Any]:
    """Return the server over *live*: it has the index warm, answers hooks as well, and closes *live* at its end.

    It offers the *tools* of these names, and answers with the *whole* of each object or with what a model needs of it.
    """
    offers = [*(offer for offer in OFFERS if offer.name in tools), *cards.make_offers()]
    desk = Desk(live, offers, whole=whole)

    @asynccontextmanager
    async def life(_: MCPServer[Any]) -> AsyncIterator[Desk]:
        try:
            with Endpoint(live):
                async with anyio.create_task_group() as group:
                    group.start_soon(_warm, desk)
                    yield desk
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(live.close)

    server = MCPServer(
        "memsync",
        title="memsync: memory of this project",
        version=__version__,
        instructions=resources.INSTRUCTIONS,
        lifespan=life,
        tools=[tool(offer) for offer in offers],
        extensions=[cards.make_apps()],
        middleware=[_hide_from_models],
    )
    resources.add(server, desk)
    resources.add_prompts(server)
    hint = CacheHint(ttl_ms=_FRESH)
    low = server._lowlevel_server  # noqa: SLF001 - the SDK has no other way to them
    low.cache_hints = dict.fromkeys(("tools/list", "prompts/list", "resources/templates/list", "server/discover"), hint)
    return server


async def _hide_from_models(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """List the tools of the card only for a client that shows it: others would offer them to the model."""
    result = await call_next(ctx)
    able = ctx.session.client_capabilities
    if ctx.method == "tools/list" and isinstance(result, dict) and not shows_cards(able and able.extensions):
        return {**result, "tools": [one for one in result["tools"] if one["name"] not in FOR_CARD]}
    return result


async def _warm(desk: Desk) -> None:
    """Have the index ready before it is asked for; a store that cannot be read is told to whoever asks."""
    with suppress(MemsyncError, OSError):
        await desk.ask(lambda project: project.finder.index)


def serve(start: Path, tools: Collection[str], *, whole: bool) -> None:
    """Answer the client on standard input and output until it hangs up or we are told to end.

    Raises:
        UsageError: there is no standard input or output.
    """
    anyio.run(lambda: _serve(start, tools, whole=whole))


async def _serve(start: Path, tools: Collection[str], *, whole: bool) -> None:
    server = build(Live(start, face="over MCP"), tools, whole=whole)._lowlevel_server  # noqa: SLF001 - the SDK has no other way to a wire of one's own
    wire: Any = Wire(get_heard())
    async with anyio.create_task_group() as group:
        group.start_soon(_wait_for_signal, group.cancel_scope)
        async with stdio_server(wire, wire) as (heard, said):
            await server.run(heard, said, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _wait_for_signal(scope: anyio.CancelScope) -> None:
    if sys.platform == "win32":
        return  # there, nobody is told
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()
            # End even if the client takes no answers any more: what was written is durable, so nothing is lost.
            last = threading.Timer(PATIENCE, os._exit, [1])
            last.daemon = True
            last.start()
