"""Which tools a server offers: nine by default, because many clients send every tool with every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memsync.errors import UsageError

# The card of clients that show one (MCP Apps): its page, and the tools that are for it alone.
CARD: Final = "ui://memsync/card"
FOR_CARD: Final = frozenset({"review_card", "session_card"})
_APPS, _PAGE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWS_CARDS: Final = {_APPS: {"mimeTypes": [_PAGE]}}  # what a client says
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(tools.split())
    for name, tools in {
        "core": "remember recall update_memory forget get_memory restore_memory search_skills apply_skill create_skill",
        "memories": "remember recall forget list_memories get_memory update_memory restore_memory memory_stats"
        " import_memories export_memories",
        "history": "memory_history memory_diff memory_blame",
        "dedup": "dedup_log dedup_confirm dedup_reverse",
        "learning": "init_memory extract_memories enrich_memories",
        "tidy": "likely_copies merge_memories keep_both",
        "skills": "list_skills search_skills get_skill apply_skill create_skill learn_skill update_skill delete_skill"
        " restore_skill validate_skills export_skills skill_history skill_stats",
    }.items()
}


def choose(words: str) -> frozenset[str]:
    """Return the names of the tools that *words*, groups with commas between them or `all`, mean.

    Raises:
        UsageError: there is no such group.
    """
    names = [word.strip() for word in words.split(",") if word.strip()]
    if unknown := [name for name in names if name not in (*GROUPS, "all")]:
        raise UsageError(f"there is no group of tools {unknown[0]!r}; there are {', '.join(GROUPS)} and all")
    return frozenset(tool for group in GROUPS if group in names or "all" in names for tool in GROUPS[group])


def shows_cards(extensions: object) -> bool:
    """Tell whether a client that says to have these *extensions* shows cards: else nobody would keep their tools from the model."""
    said = extensions.get(_APPS) if isinstance(extensions, Mapping) else None
    kinds = said.get("mimeTypes") if isinstance(said, Mapping) else None
    return isinstance(kinds, list | tuple) and _PAGE in kinds
