"""Droid: told of the MCP server only. `droid mcp list` of 0.225.2 says "connected [project]"."""

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
