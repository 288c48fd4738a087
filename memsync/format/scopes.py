"""How a record says which store it belongs to once it has left that: written into every copy, and read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from re import Match
from typing import Final

from memsync.records import Memory, Scope

KEY: Final = "scope"
# As people and copies spell them; what is the project's own says nothing.
_NAMES: Final[Mapping[Scope, str]] = {"stealth": "private", "global": "global"}
_SCOPES: Final[Mapping[str, Scope | None]] = {
    "private": "stealth", "stealth": "stealth", "global": "global", "project": None
}  # fmt: skip
_IN_SKILL: Final = re.compile(r"\A---\n(?:(?!---).*\n)*?[ \t]+scope:[ \t]*[\"']?(private|global)\b")
# Before a bare text: as a copy has it, or as a line has it that an agent was given.
_MARK: Final = re.compile(
    r"(?:\((private|global)\)|\[[\w-]+\] \([^,()]+, importance [\d.]+, [^,()]+(?:, (private|global))?.*?\))\s+(?=\S)"
)


def name_scope(scope: str) -> str:
    """Return *scope* as people read it: what is `stealth` in code and in --json is private."""
    return "private" if scope == "stealth" else scope


def mark_record(memory: Memory, scope: Scope) -> Memory:
    """Return *memory* with *scope* among its keys, as a copy has it."""
    return memory._replace(extra={**memory.extra, KEY: _NAMES[scope]}) if scope in _NAMES else memory


def mark_text(text: str, scope: Scope) -> str:
    """Return *text* with *scope* before it, as a copy without keys has it."""
    return f"({_NAMES[scope]}) {text}" if scope in _NAMES else text


def read_scope(memory: Memory) -> tuple[Memory, Scope | None]:
    """Return *memory* of a copy without what it says of its scope, and that scope; None: it says none.

    The mark of a text counts where the record was made of bare text: one with an id has its scope among its keys.
    """
    said = memory.extra.get(KEY)
    if isinstance(said, str) and said in _SCOPES:
        return memory._replace(extra={key: value for key, value in memory.extra.items() if key != KEY}), _SCOPES[said]
    if not memory.id and (mark := _MARK.match(memory.content)):
        return memory._replace(content=memory.content[mark.end() :]), _SCOPES[mark[1] or mark[2] or "project"]
    return memory, None


def find_skill_scope(text: str) -> Match[str] | None:
    """Return where *text*, a SKILL.md, says that it is private or global; group 1 is the word."""
    return _IN_SKILL.match(text)
