"""Who already says what was learned: a memory, an instruction file, or what somebody has rejected before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from memsync.errors import MemsyncError
from memsync.index.dedup import decide
from memsync.learn.candidates import Candidates, is_same_lesson
from memsync.learn.statements import statements
from memsync.learn.worth import instruction_files
from memsync.memories.project import Project
from memsync.records import Memory, shown_id
from memsync.system.texts import read_utf8

_SAID: Final = ("duplicate", "contained")
_LOOKED_AT: Final = 8  # stored memories beside one that was learned


class _Line(NamedTuple):
    where: str
    text: str


class Known:
    """What a project knows already, as it is now: its memories, its instruction files if *in_files*, and what was rejected."""

    def __init__(self, project: Project, *, in_files: bool = True) -> None:
        self._project = project
        self._in_files = in_files

    def who_says(self, memory: Memory) -> str:
        """Return who says *memory* already, as a reason not to propose it; "" if nobody does."""
        text = memory.content
        for hit in self._project.search(text[:1000], limit=_LOOKED_AT):
            stored = hit.memory
            is_due = bool(set(memory.triggers) & set(stored.triggers))
            if stored.id not in memory.supersedes and (is_due or decide(text, stored.content, 0.0).relation in _SAID):
                return f"{shown_id(stored.id)} says it already"
        for line in self._lines:
            if decide(text, line.text, 0.0).relation in _SAID:
                return f"{line.where} says it already"
        return "it was rejected before" if any(is_same_lesson(memory, one) for one in self._rejected) else ""

    @cached_property
    def _rejected(self) -> list[Memory]:
        return Candidates(self._project).rejected()

    @cached_property
    def _lines(self) -> list[_Line]:
        return list(self._read_lines()) if self._in_files else []

    def _read_lines(self) -> Iterator[_Line]:
        root = self._project.layout.root
        for path in instruction_files(root) if root else ():
            name = path.relative_to(root).as_posix() if root else path.name
            try:
                text = read_utf8(path.read_bytes(), name, MemsyncError)
            except (OSError, MemsyncError):
                continue
            yield from (_Line(f"{name}:{one.line}", one.text) for one in statements(text.replace("\r\n", "\n")))
