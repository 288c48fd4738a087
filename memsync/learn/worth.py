"""Which statements are worth a memory, judged by their wording alone."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from memsync.learn.rules import has, list_rules
from memsync.records import Memory, clean_content, clean_tags
from memsync.safety import secrets
from memsync.safety.issuers import hinted

INSTRUCTIONS: Final = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
    ".github/copilot-instructions.md", "MEMORY.md",
)  # fmt: skip
_LONGEST: Final = 500
_FEWEST_WORDS: Final = 3


def why_dropped(text: str) -> str:
    """Return why *text* is not worth remembering; empty if it may be."""
    if len(text) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if len(re.findall(r"\w+", text)) + len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", text)) // 2 < _FEWEST_WORDS:
        return "too short to stand alone"
    for rule in list_rules("dropped"):
        if rule.pattern.search(text):
            return rule.text
    if text.endswith(":"):
        return "the beginning of a list"
    if secret := find_secret(text):
        return secret
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
    return "mostly code" if letters < 0.6 * len(text) else ""


def find_secret(text: str) -> str:
    """Return which secret *text* seems to hold, also a made-up one; empty if it holds none."""
    if found := secrets.scan(text):
        return f"looks like a secret ({secrets.describe(found)})"
    return "looks like a secret (the shape of a token)" if _token().search(text) else ""


def hide_secrets(text: str) -> str:
    """Return *text* with each secret, also a made-up one, replaced by what kind it is."""
    return _token().sub("[token]", secrets.redact(text))


@cache
def _token() -> re.Pattern[str]:
    """Return what finds a text in the shape of an issuer's token: what an example in a manual may be, nobody learns."""
    begins = {hint for hint, _ in hinted() if len(hint) > 3 and hint[-1] in "_-"} | {"sk-", "hf_"}
    either = "|".join(map(re.escape, sorted(begins)))
    return re.compile(rf"(?<![A-Za-z0-9_-])(?:{either})(?:[a-z]+\d*[_-]){{0,2}}(?=[A-Za-z]*\d)[A-Za-z0-9]{{10,}}")


def is_said_to_last(text: str) -> bool:
    """Tell whether *text* is a rule or states something exact: what a conversation says in passing is not."""
    return has("must", text) or has("should", text) or (has("exact", text) and (has("use", text) or has("is", text)))


def as_memory(text: str, heading: str = "") -> Memory:
    """Return *text* as a memory with type and importance by its wording."""
    is_rule = any(has(name, text) for name in ("must", "should", "use"))
    if has("context", text) and not is_rule:
        kind = "context"
    elif has("pattern", text):
        kind = "pattern"
    else:
        kind = "preference" if is_rule else "fact"
    importance = 0.8 if has("must", text) else 0.7 if is_rule else 0.6
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
