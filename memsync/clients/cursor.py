"""Cursor: told of the MCP server only. From its documents, not tried.

https://cursor.com/docs/mcp says that servers are managed on the page Customize, older editions that this is in the settings.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="cursor",
    title="Cursor",
    variables=("CURSOR_AGENT",),
    home=Home(".cursor"),
    files=(File(".cursor/mcp.json", "mcp.json", (server(),)),),
    after="open the project in Cursor, and switch its MCP server memsync on where it lists servers",
)
