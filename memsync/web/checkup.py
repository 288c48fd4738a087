"""What is asked of all memories, beside the desk: where there is much to read a process of its own looks, so that no page waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.memories.listing import StoreStatus, glance_at
from memsync.memories.project import Project
from memsync.setup import doctor
from memsync.setup.doctor import Finding
from memsync.store.reading import Stamps
from memsync.system.beside import Beside, is_much

_FRESH: Final = 5.0  # seconds for which what was found is shown to whoever asks
_SLICE: Final = 0.25  # seconds of screening for one look; the next one goes on from there


class Look(NamedTuple):
    """What was found, None as long as somebody looks; and for how many seconds that has been so."""

    findings: Sequence[Finding] | None
    seconds: float = 0.0


class Count(NamedTuple):
    """Each store at a glance, and whether more may be found."""

    stores: Sequence[StoreStatus]
    is_reading: bool


class Checkup:
    """Looks for problems in the project at *start*, and counts what its stores hold, for one page after the other."""

    def __init__(self, start: Path) -> None:
        self._doctor, self._status = Beside(start, "doctor"), Beside(start, "status")
        self.copies = Beside(start, "review", "--kind", "copies")
        self._counted: object = None  # the files, as they were then

    def look(self, project: Project) -> Look:
        """Return what the doctor finds, or for how long he has been looking: the next call goes on from there."""
        beside = self._doctor
        if not beside.is_going and not has_much(project):
            return Look(doctor.examine(project))
        if not beside.is_going and (not beside.count or beside.age > _FRESH):
            beside.begin()
        return Look(None, beside.seconds) if beside.is_going else Look(_read_findings(beside))

    def count(self, project: Project) -> Count:
        """Return each store at a glance, as far as that is known: of many memories first how many there are."""
        if not has_much(project):
            began = project.screening.took
            return Count(project.status(seconds=_SLICE), project.screening.took - began > _SLICE)
        beside, seen = self._status, look_at(project)
        if not beside.is_going and seen != self._counted:
            self._counted = seen
            beside.begin()
        if beside.count == 0:
            return Count([*map(glance_at, project.stores.values())], True)
        return Count(_read_stores(beside.answer) or project.status(seconds=_SLICE), beside.is_going)

    def end(self) -> None:
        """Let nobody look any more."""
        for beside in (self._doctor, self._status, self.copies):
            beside.end()


def has_much(project: Project) -> bool:
    """Tell whether there is much to read; no store is read for that, the project may just have been opened."""
    return is_much(stamp.size for stamps in look_at(project) for stamp in stamps)


def look_at(project: Project) -> list[Stamps]:
    """Return what the files of all stores look like now."""
    return [store.look() for store in project.stores.values()]


def _read_findings(beside: Beside) -> list[Finding]:
    try:
        return [Finding(**one) for one in beside.answer["findings"]]
    except (LookupError, TypeError):
        why = beside.failure or "its answer cannot be read"
        return [Finding("error", "memsync doctor", f"no answer: {why}; run it in a terminal")]


def _read_stores(answer: Any) -> list[StoreStatus]:
    """Return what the command has counted; nothing where it failed."""
    try:
        return [StoreStatus(**{**one, "path": Path(one["path"])}) for one in answer["stores"]]
    except (LookupError, TypeError):
        return []
