"""The page *Health*: the stores, the index, git, the clients, what the doctor finds, and the settings.

What is asked of all memories a process of its own looks for where there is much to read, so that no page waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.check import survey
from memsync.check.report import describe
from memsync.errors import Changed, MemsyncError, Remedy, UsageError
from memsync.memories.counts import StoreStatus, glance_at
from memsync.memories.project import Project
from memsync.records import content_hash
from memsync.setup import client_status, doctor, installing
from memsync.setup.doctor import Finding
from memsync.setup.repository import set_value
from memsync.store import settings, trust
from memsync.store.reading import Stamps
from memsync.store.workflow import find_waiting
from memsync.system.beside import Beside, is_much
from memsync.system.texts import one_line
from memsync.web import pages
from memsync.web.desk import Done, Given, Page, Routes, Undo

routes = Routes()
_SHOWN: Final = 300  # findings
_FRESH: Final = 5.0  # seconds for which what was found is shown to whoever asks
_SLICE: Final = 0.25  # seconds of screening for one look; the next one goes on from there


class Checkup:
    """Looks for problems in the project at *start*, and counts what its stores hold, for one page after the other."""

    def __init__(self, start: Path) -> None:
        self._doctor, self._status = Beside(start, "doctor"), Beside(start, "status")
        self.copies = Beside(start, "review", "--kind", "copies")
        self.index = Beside(start, "index", "rebuild", "--missing")  # which screens, too
        self._counted: object = None  # the files, as they were then

    def look(self, project: Project) -> tuple[Sequence[Finding] | None, float]:
        """Return what the doctor finds, None as long as he looks, and for how many seconds he has: the next call goes on from there."""
        beside = self._doctor
        if not beside.is_going and not has_much(project):
            return doctor.examine(project), 0.0
        if not beside.is_going and (not beside.count or beside.age > _FRESH):
            beside.begin()
        return (None, beside.seconds) if beside.is_going else (_read_findings(beside), 0.0)

    def count(self, project: Project) -> tuple[Sequence[StoreStatus], bool]:
        """Return each store at a glance, as far as that is known, of many memories first how many there are; and whether more may be found."""
        if not has_much(project):
            began = project.screening.took
            return project.status(seconds=_SLICE), project.screening.took - began > _SLICE
        beside, seen = self._status, look_at(project)
        if not beside.is_going and seen != self._counted:
            self._counted = seen
            beside.begin()
        if beside.count == 0:
            return [*map(glance_at, project.stores.values())], True
        return _read_stores(beside.answer) or project.status(seconds=_SLICE), beside.is_going

    def end(self) -> None:
        """Let nobody look any more."""
        for beside in (self._doctor, self._status, self.copies, self.index):
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


class Setting(NamedTuple):
    """A setting with its value as somebody types it, what it does, and the file that says so ("" by default)."""

    key: str
    value: str
    about: str
    source: str

    @property
    def is_here(self) -> bool:
        """Whether it is set on this page: what may run a program, reach out or publish is set in a terminal."""
        return self.key in trust.RULES and self.key not in ("memory.secrets.allow", "memory_sync.stealth")

    @property
    def command(self) -> str:
        """The command that sets it."""
        if self.key == "memory_sync.stealth":
            return pages.command("config", "--stealth", "off" if self.value == "true" else "on")
        return f"{pages.command('config', self.key)} VALUE"


@routes.reads("/health", Checkup)
def show(checkup: Checkup, project: Project, given: Given) -> Page:
    """Return the page *Health*, but for what the doctor finds, which takes a while."""
    return _page(checkup, project, given.get("key"))


def _page(checkup: Checkup, project: Project, key: str, said: str | None = None, error: Exception | str = "") -> Page:
    loaded = project.loaded
    values = {one: settings.spell(settings.get(loaded.settings, one)) for one in settings.KEYS}
    rows = [
        Setting(one, text, settings.describe(one), str(loaded.sources.get(one, ""))) for one, text in values.items()
    ]
    stores, is_reading = checkup.count(project)
    view = {
        "stores": stores,
        "is_reading": is_reading,
        "index": project.finder.file.describe(),
        "hooks": installing.read_hook_states(project),
        "mode": project.settings.mode,
        "clients": [client for client in client_status.survey(project) if client.used or client.where],
        "waiting": [one.name for one in find_waiting(project.layout, loaded)],
        "warnings": loaded.warnings,
        "settings": rows,
        "key": key,
        "said": said,
    }
    return Page("health.html", view, error)


@routes.reads("/health/doctor", Checkup)
def show_findings(checkup: Checkup, project: Project, _: Given) -> Page:
    """Return what the doctor finds, or that he still looks; the server that the clients start is started once for it."""
    found, seconds = checkup.look(project)
    view = {"is_looking": found is None, "seconds": seconds, "findings": (found or ())[:_SHOWN]}
    return Page("doctor.html", {**view, "more": len((found or ())[_SHOWN:])})


@routes.writes("/health/fix")
def fix(project: Project, _: Given) -> Done:
    """Repair what is safe."""
    done = doctor.fix_findings(project)
    said = "fixed what is safe" if done else "nothing to fix"
    return Done(said, "/health", [pages.command("doctor", "--fix")], also=done)


@routes.reads("/health/instructions")
def show_instructions(project: Project, _: Given) -> Page:
    """Return what instruction files say that is not so, and the patch for what is sure."""
    root = project.layout.root
    found = survey.check(root) if root else []
    fixes = survey.plan_fixes(root, found) if root else []
    rows = [{"file": one.file, "line": one.line, "sure": one.sure, "what": describe(one)} for one in found[:_SHOWN]]
    patch = "\n".join(one.patch for one in fixes)
    return Page("instructions.html", {"findings": rows, "patch": patch, "version": content_hash(patch)})


@routes.writes("/health/instructions")
def fix_instructions(project: Project, given: Given) -> Done:
    """Write the new names that are sure, if they are still those that were shown."""
    root = project.layout.root
    fixes = survey.plan_fixes(root, survey.check(root)) if root else []
    if not root or given.get("was") != content_hash("\n".join(one.patch for one in fixes)):
        raise Changed("the instruction files")
    for one in fixes:
        survey.apply_fix(root, one)
    names = ", ".join(one.file for one in fixes)
    return Done(f"wrote new names into {one_line(names, 200)}", "/health", [pages.command("check", "--fix", "--yes")])


@routes.writes("/health/set", Checkup)
def set_setting(checkup: Checkup, project: Project, given: Given) -> Done | Page:
    """Set one setting, in the file in which the command sets it."""
    key, value, is_global = given.get("key"), given.raw("value"), bool(given.get("global"))
    try:
        is_checked = key in settings.KEYS and key != "memory_sync.stealth"  # which is refused with its own words
        if is_checked and not trust.is_harmless(key, settings.parse_value(key, value)):
            raise UsageError(f"{key} {value}: ", Remedy("config", key, value), " sets it, in a terminal")
        before = settings.spell(settings.get(project.settings, key))
        if given.get("was", before) != before.strip():
            raise Changed(key)
        path = set_value(project, key, value, is_global=is_global)
    except MemsyncError as error:
        return _page(checkup, project, key, value, error)
    command = pages.command("config", *(["--global"] if is_global else []), "--", key, value)
    now = settings.spell(settings.get(project.settings, key))
    undo: Mapping[str, str] = {"key": key, "value": before, "was": now, **({"global": "1"} if is_global else {})}
    return Done(f"{key} is {one_line(value, 100)} now, in {path}", "/health", [command], Undo("/health/set", undo))
