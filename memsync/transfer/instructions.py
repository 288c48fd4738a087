"""Instruction files of a repository, also those of its folders: each statement is for the folder that its file is in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.format.scopes import is_marked
from memsync.memories.imports import Candidate
from memsync.transfer.candidates import add_subject, read_statements

if TYPE_CHECKING:
    from memsync.learn.statements import Statement

_NAMES: Final = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md"})
_NOT_OURS: Final = frozenset({"node_modules", "vendor", "third_party", "site-packages", "dist", "build", "target"})
_PIECE: Final = 400  # characters of a part of a long statement
_SENTENCE: Final = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<=[.!?;])\s+(?=[A-Z`])")
_WORD: Final = re.compile(r"[^\W_]{3,}")
_SUBJECT: Final = 6  # words of a heading that may be one
# Headings that say of what kind the statements are, not what they are about.
_KINDS: Final = frozenset(
    """and conventions convention guidelines guideline rules rule notes note important overview general introduction summary
    instructions tips usage related behavior behaviors structure purpose scope contracts invariants pitfalls best practices practice always never the other misc miscellaneous details key points about for
    agents claude gemini readme memory memories facts preferences patterns context contexts project this repository code""".split()
)


def list_nested(root: Path) -> Iterator[Path]:
    """Yield the instruction files in the folders below *root*, but not in what others wrote or in another repository."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name
            for name in names
            if not (name.startswith(".") or name in _NOT_OURS or os.path.lexists(os.path.join(folder, name, ".git")))
        )
        if Path(folder) != root:
            yield from (Path(folder, name) for name in sorted(_NAMES.intersection(files)))


def read_instructions(text: str, name: str, folder: str = "") -> Iterator[Candidate]:
    """Yield each statement of *text*, anchored to *folder*: of a long one its sentences, with the heading where that is what they are about."""
    return read_statements(text, name, [f"{folder}/"] if folder else (), shape=_shape)


def _shape(one: Statement) -> Iterator[Statement]:
    if is_marked(one.text):
        yield one
        return
    for piece in _split(one.text):
        yield one._replace(text=add_subject(one.heading, piece) if _is_subject(one.heading, piece) else piece)


def _split(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _SENTENCE.split(text):
        if piece and len(piece) + len(sentence) >= _PIECE:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    yield piece


def _is_subject(heading: str, text: str) -> bool:
    """Tell whether *heading* names something that *text* leaves out."""
    words = {word.lower() for word in _WORD.findall(heading)} - _KINDS
    said = {word.lower() for word in _WORD.findall(text)}
    return bool(words) and len(heading.split()) <= _SUBJECT and words.isdisjoint(said)
