"""The rules of rules.tsv about what people and agents write, each compiled when it is first asked for; and tables like that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple


class Rule(NamedTuple):
    """One line of the rules: what is looked for, and what the line says of it, if anything."""

    pattern: re.Pattern[str]
    text: str


def read_rows(table: str) -> list[list[str]]:
    """Return the rows of *table*, a file beside this one, cut at tabs; comments are left out."""
    lines = Path(__file__).with_name(table).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@cache
def _read_rules() -> dict[str, list[list[str]]]:
    """Return what stands behind each name, with parts in the place of their names."""
    found: dict[str, list[list[str]]] = {}
    for name, expression, *text in read_rows("rules.tsv"):
        whole = re.sub(r"\{([A-Z]+)\}", lambda part: found[part[1]][0][0], expression)
        found.setdefault(name, []).append([whole, *text])
    return found


@cache
def list_rules(name: str) -> tuple[Rule, ...]:
    """Return the rules *name*, one for each of its lines."""
    return tuple(Rule(re.compile(row[0], re.IGNORECASE), row[-1]) for row in _read_rules()[name])


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return what finds any of the rules *name*."""
    return re.compile("|".join(row[0] for row in _read_rules()[name]), re.IGNORECASE)


def has(name: str, text: str) -> bool:
    """Tell whether *text* has what one of the rules *name*, of its language where there are such, looks for."""
    if not _list_languages(name):
        return pattern(name).search(text) is not None
    names = (name if one == "en" else f"{name}.{one}" for one in find_languages(text))
    return any(pattern(one).search(text) for one in names if one in _read_rules())


@cache
def _list_languages(name: str) -> tuple[str, ...]:
    return tuple(one for one in _read_rules() if one.startswith(f"{name}."))


@lru_cache(maxsize=512)
def find_languages(text: str) -> Sequence[str]:
    """Return the languages that *text* may be in, by its letters and small words: English where nothing tells."""
    if re.search(r"[\u3040-\u30ff]", text):
        return ("ja",)
    if re.search(r"[\u4e00-\u9fff]", text):
        return ("zh",)
    words = set(re.findall(r"[^\W\d_]+(?:'t)?", text.lower()))
    found = {
        row.removeprefix("words."): len(words & set(_read_rules()[row][0][0].split()))
        for row in _list_languages("words")
    }
    most = max(found.values())
    return [one for one, number in found.items() if number == most] if most else ("en",)
