"""What a hook tells the user, and no model: that something waits, or that memory does not work as it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from memsync.agents.actions import Outcome
from memsync.agents.injection import Injection
from memsync.agents.ledger import Ledger
from memsync.errors import MemsyncError
from memsync.memories.project import Project
from memsync.poison.guard import quoted
from memsync.store import workflow
from memsync.store.trust import notice

_GIVING: Final = ("memory_inject", "inject_memories", "memory_recall_relevant")
_EVERYBODY: Final = "*"  # the id under which is noted what is told once a day, whichever session begins


def find_failure(outcomes: Sequence[Outcome]) -> str:
    """Return why no memory could be looked up; "" if that is not so."""
    failed = (result["error"] for action, result in outcomes if action in _GIVING and "error" in result)
    return f"memory is unavailable: {quoted(str(why))}" if (why := next(failed, "")) else ""


def list_notices(session: Ledger, event: str, outcomes: Sequence[Outcome], found: Sequence[Injection]) -> list[str]:
    """Return what the user is told at *event*, a line each."""
    rows = [why] if (why := find_failure(outcomes)) else []
    if event == "session-start":
        rows += _list_what_waits(session.project)
        with suppress(MemsyncError):  # the failure is told already
            rows += _list_unreadable(session.project)
    degraded = next((one.degraded for one in found if one.degraded), "")
    if degraded and session.begin_telling(degraded):
        rows.append(f"memories are found by words only, because {degraded}")
    return rows


def _list_what_waits(project: Project) -> Iterator[str]:
    if waiting := notice(workflow.find_waiting(project.layout, project.loaded)):
        yield waiting
    told, today = Ledger(project, _EVERYBODY), project.clock().date().isoformat()
    if told.is_told("candidates", today):
        return
    if (count := _count_candidates(project)) and told.begin_telling("candidates", today):
        yield f"{count} learned from earlier sessions: waiting for your approval (`memsync review`)"


def _count_candidates(project: Project) -> str:
    scope = project.default_scope
    if not (project.layout.place(scope).local / "candidates").is_dir():
        return ""
    from memsync.learn.candidates import Candidates  # takes longer to load than everything else here

    counts = Candidates(project).count()
    words = {"memories": ("memory", "memories"), "skills": ("skill", "skills")}
    return " and ".join(f"{n} {words[kind][n != 1]}" for kind, n in counts.items() if n)


def _list_unreadable(project: Project) -> Iterator[str]:
    if project.loaded.unreadable:
        yield project.loaded.unreadable
    for path, (count, number, why) in project.finder.find_problems():
        yield f"{count} line{'s' * (count != 1)} of {path} cannot be used (line {number}: {why}); `memsync doctor` shows them"
