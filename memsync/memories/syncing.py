"""`memsync sync`, and the export after each write: they put the store's file in order and bring it to git."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from memsync.errors import GitRefused, NoStore, Remedy, StoreError
from memsync.memories.edits import follow_moves
from memsync.store.store import Store
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.memories.project import Project

log = Log(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did. `held` says why something that was asked for was not done."""

    path: Path
    memories: int = 0
    problems: int = 0
    resolved: bool = False
    exported: bool = False
    staged: bool = False
    commit: str | None = None
    message: str | None = None
    pushed: str | None = None
    held: str | None = None


def sync(
    project: Project, *, take_in: bool = True, export: bool = True, commit: bool = False, push: bool = False
) -> Synced:
    """Read what others wrote, resolve what git left in conflict, export and stage; then commit and push, if asked.

    Raises:
        NoStore: there is nothing that git could have.
        GitRefused: git did not commit or push; what was exported stays exported.
        StoreError
    """
    store = project.store(project.default_scope)
    is_git = project.layout.git is not None and store.place.scope == "project"
    if (commit or push) and not is_git:
        why = "stealth is on" if project.settings.stealth else "this is not a git checkout"
        raise NoStore(f"{why}, so there is nothing to commit; ", Remedy("sync"), " without --commit and --push works")
    project.stores.refresh()
    done = Synced(path=store.place.memories)
    if export or commit or push:
        follow_moves(project, store)
        done = _export(store, done)
    if is_git and not done.held and (export or commit or push):
        done = _give_to_git(project, store, done, commit=commit or push, push=push)
    if take_in:
        project.stores.refresh()
        len(project.finder.index)  # so that the next question finds it warm
    return replace(done, memories=len(store.memories()), problems=len(store.problems()))


def export_written(project: Project, stores: Iterable[Store]) -> None:
    """Export *stores*, and commit that in mode auto-commit. What they hold is durable, so a failure is only logged."""
    for store in stores:
        try:
            store.export()
            _commit_exported(project, store)
        except StoreError as error:
            log.warning("everything is stored, but the file was not put in order: %s", error)


def _commit_exported(project: Project, store: Store) -> None:
    if store.place.scope != "project" or project.layout.git is None or project.settings.mode != "auto-commit":
        return
    from memsync.git.commit import commit

    try:
        if held := commit(project.layout, store, project.vetting.allowed).held:
            log.warning("everything is stored, but not committed: %s", held)
    except GitRefused as error:
        log.warning("everything is stored, but not committed: %s", error)


def _export(store: Store, done: Synced) -> Synced:
    from memsync.git.conflict import resolve
    from memsync.store.checkout import is_unmerged

    # Of what a filter makes git leaves no markers, and of `git stash pop` no word that anything is under way.
    was_in_conflict = any(problem.is_conflict for problem in store.problems()) or is_unmerged(store.path)
    exported = resolve(store) if was_in_conflict else store.export()
    return replace(done, resolved=was_in_conflict and not exported.held, exported=exported.changed, held=exported.held)


def _give_to_git(project: Project, store: Store, done: Synced, *, commit: bool, push: bool) -> Synced:
    from memsync.git import commit as committing
    from memsync.git.stage import stage_checked
    from memsync.store.checkout import Checkout

    assert project.layout.git is not None
    if commit:
        made = committing.commit(project.layout, store, project.vetting.allowed)
        done = replace(done, commit=made.commit or None, message=made.said or None, held=made.held or None)
    else:
        left = stage_checked(Checkout(project.layout.git.root), store, project.vetting.allowed)
        done = replace(done, staged=not left.why, held=left.why or None)
    if push and not done.held:
        from memsync.git.commit import push as share

        done = replace(done, pushed=share(project.layout, store) or None)
    return done
