"""Which files of a repository tell agents how to work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NAMED: Final = re.compile(
    r"(?:.*/)?(?:CLAUDE|AGENTS?|GEMINI|QWEN|SKILL)\.md$|(?:.*/)?\.(?:cursor|windsurf)rules$|(?:.*/)?\.clinerules(?:/.*\.md)?$"
    r"|(?:.*/)?copilot-instructions\.md$|(?:.*/)?\.github/(?:instructions|agents|prompts)/.*\.md$"
    r"|(?:.*/)?\.(?:cursor|windsurf|claude)/rules/.*\.mdc?$|(?:.*/)?\.(?:claude|gemini|codex|opencode)/(?:agents|commands|agent|command)/.*\.md$"
)
# The same for git, about: what a hook of git asks before it starts us.
PATTERNS: Final = tuple(
    f":(top,glob)**/{name}"
    for name in (
        "CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        ".github/**/*instructions.md",
        ".cursor/rules/**",
        ".claude/**/*.md",
    )
)
# What is for another project, or is looked at by tests.
_ELSEWHERE: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|templates?|fixtures?|testdata|__tests__|tests?|evals?|examples?|samples?|assets|scaffold\w*|boilerplates?|_?archived?|[^/]*-templates?|(?:[^/]*-)?snapshots?|[0-9a-f]{40})/",
    re.IGNORECASE,
)


def is_instruction(path: str) -> bool:
    """Tell whether *path* is a file that an agent is given to work here."""
    return bool(_NAMED.match(path)) and not _ELSEWHERE.search(path)


def list_instructions(paths: Iterable[str]) -> list[str]:
    """Return those of *paths* that tell agents how to work here."""
    return [path for path in paths if path.endswith((".md", ".mdc", "rules")) and is_instruction(path)]


def is_elsewhere(path: str) -> bool:
    """Tell whether *path* is for another project, or is looked at by tests."""
    return bool(_ELSEWHERE.search(path))


def is_task(path: str) -> bool:
    """Tell whether the instruction file *path* says how to do a task, and not how the repository is."""
    return bool(re.search(r"(?:^|/)(?:skills|agents|commands?|prompts)/|(?:^|/)SKILL\.md$", path))
