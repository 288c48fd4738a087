"""The memories that a newcomer to a project would want, from its own files; and keeping them true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memsync.errors import NoStore
from memsync.learn import facts
from memsync.learn.candidates import Candidates, Proposal
from memsync.learn.extract import extract
from memsync.learn.facts import Fact
from memsync.learn.worth import INSTRUCTIONS, instruction_files
from memsync.memories.edits import edit, get_live
from memsync.memories.project import Project
from memsync.memories.results import Entry, Remembered
from memsync.records import Memory, content_hash
from memsync.store.tree import Tree

MOST: Final = 25
_GUIDES: Final = (
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/contributing.md",
    "docs/CONTRIBUTING.md",
    "CONTRIBUTING.rst",
)
_MOST_OF_GUIDE: Final = 8
# What a scanned record says of itself: which fact it is, and its text as the scan wrote it.
SCANNED: Final = "scanned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a scan found: `proposed` waits for approval unless it is `stored`, `updated` was stored and has changed.

    Of what an earlier scan stored, `gone` is no longer true, and `edited` belongs to whoever edited it.
    """

    proposed: tuple[Proposal, ...] = ()
    stored: tuple[Remembered, ...] = ()
    updated: tuple[Entry, ...] = ()
    gone: tuple[Entry, ...] = ()
    edited: tuple[Entry, ...] = ()


def scan(root: Path) -> list[Fact]:
    """Return at most 25 facts about the project in *root*, the most important first. Reads files and writes none."""
    tree = Tree(root)
    found: dict[str, Fact] = {}
    for reader in facts.READERS:
        for fact in reader(tree):
            found.setdefault(fact.key, fact)
    return sorted(found.values(), key=lambda fact: -fact.importance)[:MOST]


def init(project: Project, *, dry_run: bool = False) -> Scanned:
    """Scan the project, propose what is new, and bring up to date what an earlier scan stored and nobody edited.

    Raises:
        NoStore: there is no work tree to scan.
        StoreError
    """
    root = project.layout.root
    if root is None:
        raise NoStore("a bare repository has no files to scan; run this in a checkout")
    found = scan(root)
    known = {key: entry for entry in project.memories() if (key := scanned_key(entry.memory))}
    ours = {key: entry for key, entry in known.items() if is_untouched(entry.memory)}
    changed = [
        (ours[f.key], f)
        for f in found
        if f.key in ours and content_hash(ours[f.key].content) != content_hash(f.content)
    ]
    new = [_make_proposal(fact) for fact in found if fact.key not in known]
    keys = {fact.key for fact in found}
    return Scanned(
        updated=tuple(entry if dry_run else _bring_up_to_date(project, entry, fact) for entry, fact in changed),
        proposed=tuple(new if dry_run else Candidates(project).propose(new)),
        gone=tuple(entry for key, entry in ours.items() if key not in keys),
        edited=tuple(entry for key, entry in known.items() if key not in ours),
    )


def _bring_up_to_date(project: Project, entry: Entry, fact: Fact) -> Entry:
    store = project.store_to_write(entry.scope)
    with store.writing():
        old = get_live(store, entry.id)
        if is_untouched(old) and not store.by_hash(content_hash(fact.content)):
            project.vetting.vet(old._replace(content=fact.content), entry.scope)
            old = edit(project, store, old, {"content": fact.content, SCANNED: _make_mark(fact)})
    return project.entry(entry.scope, old)


def _make_proposal(fact: Fact) -> Proposal:
    memory = Memory(
        id="",
        content=fact.content,
        memory_type=fact.memory_type,
        importance=fact.importance,
        tags=fact.tags,
        anchors=fact.anchors,
        source_type="inferred",
        extra={SCANNED: _make_mark(fact)},
    )
    return Proposal(memory=memory, rationale="read from the project's files", where=fact.where)


def _make_mark(fact: Fact) -> str:
    return f"{fact.key} {content_hash(fact.content)[:12]}"


def scanned_key(memory: Memory) -> str:
    """Return which fact *memory* was scanned from; empty if it was not."""
    return str(memory.extra.get(SCANNED, "")).partition(" ")[0]


def is_untouched(memory: Memory) -> bool:
    """Tell whether a scanned memory still has the text that the scan wrote."""
    return str(memory.extra.get(SCANNED, "")).partition(" ")[2] == content_hash(memory.content)[:12]


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
    for path in [*instruction_files(root), *_find_guides(root)] if instructions and root else ():
        most = min(MOST - len(proposed), MOST if path.name in INSTRUCTIONS else _MOST_OF_GUIDE)
        of_file = extract(project, path, use_model=use_model, dry_run=dry_run, most=most).proposed
        where = path.relative_to(root).as_posix() if root else ""
        proposed += [replace(one, where=f"{where}:{one.where.rpartition(':')[2]}") for one in of_file]
    stored = Candidates(project).approve([one.memory.id for one in proposed]) if approve and not dry_run else []
    return replace(found, proposed=tuple(proposed), stored=tuple(stored))


def _find_guides(root: Path) -> list[Path]:
    """Return what tells people how to contribute: a file that is text inside of *root*."""
    found = (root / name for name in _GUIDES)
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(root.resolve())][:1]
