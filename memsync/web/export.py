"""The desk as one file for who has no memsync: the project's memories and skills, what the branch changes, and health.

Only what the repository itself shows is in it, unless the user asks for more: nothing of a private or global store, no
path of this machine, no script; what looks like a secret is taken out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from memsync.errors import MemsyncError, NoStore, Remedy, UsageError
from memsync.git import history
from memsync.memories.diff import Difference, leave_out_private
from memsync.memories.events import files_of
from memsync.memories.filters import Filters
from memsync.memories.project import Project
from memsync.memories.results import Entry
from memsync.records import Scope, texts_of
from memsync.safety.secrets import redact
from memsync.setup import installing
from memsync.transfer import writers
from memsync.web import branch, pages
from memsync.web.desk import Copy, Given, Routes

routes = Routes()
_SCOPE: Final[Scope] = "project"


def write_report(
    project: Project, path: Path, *, against: str = "", scopes: Collection[Scope] = (_SCOPE,), force: bool = False
) -> int:
    """Write the report on *project* to *path*, and return how many memories it has: those of *scopes*, marked where they are not shared.

    Raises:
        NoStore: the project has no shared memories, such as in stealth.
        UsageError: a file that is no report of ours is there, and *force* is off.
        NoHistory: *against* names no commit.
        MemsyncError, OSError: *path* cannot be written.
    """
    view = _make_report(project, against, scopes)
    writers.write(project, path, pages.render("export.html", **view), force=force, private=view["has_private"])
    return len(view["entries"])


@routes.reads("/health/copy")
def take_copy(project: Project, given: Given) -> Copy:
    """Return the project's own memories as a file for others: the report, or a copy that `memsync import` reads.

    Raises:
        UsageError: there is no such format.
        NoStore: the project has no shared memories.
    """
    kind = given.get("as")
    if kind == "report":
        return Copy("memories.html", pages.render("export.html", **_make_report(project, "", (_SCOPE,))))
    if (format_ := next((one for one in writers.FORMATS if one == kind), None)) is None:
        raise UsageError(f"a copy is report, {', '.join(writers.FORMATS)}")
    project.store(_SCOPE)
    found = project.memories(Filters(scopes=(_SCOPE,)))
    return Copy(f"memories.{'md' if format_ == 'markdown' else format_}", writers.spell(found, format_))


def _make_report(project: Project, against: str, scopes: Collection[Scope]) -> dict[str, Any]:
    if [*scopes] == [_SCOPE] and (project.settings.stealth or _SCOPE not in project.stores):
        raise NoStore(
            "the memories of this project are private, so there is nothing that a report may show; ",
            Remedy("--all-scopes"),
            " shows them, marked so",
        )
    return make_view(project, against, scopes)


def write_replay(project: Project, path: Path, found: Mapping[str, Any], *, force: bool = False) -> None:
    """Write a page on what memory would have saved, as `memsync replay` has *found* it, to *path*.

    Raises:
        UsageError: a file that is no report of ours is there, and *force* is off.
        MemsyncError, OSError: *path* cannot be written.
    """
    most = max((one["calls"] for one in found["back"]), default=1)
    text = pages.render("replay.html", **_frame(project), replayed=found, most=most)
    writers.write(project, path, text, force=force)


def _frame(project: Project) -> dict[str, Any]:
    """Return what each file for others shows: whose it is, when it was made, how it looks, and what takes out secrets."""
    return {
        "name": (project.layout.root or project.layout.start).name,
        "now": project.clock(),
        "style": (pages.STATIC / "desk.css").read_text(encoding="utf-8"),
        "safe": lambda text: redact(text, project.vetting.allowed),
    }


def make_view(project: Project, against: str = "", scopes: Collection[Scope] = (_SCOPE,)) -> dict[str, Any]:
    """Return what the report shows."""
    entries = project.memories(Filters(scopes=scopes, archived=True))
    found, why = _compare(project, against)
    live = [entry for entry in entries if not entry.memory.archived_at]
    return {
        **_frame(project),
        "has_private": [*scopes] != [_SCOPE],
        "entries": entries,
        "types": Counter(entry.memory.memory_type for entry in live),
        "skills": [entry for entry in project.skills.list() if entry.scope in scopes],
        "found": found,
        "why": why,
        "rows": branch.list_rows,
        "health": _survey(project, entries),
        "commit": history.head(files_of(project).root)[:10] if project.layout.git else "",
    }


def _compare(project: Project, against: str) -> tuple[Difference | None, str]:
    if project.layout.git is None and not against:
        return None, "not in git"
    try:
        return leave_out_private(project, branch.compare(project, branch.find_base(project, against))), ""
    except MemsyncError as error:
        if against:
            raise
        return None, str(error)


def _survey(project: Project, entries: list[Entry]) -> Mapping[str, int | str]:
    """Return how the shared memories are; without a path, for those of this machine are nobody's business."""
    secret = [e for e in entries if project.screening.holds_secret(e, lambda: project.vetting.allowed)]
    live = [entry for entry in entries if not entry.memory.archived_at]
    hooks = installing.read_hook_states(project)
    return {
        "memories": len(live),
        "archived": len(entries) - len(live),
        "lines that cannot be read": len(project.stores[_SCOPE].problems()),
        "that read like an order to an agent": sum(bool(entry.flagged) for entry in entries),
        "with what looks like a secret": len(secret),
        "out of date": sum(bool(entry.stale) for entry in live),
        "in conflict": sum(bool(entry.memory.conflict_of) for entry in live),
        "without an author": sum(not entry.memory.author for entry in live),
        "characters": sum(len(text) for entry in live for text in texts_of(entry.memory)),
        "git's hooks": ", ".join(f"{name} {state}" for name, state in hooks.items()) or "not in git",
    }
