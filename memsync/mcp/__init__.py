"""The MCP server: tools, resources and prompts over the same calls as the command line. Needs the extra `mcp`."""
