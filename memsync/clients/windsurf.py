"""Windsurf: told of the MCP server only, in the user's own settings. Not tried.

By https://docs.windsurf.com/windsurf/cascade/mcp; its plugin for other editors reads ~/.codeium/mcp_config.json.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="windsurf",
    title="Windsurf",
    home=Home(".codeium/windsurf"),
    files=(File("", "mcp_config.json", (server(),)),),
    after="open Windsurf, and refresh its MCP servers",
)
