"""VS Code: told of the MCP server only. Not tried.

By https://code.visualstudio.com/docs/copilot/reference/mcp-configuration a server of this kind must say its `type`.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, find_settings, server

CLIENT: Final = Client(
    name="vscode",
    title="VS Code",
    home=find_settings("Code/User"),
    files=(File(".vscode/mcp.json", "mcp.json", (server("servers", kind="stdio"),), form="jsonc"),),
    after="open the project in VS Code, and start the server memsync in .vscode/mcp.json",
)
