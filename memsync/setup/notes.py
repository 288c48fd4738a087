"""What the clients noted for themselves, as candidates: never more than that, and only where the user asked for it.

Claude Code, and Qwen Code like it, keeps notes of its own about a project in the home, and its `# ` writes a line into CLAUDE.md. Codex keeps a
MEMORY.md. So does Gemini CLI for each project, and patches to it that wait in an inbox (0.61). Of a file in the work tree only lines count that are not committed: what is, came from anybody, and is read by its client anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from memsync.clients import facts
from memsync.errors import MemsyncError
from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.known import Known
from memsync.memories.project import Project
from memsync.records import Memory
from memsync.setup.block import BEGIN, END
from memsync.setup.clients import home_of
from memsync.store import checkout, files
from memsync.system.limits import read_json
from memsync.system.texts import count
from memsync.transfer import sources
from memsync.transfer.readers import ORIGIN

BRIDGED: Final = ("claude", "codex", "gemini", "qwen")
_ABOUT: Final = re.compile(r"^(?:scope|applies_to): .*$", re.MULTILINE)  # Codex: where a group of notes holds
_MOST: Final = 20  # candidates of one look: more would bury the rest


class Taken(NamedTuple):
    """The new candidates, and what could not be read."""

    proposed: tuple[Proposal, ...] = ()
    problems: tuple[str, ...] = ()


class _Notes(NamedTuple):
    """A file with notes: the work tree that it is in, if it is in one, its form, whose it is, and what marks a row that only points to a file."""

    path: Path
    tree: Path | None = None
    kind: sources.Source = "claude-memory"
    client: str = "claude"
    pointer: str = ""


def take_in(project: Project) -> Taken:
    """Propose what the clients of `memory.bridges` noted since the last time, unless it is stored, waits or was rejected."""
    proposals: list[Proposal] = []
    problems: list[str] = []
    for notes in _list_notes(project, re.split(r"[,\s]+", project.settings.bridges)):
        try:
            proposals += _read(notes)
        except (MemsyncError, OSError) as error:
            problems.append(str(error))
    project.stores.refresh()
    return Taken(tuple(Candidates(project).propose(proposals, most=_MOST)), tuple(problems))


def describe_unknown(project: Project) -> Iterator[tuple[str, str]]:
    """Yield each client that keeps notes of its own on this project which no memory says, and what to do about that."""
    bridged, known_already = re.split(r"[,\s]+", project.settings.bridges), Known(project, in_files=False)
    for name in BRIDGED:
        proposals: list[Proposal] = []
        for notes in _list_notes(project, [name]):
            with suppress(MemsyncError, OSError):
                proposals += _read(notes) if notes.tree is None else ()
        if new := [one for one in proposals if not known_already.who_says(one.memory)]:
            on = f'`memsync config --global memory.bridges "{" ".join(filter(None, [*bridged, name]))}"` has `memsync sync` propose them'
            what = "`memsync sync` proposes them" if name in bridged else on
            yield (
                facts.find(name).title,
                f"keeps {count(len(proposals), 'note')} of its own on this project, {len(new)} of them in no memory; {what}",
            )


def _list_notes(project: Project, wanted: Collection[str]) -> Iterator[_Notes]:
    root = project.layout.root
    if root is None:
        return
    for name in ("claude", "qwen"):
        if name in wanted:
            folder = _home(project, name) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)) / "memory"
            paths = sorted((*folder.glob("*.md"), *folder.glob("pinned/*.md")))
            yield from (_Notes(path, client=name) for path in paths)
    if "claude" in wanted:
        yield from (_Notes(root / name, root, "claude-md") for name in ("CLAUDE.md", "CLAUDE.local.md"))
    if "codex" in wanted:
        yield _Notes(_home(project, "codex") / "memories" / "MEMORY.md", client="codex")
    if "gemini" in wanted and (kept := _find_gemini_folder(project, root)):
        paths = sorted((*kept.glob("*.md"), *kept.glob(".inbox/private/*.patch")))
        yield from (_Notes(path, kind="claude-md", client="gemini", pointer=str(kept)) for path in paths)


def _find_gemini_folder(project: Project, root: Path) -> Path | None:
    """Return where Gemini CLI keeps what it notes on the project at *root*, by its list of the projects that it knows."""
    home = _home(project, "gemini")
    with suppress(OSError, ValueError, AttributeError, MemsyncError):
        names = read_json(files.read(home / "projects.json")[0] or b"{}").get("projects", {})
        if isinstance(name := names.get(str(root)), str) and re.fullmatch(r"[\w.-]*\w", name):
            return home / "tmp" / name / "memory"
    return None


def _home(project: Project, name: str) -> Path:
    return home_of(facts.find(name), project.env) or Path(os.devnull)


def _read(notes: _Notes) -> Iterator[Proposal]:
    path, tree = notes.path, notes.tree
    if tree is None and not path.is_file():
        return
    data, seen = files.read(files.resolve_inside(path, tree))
    if seen == files.ABSENT:
        return
    text = data.decode("utf-8", "replace")
    if path.suffix == ".patch":
        text = _keep_added(text)
    if notes.pointer:
        text = "\n".join("" if notes.pointer in row else row for row in text.splitlines())
    text = _drop_known(
        _ABOUT.sub("", text) if notes.client == "codex" else text, checkout.read_committed(path) if tree else None
    )
    for one in sources.read_bytes(text.encode(), str(path), notes.kind):
        if one.memory:
            yield Proposal(
                memory=_name_client(one.memory, notes), rationale="noted by the client itself", where=one.where
            )


def _name_client(memory: Memory, notes: _Notes) -> Memory:
    """Return *memory* with the client that noted it, where the form of the file is another's."""
    where = str(memory.extra.get(ORIGIN)).partition(": ")[2]
    named = {ORIGIN: f"{notes.client}: {where}"} if notes.client != "claude" else {}
    return memory._replace(extra={**memory.extra, **named})


def _keep_added(patch: str) -> str:
    """Return the rows that a unified *patch* adds, each in its line, the others blank."""
    return "\n".join(
        row[1:] if row.startswith("+") and not row.startswith("+++ ") else "" for row in patch.splitlines()
    )


def _drop_known(text: str, committed: bytes | None) -> str:
    """Return *text* with the lines blank that are *committed*, and those of our own block: line numbers stay."""
    known = set((committed or b"").decode("utf-8", "replace").splitlines())
    rows, is_ours = [], False
    for row in text.splitlines():
        is_ours = is_ours or row.startswith(BEGIN)
        rows.append("" if is_ours or row in known else row)
        is_ours = is_ours and not row.startswith(END)
    return "\n".join(rows) + "\n"
