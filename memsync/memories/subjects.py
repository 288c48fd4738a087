"""What the memories of a project are about: their tags, or else the folders that they are anchored to, and the names in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from memsync.memories.reach import folders_of
from memsync.poison.guard import shown_label
from memsync.records import Memory

if TYPE_CHECKING:
    from memsync.index.database import Database
    from memsync.memories.project import Project
    from memsync.memories.results import Recall

_LOOKED_AT: Final = 2_000  # memories, the latest, whose subjects are counted
_NEAR: Final = 8  # subjects and names that an answer suggests
_NAME: Final = re.compile(r"`([^`\s]{3,40})`|\b([A-Za-z]\w*(?:[_./]\w+)+|[a-z]+[A-Z]\w+|[A-Z]\w*[a-z][A-Z]\w*)")


def count_subjects(project: Project) -> tuple[int, dict[str, int]]:
    """Return how many memories there are, and how many of the latest are about each subject, the most frequent first."""
    many, latest = project.finder.file.ask(_read_latest) or _read_stores(project)
    found = Counter(one for memory in latest if memory.archived_at is None for one in _subjects_of(memory))
    return many, dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def suggest_questions(project: Project, found: Recall) -> dict[str, list[str]]:
    """Return with which `subjects` and `names` to ask again where *found* has no sure answer: those of the nearest matches first."""
    near = [hit.memory for hit in found]
    subjects = [*(one for memory in near for one in sorted(_subjects_of(memory))), *count_subjects(project)[1]]
    names = [name for memory in near for name in (*memory.anchors, *_names_in(memory.content))]
    said = {"subjects": _first(subjects), "names": _first(names)}
    return {key: some for key, some in said.items() if some}


def spell_suggestion(nearest: Mapping[str, Iterable[str]]) -> str:
    """Return *nearest*, of `suggest_questions`, as a line; "" for nothing."""
    said = [f"{key}: {', '.join(nearest[key])}" for key in ("subjects", "names") if nearest.get(key)]
    return f"no proof that nothing is known; ask once more, by {'; '.join(said)}" if said else ""


def _first(names: Iterable[str]) -> list[str]:
    return [shown_label(name) for name in list(dict.fromkeys(names))[:_NEAR]]


def _subjects_of(memory: Memory) -> set[str]:
    return {*(memory.tags or filter(None, folders_of(memory)))}


def _names_in(text: str) -> list[str]:
    return [quoted or plain for quoted, plain in _NAME.findall(text)]


def _read_latest(rows: Database) -> tuple[int, list[Memory]]:
    from memsync.format.jsonl import read_lines

    latest = rows.ask("SELECT raw FROM line ORDER BY slot DESC LIMIT ?", (_LOOKED_AT,)).fetchall()
    lines = read_lines(b"\n".join(raw.strip() for (raw,) in latest))
    return rows.count(), [line.memory for line in lines if line.memory]


def _read_stores(project: Project) -> tuple[int, list[Memory]]:
    project.stores.refresh()
    memories = [memory for store in project.stores.values() for memory in store.memories().values()]
    return len(memories), memories[-_LOOKED_AT:]
