"""Zed: told of the MCP server only. From its documents, not tried.

https://zed.dev/docs/ai/mcp has the entry, https://zed.dev/docs/worktree-trust the project's file and why it wants trust.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, find_settings, server

CLIENT: Final = Client(
    name="zed",
    title="Zed",
    home=find_settings("Zed", ".config/zed"),
    files=(File(".zed/settings.json", "settings.json", (server("context_servers", env={}),), form="jsonc"),),
    after="open the project in Zed, and trust it when it asks",
)
