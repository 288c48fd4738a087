"""The SDK's own client, called from plain tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client


class Caller:
    """One connected client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def ask(self, method: str, *args: Any, **named: Any) -> Any:
        """Call a method of the client and return what it returns."""

        async def call() -> Any:
            return await getattr(self.client, method)(*args, **named)

        return self.portal.call(call)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that is to succeed, and return its answer."""
        result = self.ask("call_tool", name, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """Call a tool that is to fail, and return what the model reads."""
        result = self.ask("call_tool", name, arguments)
        assert result.is_error, result.structured_content
        return result.content[0].text.removeprefix(f"Error executing tool {name}: ")

    def tools(self) -> dict[str, Any]:
        """Return the tools by name."""
        return {tool.name: tool for tool in self.ask("list_tools").tools}


@contextmanager
def connected(server: Any, **how: Any) -> Iterator[Caller]:
    """Connect to *server*: one of the SDK's, or the streams of a process; *how*: what the SDK's client takes."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server, **how)) as client:
        yield Caller(portal, client)
