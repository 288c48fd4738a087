"""Splitting Markdown or plain text into statements that make sense on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_BULLET: Final = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_MARKUP: Final = re.compile(r"(?<![\w/*_])(\*\*|__|[*_])(?=[^\s*_])((?:(?!\n).)*?[^\s*_])\1(?![\w*_])")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_JOINED: Final = 240  # characters of a list that is written on one line with what introduces it
_LABEL: Final = 3  # words


class Statement(NamedTuple):
    """One bullet or paragraph: its text on one line, where it begins, and the heading above it."""

    text: str
    line: int
    heading: str = ""


def statements(text: str) -> Iterator[Statement]:
    """Yield the bullets and paragraphs of a Markdown or plain text, each so that it makes sense alone.

    Code, tables, quotes, HTML and comments are left out. What introduces a list goes with it.
    """
    return _join_leads(list(_split_rows(text)))


class _Row(NamedTuple):
    """A statement as it stands; `depth` is -1 for a paragraph, else how far the bullet is indented."""

    said: Statement
    depth: int
    is_step: bool = False


def _split_rows(text: str) -> Iterator[_Row]:
    rows: list[str] = []
    heading, start, depth, is_step, in_code = "", 0, -1, False, False
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r"\A---\n.*?\n---\n", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, row in enumerate([*text.split("\n"), ""], 1):
        row = row.rstrip()  # noqa: PLW2901
        is_fence = bool(_FENCE.match(row))
        title, bullet = _HEADING.match(row), _BULLET.match(row)
        if rows and (not row.strip() or in_code or is_fence or title or bullet):
            yield _Row(Statement(_strip_markup(" ".join(rows)), start, heading), depth, is_step)
            rows = []
        in_code ^= is_fence
        if in_code or is_fence or not row.strip():
            continue
        if title:
            heading = _strip_markup(title[1])
        elif bullet:
            rows, start, depth = [bullet[2]], number, len(bullet[1].expandtabs(4))
            is_step = row.lstrip()[0].isdigit()
        elif rows or not row.lstrip().startswith(("|", ">", "<", "=", "---", "@")):
            start, depth, is_step = (start, depth, is_step) if rows else (number, -1, False)
            rows = [*rows, row.strip()]


def _join_leads(rows: Sequence[_Row]) -> Iterator[Statement]:
    """Put what introduces a list before it: all on one line where that is short, else before each of its points.

    A step makes no sense without the others: its heading goes with it.
    """
    leads: list[_Row] = []
    number = 0
    while number < len(rows):
        row = rows[number]
        while leads and not _is_below(row, leads[-1]):
            leads.pop()
        below = _find_points(rows, number)
        lead = leads[-1].said.text if leads else row.said.heading if row.is_step and not below else ""
        text = f"{lead.rstrip(':')}: {row.said.text}" if lead else row.said.text
        joined = f"{text.rstrip(':')}: {'; '.join(one.said.text.rstrip('.') for one in below)}"
        if not below:
            yield row.said._replace(text=text)
        elif len(joined) <= _JOINED and not any(one.said.text.endswith(":") for one in below):
            yield row.said._replace(text=joined)
            number += len(below)
        else:
            before, _, last = row.said.text.rpartition(". ")
            if before:
                yield row.said._replace(text=f"{before}.")
            leads.append(row._replace(said=row.said._replace(text=last)))
        number += 1


def _is_below(row: _Row, lead: _Row) -> bool:
    return row.depth > lead.depth and row.said.heading == lead.said.heading


def _find_points(rows: Sequence[_Row], number: int) -> list[_Row]:
    """Return the list that the row introduces: it ends with a colon, or is a label over points of its own."""
    lead = rows[number]
    is_label = lead.depth >= 0 and len(lead.said.text.split()) <= _LABEL and not lead.said.text.endswith(".")
    if not (is_label or lead.said.text.endswith(":")):
        return []
    return list(takewhile(lambda row: _is_below(row, lead), islice(rows, number + 1, None)))


def _strip_markup(text: str) -> str:
    """Return *text* without markup; what stands in backticks keeps every character."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"(\*\*|__)(`[^`]*`)\1", r"\2", _LINK.sub(r"\1", text)))
    return " ".join("".join(part if part.startswith("`") else _MARKUP.sub(r"\2", part) for part in parts).split())
