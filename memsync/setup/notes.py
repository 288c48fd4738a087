"""What the clients noted for themselves, as candidates: never more than that, and only where the user asked for it.

Claude Code keeps notes of its own about a project in the home, and its `# ` writes a line into CLAUDE.md. Codex keeps a
MEMORY.md. Of a file in the work tree only lines count that are not committed: what is, came from anybody, and is read by its client anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from memsync.clients import known
from memsync.errors import MemsyncError
from memsync.learn.candidates import Candidates, Proposal
from memsync.memories.project import Project
from memsync.setup.block import BEGIN, END
from memsync.setup.settings_files import home_of
from memsync.store import checkout, files
from memsync.transfer import sources

_MOST: Final = 20  # candidates of one look: more would bury the rest


class Taken(NamedTuple):
    """The new candidates, and what could not be read."""

    proposed: tuple[Proposal, ...] = ()
    problems: tuple[str, ...] = ()


def take_in(project: Project) -> Taken:
    """Propose what the clients of `memory.bridges` noted since the last time, unless it is stored, waits or was rejected.

    Raises:
        StoreError
    """
    proposals: list[Proposal] = []
    problems: list[str] = []
    for path, tree in _list_files(project):
        try:
            proposals += _read(path, tree)
        except (MemsyncError, OSError) as error:
            problems.append(str(error))
    project.stores.refresh()
    return Taken(tuple(Candidates(project).propose(proposals, most=_MOST)), tuple(problems))


def _list_files(project: Project) -> Iterator[tuple[Path, Path | None]]:
    """Yield the files to look at, each with the work tree that it is in, if it is in one."""
    root, wanted = project.layout.root, re.split(r"[,\s]+", project.settings.bridges)
    if root is None:
        return
    if "claude" in wanted:
        folder = _home(project, "claude") / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)) / "memory"
        yield from ((path, None) for path in sorted(folder.glob("*.md")))
        yield from ((root / name, root) for name in ("CLAUDE.md", "CLAUDE.local.md"))
    if "codex" in wanted:
        yield _home(project, "codex") / "memories" / "MEMORY.md", None


def _home(project: Project, name: str) -> Path:
    return home_of(known.find(name), project.env) or Path(os.devnull)


def _read(path: Path, tree: Path | None) -> Iterator[Proposal]:
    if tree is None and not path.is_file():
        return
    data, seen = files.read(files.resolve_inside(path, tree))
    if seen == files.ABSENT:
        return
    text = _drop_known(data.decode("utf-8", "replace"), checkout.read_committed(path) if tree else None)
    kind: sources.Source = "claude-md" if tree else "claude-memory"
    for one in sources.read_bytes(text.encode(), str(path), kind):
        if one.memory:
            yield Proposal(memory=one.memory, rationale="noted by the client itself", where=one.where)


def _drop_known(text: str, committed: bytes | None) -> str:
    """Return *text* with the lines blank that are *committed*, and those of our own block: line numbers stay."""
    known = set((committed or b"").decode("utf-8", "replace").splitlines())
    rows, is_ours = [], False
    for row in text.splitlines():
        is_ours = is_ours or row.startswith(BEGIN)
        rows.append("" if is_ours or row in known else row)
        is_ours = is_ours and not row.startswith(END)
    return "\n".join(rows) + "\n"
