"""Cursor: told of the MCP server only. From its documents (cursor.com/docs/mcp), not tried."""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="cursor",
    title="Cursor",
    home=Home(".cursor"),
    files=(File(".cursor/mcp.json", "mcp.json", (server(),)),),
    after="open the project in Cursor, and switch its MCP server memsync on in the settings",
)
