"""The memory folder of a Letta agent (MemFS): Markdown under `~/.letta/agents/ID/memory`, one file a block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memsync.memories.imports import Candidate
from memsync.transfer.candidates import read_statements

# What is no knowledge of a project, by the name of the file or of a folder above it.
_LEFT: Final = {
    "persona": "says who the agent is, not what it knows",
    "memory_filesystem": "is a list of the other files",
    "skills": "is a skill: copy its folder into .claude/skills",
}


def read_block(text: str, name: str) -> Iterator[Candidate]:
    """Yield the statements of a block that last, tagged with the folder that the block is in."""
    path = Path(name)
    parts = path.with_suffix("").parts
    inside = parts[len(parts) - parts[::-1].index("memory") :] if "memory" in parts else parts[-1:]
    if why := next((_LEFT[part] for part in inside if part in _LEFT), ""):
        yield Candidate(name, None, why)
        return
    folders = [part for part in inside[:-1] if part not in ("system", "user")]
    yield from read_statements(text, name, tags=[part.lower() for part in folders[-1:]])
