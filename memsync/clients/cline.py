"""Cline: told of the MCP server only, in the settings of its CLI, which are the user's. From its documents, not tried.

The extension for VS Code keeps a file of its own, which its MCP view opens.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="cline",
    title="Cline",
    home=Home(".cline/data/settings"),
    files=(File("", "cline_mcp_settings.json", (server(),)),),
    after="start Cline in the project: it starts its servers where it was started",
)
