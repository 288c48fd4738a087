"""The first memories of a project: from its files and from what it tells agents already (seed 002, `init_memory`)."""

from __future__ import annotations

from dataclasses import dataclass

from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.extract import extract
from memsync.learn.scan import MOST, init
from memsync.learn.worth import instruction_files
from memsync.memories.project import Project
from memsync.memories.results import Entry, Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What was found. `stored` is what of `proposed` was approved at once."""

    proposed: tuple[Proposal, ...] = ()
    stored: tuple[Remembered, ...] = ()
    updated: tuple[Entry, ...] = ()
    gone: tuple[Entry, ...] = ()
    edited: tuple[Entry, ...] = ()


def start(
    project: Project,
    *,
    scan: bool = True,
    instructions: bool = True,
    use_model: bool = True,
    dry_run: bool = False,
    approve: bool = False,
) -> Started:
    """Propose at most 25 first memories, and bring up to date what an earlier run stored and nobody edited.

    They wait for approval unless *approve*; a *dry_run* changes nothing at all.

    Raises:
        NoStore: there is no work tree.
        ImportFailed, SecretFound, StoreError
    """
    scanned = init(project, dry_run=dry_run) if scan else None
    proposed = list(scanned.proposed) if scanned else []
    root = project.layout.root
    if instructions and root is not None:
        for path in instruction_files(root):
            found = extract(project, path, use_model=use_model, dry_run=dry_run, most=MOST - len(proposed))
            where = path.relative_to(root).as_posix()
            proposed += [_below(one, where) for one in found.proposed]
    stored = Candidates(project).approve([one.memory.id for one in proposed]) if approve and not dry_run else []
    return Started(
        proposed=tuple(proposed),
        stored=tuple(stored),
        updated=scanned.updated if scanned else (),
        gone=scanned.gone if scanned else (),
        edited=scanned.edited if scanned else (),
    )


def _below(one: Proposal, where: str) -> Proposal:
    return Proposal(memory=one.memory, rationale=one.rationale, where=f"{where}:{one.where.rpartition(':')[2]}")
