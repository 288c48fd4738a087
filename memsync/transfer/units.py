"""The statements of a Markdown file where they stand: bullets and paragraphs with their places, so that one can be changed and no other byte. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from memsync.transfer.readers import skip_fences

_FRONT: Final = re.compile(r"\A---\r?\n.*?\n---\r?\n", re.DOTALL)
_BULLET: Final = re.compile(r"(?P<mark>[ \t]*(?:[-*+]|\d+[.)])[ \t]+)(?P<text>\S.*)")
_NO_TEXT: Final = re.compile(
    r"\s*(?:#|\||>|<|!\[|\[[^\]]*\]:|[-*_=]{3,}\s*$)|\s*(?:[-*+]\s+)?\[[ xX]\]\s|.*\]\([^)]*\.md\)"
)
_OBSERVATION: Final = re.compile(r"(\[[^\[\]()]{2,60}\]\s+)(\S.*)")


class Unit(NamedTuple):
    """A statement: the characters of its file from `start` to `end`, what stands before its text, and the text on one line."""

    start: int
    end: int
    mark: str
    text: str

    def spell(self, text: str) -> str:
        """Return *text* as this statement would say it; a bullet stays one."""
        indent = " " * len(self.mark) if self.mark.strip() else ""
        return self.mark + re.sub(r"\n+", f"\n{indent}", text.strip())


def split(text: str, *, observations: bool = False) -> Iterator[Unit]:
    """Yield the statements of *text*, a file, in order; with *observations* only bullets that name their category, as Basic Memory's.

    Not front matter, headings, tables, code, quotations, tasks, lists of other files, and what only introduces the next lines.
    """
    at = int(text.startswith("\ufeff"))  # a mark of the file, and of no statement
    text = text[at:]
    front = _FRONT.match(text)
    first = text.count("\n", 0, front.end()) if front else 0
    rows = text.split("\n")
    shown = {number for number, _ in skip_fences(rows) if number > first}
    block: list[tuple[int, str]] = []
    for number, row in enumerate(rows, 1):
        is_text = number in shown and bool(row.strip()) and not _NO_TEXT.match(row)
        begins = not block or (bool(_BULLET.match(row)) and not row.startswith((" ", "\t")))
        if block and (not is_text or begins):
            yield from _make_unit(block, observations)
            block = []
        if is_text:
            block.append((at, row))
        at += len(row) + 1
    if block:
        yield from _make_unit(block, observations)


def _make_unit(block: list[tuple[int, str]], observations: bool) -> Iterator[Unit]:
    (start, row), (last, end) = block[0], block[-1]
    bullet = _BULLET.match(row)
    mark, said = (bullet["mark"], bullet["text"]) if bullet else ("", row)
    if observations:
        found = _OBSERVATION.match(said) if bullet else None
        if found is None:
            return
        mark, said = mark + found[1], found[2]
    text = " ".join(" ".join([said, *(one for _, one in block[1:])]).split())
    if not text.rstrip("*_ ").endswith(":"):
        yield Unit(start, last + len(end.rstrip("\r")), mark, text)
