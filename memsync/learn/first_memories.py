"""The first memories of a project: from its files and from what it tells agents already (seed 002, `init_memory`)."""

from __future__ import annotations

from dataclasses import replace

from memsync.learn.candidates import Candidates
from memsync.learn.extract import extract
from memsync.learn.scan import MOST, Scanned, init
from memsync.learn.worth import instruction_files
from memsync.memories.project import Project


def start(
    project: Project,
    *,
    scan: bool = True,
    instructions: bool = True,
    use_model: bool = True,
    dry_run: bool = False,
    approve: bool = False,
) -> Scanned:
    """Propose at most 25 first memories, and bring up to date what an earlier run stored and nobody edited.

    They wait for approval unless *approve*; a *dry_run* changes nothing at all.

    Raises:
        NoStore: there is no work tree.
        ImportFailed, SecretFound, StoreError
    """
    found = init(project, dry_run=dry_run) if scan else Scanned()
    proposed = list(found.proposed)
    root = project.layout.root
    for path in instruction_files(root) if instructions and root else ():
        of_file = extract(project, path, use_model=use_model, dry_run=dry_run, most=MOST - len(proposed)).proposed
        where = path.relative_to(root).as_posix() if root else ""
        proposed += [replace(one, where=f"{where}:{one.where.rpartition(':')[2]}") for one in of_file]
    stored = Candidates(project).approve([one.memory.id for one in proposed]) if approve and not dry_run else []
    return replace(found, proposed=tuple(proposed), stored=tuple(stored))
