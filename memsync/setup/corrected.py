"""What follows where a correction takes the place of memories: our blocks are renewed, and corrected skills wait as candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memsync.janitor import deciding
from memsync.janitor.deciding import Decision
from memsync.janitor.queue import Action
from memsync.learn.corrections import Said, spread
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.setup.clients import refresh_blocks


def follow(project: Project, corrections: Iterable[Entry]) -> list[Said]:
    """Do what follows of *corrections*, which stand for other memories now, and return where else those are still said."""
    found = []
    for number, entry in enumerate(corrections):
        if number == 0:
            _renew(project)
        olds = [
            project.entry(scope, old)
            for id_ in entry.memory.supersedes
            for scope, store in project.stores.items()
            if (old := store.get(id_))
        ]
        found += spread(project, entry.content, olds)
    return found


def decide(project: Project, name: str, action: Action, *, was: str, text: str = "") -> Decision:
    """Decide as `deciding.decide` does, and do what follows if a correction was approved."""
    done = deciding.decide(project, name, action, was=was, text=text)
    also = follow(project, [project.get(done.corrected)] if done.corrected else [])
    said = "".join(f"; also in {one.where}" + (f", then `{one.next}`" if one.next else "") for one in also)
    return replace(done, said=done.said + said, also_in=also)


def undo(project: Project, name: str = "") -> Decision:
    """Take back the last decision as `deciding.undo` does; our blocks follow, and a corrected skill goes on waiting."""
    done = deciding.undo(project, name)
    if done.corrected:
        _renew(project)
    return done


def _renew(project: Project) -> None:
    refresh_blocks(project)
