"""Which statements are worth a memory, judged by their wording alone."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from memsync import secrets
from memsync.records import Memory, clean_content, clean_tags

INSTRUCTIONS: Final = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
    ".github/copilot-instructions.md", "MEMORY.md",
)  # fmt: skip
_LONGEST: Final = 500
_FEWEST_WORDS: Final = 4

MUST: Final = re.compile(
    r"\b(?:always|never|must(?:n't)?|important|critical|required?|do not|don'?t|forbidden|only ever)\b", re.IGNORECASE
)
_SHOULD: Final = re.compile(
    r"\b(?:prefer\w*|should|avoid\w*|instead of|rather than|favou?r|keep|ensure|make sure|remember)\b", re.IGNORECASE
)
_USE: Final = re.compile(r"^(?:use|run|write|put|name|follow|add|call|set)\b", re.IGNORECASE)
_PATTERN: Final = re.compile(
    r"\b(?:convention|pattern|naming|named|structure|follow|every|all \w+ (?:are|must|should|have)|each)\b",
    re.IGNORECASE,
)
_CONTEXT: Final = re.compile(
    r"\b(?:this (?:project|repo\w*|app\w*|service|package|library) (?:is|uses|contains|provides)|is an? [\w -]*(?:app\w*|service|library|tool|framework|monorepo|server|cli)|architecture|built (?:with|on))\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\b(?:is|are|has|have|needs?|uses?|lives?|listens?|runs?|requires?|supports?|returns?|expects?|takes?|stores?|reads?|writes?"
    r"|contains?|depends?|comes?)\b",
    re.IGNORECASE,
)
_HARD: Final = re.compile(r"`[^`]+`|\b\w+[_/.]\w+|\b[A-Z][a-z]+[A-Z]\w*|\b\d+(?:\.\d+)*\b|--\w+")


@cache
def _read_rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the rules of worth.tsv."""
    rows = (line.split("\t") for line in Path(__file__).with_name("worth.tsv").read_text("utf-8").splitlines())
    return tuple((re.compile(row[1], re.IGNORECASE), row[0]) for row in rows if row[1:])


def why_dropped(text: str) -> str:
    """Return why *text* is not worth remembering; empty if it may be."""
    if len(text) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if len(re.findall(r"\w+", text)) < _FEWEST_WORDS:
        return "too short to stand alone"
    for pattern, why in _read_rules():
        if pattern.search(text):
            return why
    if text.endswith(":"):
        return "the beginning of a list"
    if found := secrets.scan(text):
        return f"looks like a secret ({secrets.describe(found)})"
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return "mostly code" if letters < 0.6 * len(text) else ""


def is_said_to_last(text: str) -> bool:
    """Tell whether *text* is a rule or states something exact: what a conversation says in passing is not."""
    is_rule = MUST.search(text) or _SHOULD.search(text) or (_USE.match(text) and _HARD.search(text))
    return bool(is_rule or (_STATES.search(text) and _HARD.search(text)))


def as_memory(text: str, heading: str = "") -> Memory:
    """Return *text* as a memory with type and importance by its wording."""
    is_rule = bool(MUST.search(text) or _SHOULD.search(text) or _USE.match(text))
    if _CONTEXT.search(text) and not is_rule:
        kind = "context"
    elif _PATTERN.search(text):
        kind = "pattern"
    else:
        kind = "preference" if is_rule else "fact"
    importance = 0.8 if MUST.search(text) else 0.7 if is_rule else 0.6
    tag = heading.lower() if re.fullmatch(r"[A-Za-z][\w-]{2,15}", heading) else ""
    return Memory(
        id="",
        content=clean_content(text),
        memory_type=kind,
        importance=importance,
        tags=clean_tags([tag]),
        source_type="inferred",
    )


def instruction_files(root: Path) -> list[Path]:
    """Return the files in *root* that tell agents how to work: those that are text inside of it."""
    found = (root / name for name in INSTRUCTIONS)
    rules = sorted((root / ".cursor" / "rules").glob("*.mdc"))
    return [path for path in (*found, *rules) if path.is_file() and path.resolve().is_relative_to(root.resolve())]
