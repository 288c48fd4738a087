"""Amp: told of the MCP server only.

`amp mcp list` of 0.0.1790142911 shows it as one of the workspace; not started, for want of an account.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="amp",
    title="Amp",
    variables=("AMP_CURRENT_THREAD_ID",),
    home=Home(".config/amp"),
    files=(
        File(
            ".amp/settings.json",
            "settings.json",
            (server("amp.mcpServers"),),
            form="jsonc",
            also=(".amp/settings.jsonc",),
        ),
    ),
    after="start Amp in the project, and approve its MCP server memsync",
)
