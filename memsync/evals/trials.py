"""Making a replay ready: sessions, classes and lines out of what the user names, and one arm after the other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsync.evals import arms
from memsync.evals.replay import Class, Lines, Played, Report, Tree, list_classes, pair_calls, replay
from memsync.format import jsonl
from memsync.learn.failures import Label, read_labels
from memsync.learn.worth import instruction_files
from memsync.memories.project import Project
from memsync.records import Memory
from memsync.store import files
from memsync.transcripts.reading import Found, read_all

Track = Callable[[Iterable[Any]], Iterable[Any]]
CONTROLS = ("learned", "words", "random", "instructions", "none")


@dataclass(frozen=True, slots=True)
class Trial:
    """Sessions ready to be played, the classes of their failures, and the lines."""

    found: Found
    played: Sequence[Played]
    classes: Sequence[Class]
    memories: Sequence[Memory]
    labels: Sequence[Label]
    repository: Path | None
    tree: Tree | None

    def run(self, name: str, *, since: dt.datetime | None = None, track: Track = iter) -> Report:
        """Play all sessions to the arm *name*, and count those from *since* on."""
        failures = [one.failure for one in self.classes]
        played = track(self.played)
        if name in ("instructions", "none"):
            text = _read_instructions(self.repository) if name == "instructions" else ""
            held = [Memory(arms.Instructions.ID, text)] if text else []
            return replay(name, played, arms.Instructions(text), Lines(held, failures), since=since)
        lines = Lines(() if name == "learned" else self.memories, failures, self.labels)
        if name in ("words", "random"):
            arm = arms.WordSearch() if name == "words" else arms.Placebo()
            return replay(name, played, arm, lines, tree=self.tree, since=since)
        with arms.Hooks(self.repository) as hooks:
            learn = hooks.learn if name == "learned" else None
            return replay(name, played, hooks, lines, learn=learn, tree=self.tree, since=since)

    def as_dict(self) -> dict[str, Any]:
        """Return what was read, in figures, and the classes that came back."""
        return {
            "sessions": len(self.played),
            "others": self.found.others,
            "absent": self.found.absent,
            "odd_lines": sum(one.session.odd for one in self.played),
            "calls": sum(len(one.steps) for one in self.played),
            "failures": sum(step.error is not None for one in self.played for step in one.steps),
            "lines": len(self.memories),
            "classes": [
                {
                    "class": one.failure.name,
                    "kind": one.failure.kind,
                    "failures": one.failures,
                    "sessions": len(one.members),
                    "people": one.people,
                    "members": list(one.members),
                }
                for one in self.classes
            ],
        }


def prepare(
    project: Project,
    sessions: Iterable[Path],
    *,
    memories: Path | None = None,
    labels: Path | None = None,
    until: dt.datetime | None = None,
    track: Track = iter,
) -> Trial:
    """Read *sessions*, and the lines of *memories* or else those of the shared store of *project*."""
    found = read_all(sessions, track)
    root = project.layout.root
    tree = Tree(root) if root and project.layout.git else None
    known = read_labels(labels) if labels else []
    kept = [one for one in found.sessions if until is None or one.start is None or one.start < until]
    played = pair_calls(kept, tree, known)
    return Trial(found, played, list_classes(played), _read_lines(project, memories), known, root, tree)


def _read_lines(project: Project, path: Path | None) -> list[Memory]:
    if path is None:
        return [entry.memory for entry in project.entries() if entry.scope == "project"]
    lines = jsonl.current(jsonl.read_lines(files.read(path)[0]))
    return [line.memory for line in lines.values() if line.memory is not None]


def _read_instructions(repository: Path | None) -> str:
    """Return what the instruction files of *repository* say."""
    paths = instruction_files(repository) if repository else []
    return "\n".join(path.read_text("utf-8", "replace") for path in paths)
