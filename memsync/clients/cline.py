"""Cline: told of the MCP server only, in the settings of its CLI, which are the user's.

Its package 3.0.65 reads this form beside the one that it writes itself (`transport`); not started, for want of an account.

The extension for VS Code keeps a file of its own, which its MCP view opens.
"""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home, server

CLIENT: Final = Client(
    name="cline",
    title="Cline",
    variables=("CLINE_ACTIVE",),
    home=Home(".cline/data/settings"),
    files=(File("", "cline_mcp_settings.json", (server(),)),),
    after="start Cline in the project: it starts its servers where it was started",
)
