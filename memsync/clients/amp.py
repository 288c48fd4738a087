"""Amp: told of the MCP server only. From its documents, not tried."""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="amp",
    title="Amp",
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
