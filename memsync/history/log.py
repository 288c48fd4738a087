"""What changed when and by whom, over all stores in reach, the newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from memsync.errors import NoHistory
from memsync.format.codec import fields_of
from memsync.history import events
from memsync.history.events import Event, Kind
from memsync.memories.project import Project
from memsync.records import Memory, Scope, format_time

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened to one memory. `event` has both versions, where git or the work tree shows them."""

    when: datetime | None
    who: str
    kind: Kind
    scope: Scope
    memory: Memory
    event: Event | None = None

    @property
    def is_committed(self) -> bool:
        """Whether a commit has it."""
        return bool(self.event and self.event.commit)

    def as_dict(self) -> dict[str, Any]:
        """Return when, who, what and which, as JSON."""
        told = (
            self.event.as_dict()
            if self.event
            else {"id": self.memory.id, "kind": self.kind, "after": fields_of(self.memory)}
        )
        return {**told, "when": self.when and format_time(self.when), "author": self.who or None, "scope": self.scope}


def read_log(project: Project, since: datetime | None = None) -> list[Row]:
    """Return what happened *since*, the newest first: commits, what is not committed yet, and what is outside of git.

    Raises:
        StoreUnreadable, OutsideTree
    """
    found = [*_read_project(project), *_read_rest(project)]
    kept = [row for row in found if since is None or (row.when and row.when >= since)]
    return sorted(kept, key=lambda row: row.when or _NEVER, reverse=True)


def _read_project(project: Project) -> Iterator[Row]:
    try:
        happened = events.events(project)
    except NoHistory:
        if "project" in project.stores:
            yield from _read_store(project, "project")
        return
    for event in happened:
        memory = event.after or event.before
        assert memory
        if event.commit:
            yield Row(event.commit.when, event.commit.author, event.kind, "project", memory, event)
        else:
            is_gone = event.after is None  # when is written in the removal, which nobody shows
            yield Row(
                project.clock() if is_gone else memory.written_at,
                memory.author or "",
                event.kind,
                "project",
                memory,
                event,
            )


def _read_rest(project: Project) -> Iterator[Row]:
    for scope in project.stores:
        if scope != "project":
            yield from _read_store(project, scope)


def _read_store(project: Project, scope: Scope) -> Iterator[Row]:
    """Yield the last that happened to each memory of a store that git does not see."""
    store = project.store(scope)
    store.refresh()
    for memory in store.memories().values():
        kind: Kind = "added" if memory.updated_at in (None, memory.created_at) else "changed"
        yield Row(memory.written_at, memory.author or "", kind, scope, memory)
