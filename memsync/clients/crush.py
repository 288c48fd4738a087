"""Crush: told of the MCP server only. Not tried.

By `schema.json` of https://github.com/charmbracelet/crush, which wants a `type`.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="crush",
    title="Crush",
    variables=("CRUSH",),
    home=Home(".config/crush", "XDG_CONFIG_HOME", "crush"),
    files=(File("crush.json", "crush.json", (server("mcp", kind="stdio"),), also=(".crush.json",)),),
    after="start Crush in the project",
)
