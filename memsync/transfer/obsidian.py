"""A vault of Obsidian: the statements of its notes, without links, embeds, comments and tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memsync.errors import InvalidMemory
from memsync.memories.imports import Candidate
from memsync.records import clean_tags
from memsync.skills.front import load_front
from memsync.transfer.candidates import TAG, add_subject, read_statements

_TASK: Final = re.compile(r"^\s*[-*+]\s+\[.\]\s.*$|.*<%.*%>.*", re.MULTILINE)
_EMBED: Final = re.compile(r"!\[\[[^\]\n]*\]\]")
_LINK: Final = re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]|#\n]+)(?:#[^\]|\n]*)?\]\]")
_BLOCK_ID: Final = re.compile(r"[ \t]\^[\w-]+[ \t]*$", re.MULTILINE)
_COMMENT: Final = re.compile(r"%%.*?%%", re.DOTALL)
_HIGHLIGHT: Final = re.compile(r"==(?=\S)(.+?)(?<=\S)==")
# A name that says nothing of what the note is about: a date, or none.
_NAMELESS: Final = re.compile(
    r"(?:\d{4}-?\d{2}(?:-?\d{2})?|\d{4}-w\d{2}|untitled|index|readme|notes?)(?: \d+)?", re.IGNORECASE
)


def is_vault(path: Path) -> bool:
    """Tell whether *path* is in a vault, or is one."""
    return any((folder / ".obsidian").is_dir() for folder in (path, *path.resolve().parents))


def read_note(text: str, name: str) -> Iterator[Candidate]:
    """Yield the statements of a note that last, each with the note's title and its tags."""
    about, title = load_front(text)[0], Path(name).stem
    shared = [*_list_words(about.get("tags")), *_list_words(about.get("tag"))]
    for one in read_statements(_drop_markup(text), name):
        if one.memory is None:
            yield one
            continue
        said = " ".join(TAG.sub("", one.memory.content).split())
        content = said if _NAMELESS.fullmatch(title) else add_subject(title, said)
        yield Candidate(
            one.where, one.memory._replace(content=content, tags=_clean([*TAG.findall(one.memory.content), *shared]))
        )


def _drop_markup(text: str) -> str:
    """Return *text* with every line where it was, and without what only Obsidian shows."""
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for pattern, instead in ((_TASK, ""), (_EMBED, ""), (_LINK, r"\1"), (_BLOCK_ID, ""), (_HIGHLIGHT, r"\1")):
        text = pattern.sub(instead, text)
    return text


def _list_words(value: Any) -> list[str]:
    words = value if isinstance(value, list) else re.split(r"[,\s]+", value) if isinstance(value, str) else []
    return [str(word).strip().removeprefix("#") for word in words]


def _clean(words: list[str]) -> tuple[str, ...]:
    try:
        return clean_tags([word.lower() for word in words])
    except InvalidMemory:
        return ()
