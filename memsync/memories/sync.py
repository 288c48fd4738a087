"""`memsync sync`: take in what changed, write what is ours, and hand it to git as far as asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memsync.errors import NoStore
from memsync.memories.project import Project
from memsync.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did. `held` says why something that was asked for was not done."""

    path: Path
    memories: int = 0
    problems: int = 0
    resolved: bool = False
    exported: bool = False
    staged: bool = False
    commit: str = ""
    message: str = ""
    pushed: str = ""
    held: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {
            "path": str(self.path),
            "memories": self.memories,
            "problems": self.problems,
            "resolved": self.resolved,
            "exported": self.exported,
            "staged": self.staged,
            "commit": self.commit or None,
            "message": self.message or None,
            "pushed": self.pushed or None,
            "held": self.held or None,
        }


def sync(
    project: Project, *, take_in: bool = True, export: bool = True, commit: bool = False, push: bool = False
) -> Synced:
    """Take in what others wrote, resolve what git left in conflict, export and stage; then commit and push, if asked.

    Raises:
        NoStore: there is nothing that git could have.
        GitRefused: git did not commit or push; what was exported stays exported.
        StoreError
    """
    store = project.store(project.default_scope)
    is_git = project.layout.git is not None and store.place.scope == "project"
    if (commit or push) and not is_git:
        why = "stealth is on" if project.settings.stealth else "this is no git checkout"
        raise NoStore(f"{why}, so there is nothing to commit; `memsync sync` without --commit and --push works")
    project.refresh()
    done = Synced(path=store.place.memories)
    if export or commit or push:
        done = _export(store, done)
    if is_git and not done.held and (export or commit or push):
        done = _hand_over(project, store, done, commit=commit or push, push=push)
    if take_in:
        project.refresh()
        len(project.finder.index)  # so that the next question finds it warm
    return replace(done, memories=len(store.memories()), problems=len(store.problems()))


def _export(store: Store, done: Synced) -> Synced:
    from memsync.git.conflict import resolve

    was_in_conflict = any(problem.is_conflict for problem in store.problems())
    exported = resolve(store) if was_in_conflict else store.export()
    return replace(
        done,
        resolved=was_in_conflict and not exported.held,
        exported=exported.changed,
        held=exported.held or "",
    )


def _hand_over(project: Project, store: Store, done: Synced, *, commit: bool, push: bool) -> Synced:
    from memsync.git import commit as committing
    from memsync.git.stage import stage_checked
    from memsync.store.checkout import Checkout

    assert project.layout.git is not None
    if commit:
        made = committing.commit(project.layout, store, project.allowed_secrets)
        done = replace(done, commit=made.commit, message=made.said, held=made.held)
    else:
        left = stage_checked(Checkout(project.layout.git.root), store, project.allowed_secrets)
        done = replace(done, staged=not left.why, held=left.why)
    if push and not done.held:
        from memsync.git.push import push as share

        done = replace(done, pushed=share(project.layout, store))
    return done
