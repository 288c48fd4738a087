"""Droid: told of the MCP server only. From its documents, not tried."""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="droid",
    title="Droid",
    home=Home(".factory"),
    files=(File(".factory/mcp.json", "mcp.json", (server(kind="stdio"),)),),
    after="start droid in the project",
)
