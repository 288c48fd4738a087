"""What differs between the agent clients: Claude Code, Codex and Gemini CLI."""
