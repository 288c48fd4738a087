"""How a record says which store it belongs to once it has left that: written into every copy, and read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from re import Match
from typing import Final

from memsync.records import Memory, Scope

KEY: Final = "scope"
# As copies spell them, now and before; what is the project's own says nothing.
_SCOPES: Final[Mapping[str, Scope | None]] = {
    "private": "private", "stealth": "private", "global": "global", "project": None
}  # fmt: skip
_IN_SKILL: Final = r"\A---\n(?:(?!---).*\n)*?[ \t]+scope:[ \t]*[\"']?(private|global)\b"
# Before a bare text, as a copy has it; around it, as a line has it that an agent was given, now and before.
_BEFORE: Final = (
    r"(?:\((private|global)\)|\[[\w-]+\] \([^,()]+, importance [\d.]+, [^,()]+(?:, (private|global))?.*?\))\s+(?=\S)"
)
_AROUND: Final = r"(?s)\[(?:mm-\w+|[0-9a-f][0-9a-f-]{5,35})\]\s+(\S.*?)((?:\s+\([^()]*\))*)\s*"
_INSIDE: Final = r"\s\((?:[^()]+, )?(private|global)\)"  # where more follows, as in a line that somebody cut or joined
# Behind it, as it is copied by hand from a row or from what an agent was given.
_BEHIND: Final = r"(?s)(?:mm-[a-z0-9]{6,10}\s+)?(\S.*?)\s+\((?:[^()]+, )?(private)\)\s*"
_GROUP: Final = r"\s+\(([^()]*)\)"
_BESIDE: Final = r"private|global|preference|pattern|context|[A-Z][a-z]{2} \d{4}|by \S.*|of \d{4}-\d\d-\d\d|replace[sd]\? .*|\+\d+ alike.*|unread|out of date: .*|for \S.*"


def mark_record(memory: Memory, scope: Scope) -> Memory:
    """Return *memory* with *scope* among its keys, as a copy has it."""
    return memory._replace(extra={**memory.extra, KEY: scope}) if scope != "project" else memory


def mark_text(text: str, scope: Scope) -> str:
    """Return *text* with *scope* before it, as a copy without keys has it."""
    return f"({scope}) {text}" if scope != "project" else text


def read_scope(memory: Memory) -> tuple[Memory, Scope | None]:
    """Return *memory* of a copy without what it says of its scope, and that scope; None: it says none.

    The mark of a text counts where the record was made of bare text: one with an id has its scope among its keys.
    """
    said = memory.extra.get(KEY)
    if isinstance(said, str) and said in _SCOPES:
        return memory._replace(extra={key: value for key, value in memory.extra.items() if key != KEY}), _SCOPES[said]
    if not memory.id and (found := _split_mark(memory.content)):
        return memory._replace(content=found[0]), _SCOPES[found[1]]
    return memory, None


def is_marked(text: str) -> bool:
    """Tell whether *text* is one that left its store with a mark: no part of it may go without that."""
    return _split_mark(text) is not None


def _split_mark(text: str) -> tuple[str, str] | None:
    """Return *text* without its mark, and the scope that this says; None if it has none."""
    if mark := re.match(_BEFORE, text):
        return text[mark.end() :], mark[1] or mark[2] or "project"
    if not (given := re.fullmatch(_AROUND, text)):
        behind = re.fullmatch(_BEHIND, text)
        return (behind[1], behind[2]) if behind else None
    end, scope = given.end(2), "project"
    for group in reversed([*re.compile(_GROUP).finditer(text, given.start(2), end)]):
        words = group[1].split(", ")
        if not any(re.fullmatch(_BESIDE, word) for word in words):
            break  # the text's own
        end = group.start()
        scope = next((word for word in words if word in ("private", "global")), scope)
    if scope == "project" and (inside := re.search(_INSIDE, text)):
        scope = inside[1]
    return text[given.start(1) : end], scope


def find_skill_scope(text: str) -> Match[str] | None:
    """Return where *text*, a SKILL.md, says that it is private or global; group 1 is the word."""
    return re.match(_IN_SKILL, text)
