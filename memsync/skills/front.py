"""The front matter of SKILL.md and of other tools' notes: found by python-frontmatter, read by our YAML and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from memsync.format.jsonl import Problem
from memsync.store import yamltext

BOM: Final = "\ufeff"
FENCE: Final = re.compile(r"^-{3,}[ \t]*\r?$", re.MULTILINE)
_ROW: Final = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")


def load_front(text: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """Return what the front matter of *text* says and what is wrong with it: python-frontmatter, with our fences and YAML.

    Its `parse`, because `loads` fails on the keys `content` and `handler`; the body that it gives has lost its indentation.
    """
    from frontmatter import parse
    from frontmatter.default_handlers import BaseHandler

    wrong: list[Problem] = []

    class Handler(BaseHandler):
        FM_BOUNDARY = FENCE

        def load(self, fm: str) -> dict[str, Any]:
            front, problems = load_yaml(fm.removeprefix("\n"))
            wrong.extend(problems)
            return dict(front)

    front, _ = parse(text.removeprefix(BOM), handler=Handler())
    return front, wrong


def load_yaml(head: str) -> tuple[Mapping[str, Any], list[Problem]]:
    """Return what *head*, the YAML between the fences, says, and what is wrong with it; then row by row, as clients do."""
    try:
        front = yamltext.read(head)
    except yamltext.NotYaml as error:
        return _loose(head), [Problem((error.line or 1) + 1, f"not YAML: {error}")]
    if front is None:
        return {}, []
    if not isinstance(front, dict):
        return {}, [Problem(2, "the front matter is not a mapping of keys to values")]
    return front, []


def _loose(head: str) -> dict[str, Any]:
    rows = (_ROW.match(line.rstrip("\r")) for line in head.split("\n"))
    return {row[1]: row[2].strip().strip("\"'") for row in rows if row and row[2].strip()}
