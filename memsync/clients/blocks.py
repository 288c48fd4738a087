"""Files that every agent reads: a block of ours in them says how to remember, and holds what was pinned. Opt-in, by name."""

from __future__ import annotations

from typing import Final

from memsync.clients.facts import Client, File, Home


def _make(name: str, file: str) -> Client:
    after = f"commit {file}; `memsync sync` keeps our block in it up to date"
    return Client(name=name, title=file, home=Home(""), files=(File(file, "", (), form="block"),), after=after)


CLIENTS: Final = {
    name: _make(name, file)
    for name, file in (("agents-md", "AGENTS.md"), ("claude-md", "CLAUDE.md"), ("gemini-md", "GEMINI.md"))
}
