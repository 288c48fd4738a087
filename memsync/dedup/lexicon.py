"""The word lists of the guards, as words.txt has them: what carries no content, and what turns a sentence round."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final


def _read() -> dict[str, list[str]]:
    """Return the lines of each section of the file."""
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            sections[section := line[1:-1]] = []
        elif line and not line.startswith("#"):
            sections[section].append(line)
    return sections


_SECTIONS: Final = _read()


def _list(section: str) -> list[str]:
    return " ".join(_SECTIONS[section]).split()


def _group(section: str) -> dict[str, str]:
    """Return the name that each word has by a section of `name: words`."""
    groups = (group.split(": ") for line in _SECTIONS[section] for group in line.split("; "))
    return {word: name for name, words in groups for word in words.split()}


def _pair(section: str) -> dict[str, frozenset[str]]:
    """Return the partners of each word in a section of pairs."""
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in "|".join(_SECTIONS[section]).split("|"):
        one, other = pair.split()
        partners[one].add(other)
        partners[other].add(one)
    return {word: frozenset(others) for word, others in partners.items()}


ARTICLES: Final = frozenset(_list("articles"))
LIGHT: Final = ARTICLES.union(_list("light"))
DIRECTIONS: Final = frozenset(_list("directions"))
NEGATIONS: Final = frozenset(_list("negations"))
QUANTIFIERS: Final = frozenset(_list("quantifiers"))
SAME_QUANTIFIERS: Final = _group("same quantifiers")
MODALS: Final = _group("modals")
TEMPORAL: Final = frozenset(_list("temporal"))
SERIES: Final = frozenset(_list("series"))
NUMBERS: Final = _group("numbers")
UNITS: Final = _group("units")
SIGNS: Final = frozenset(_list("signs"))
IRREGULAR: Final = _group("irregular verbs")
OPPOSITES: Final = _pair("opposites")
NEGATING_LETTERS: Final = frozenset(_list("negating letters"))
PARTICLES: Final = frozenset(_list("particles"))
NEGATING_ENDINGS: Final = tuple(_list("negating endings"))
CASE_PARTICLES: Final = tuple(_list("case particles"))
LATIN_CHANGES: Final = rf"\b(?:{'|'.join(_SECTIONS['changes'])})\b"
CHANGES: Final = rf"{LATIN_CHANGES}|{'|'.join(_SECTIONS['changes in scripts without spaces'])}"
