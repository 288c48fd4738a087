"""Goose: told of the MCP server only, in the user's own settings, which are YAML. Not tried.

By https://block.github.io/goose/docs/guides/config-files; a `description` may be left out.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, Entry, File, find_settings

_SERVER: Final = Entry(
    ("extensions", "memsync"),
    {"name": "memsync", "type": "stdio", "cmd": "memsync", "args": ["mcp"], "enabled": True, "timeout": 300},
    "MCP server",
)

CLIENT: Final = Client(
    name="goose",
    title="Goose",
    variables=("GOOSE_TERMINAL",),
    home=find_settings("Block/goose/config", ".config/goose"),
    files=(File("", "config.yaml", (_SERVER,), form="yaml"),),
    after="start goose in the project: it starts its extensions where it was started",
)
