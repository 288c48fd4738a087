"""The page *Health*: the stores, the index, git, the clients, what the doctor finds, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from memsync.errors import Changed, MemsyncError, Remedy, UsageError
from memsync.memories.project import Project
from memsync.setup import client_status, doctor, installing
from memsync.setup.repository import set_value
from memsync.store import settings, trust
from memsync.store.workflow import find_waiting
from memsync.system.texts import one_line
from memsync.web import spell
from memsync.web.checkup import Checkup
from memsync.web.desk import Done, Given, Page, Undo, status_of

_SHOWN: Final = 300  # findings


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
            return spell.command("config", "--stealth", "off" if self.value == "true" else "on")
        return f"{spell.command('config', self.key)} VALUE"


def show(checkup: Checkup, project: Project, given: Given) -> Page:
    """Return the page *Health*, but for what the doctor finds, which takes a while."""
    return _page(checkup, project, given.get("key"))


def _page(
    checkup: Checkup, project: Project, key: str, said: str | None = None, error: str = "", status: int = 200
) -> Page:
    loaded = project.loaded
    rows = [
        Setting(
            one,
            settings.spell(settings.get(loaded.settings, one)),
            settings.describe(one),
            str(loaded.sources.get(one, "")),
        )
        for one in settings.KEYS
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
        "error": error,
    }
    return Page("health.html", view, status)


def show_findings(checkup: Checkup, project: Project, _: Given) -> Page:
    """Return what the doctor finds, or that he still looks; the server that the clients start is started once for it."""
    found, seconds = checkup.look(project)
    view = {"is_looking": found is None, "seconds": seconds, "findings": (found or ())[:_SHOWN]}
    return Page("doctor.html", {**view, "more": len((found or ())[_SHOWN:])})


def fix(project: Project, _: Given) -> Done:
    """Repair what is safe."""
    done = doctor.fix_findings(project)
    return Done(
        "fixed what is safe" if done else "nothing to fix", "/health", [spell.command("doctor", "--fix")], also=done
    )


def _may_set(key: str, value: str) -> bool:
    """Tell whether a page may set *key*; stealth is refused with its own words."""
    return key == "memory_sync.stealth" or trust.is_harmless(key, settings.parse_value(key, value))


def set_setting(checkup: Checkup, project: Project, given: Given) -> Done | Page:
    """Set one setting, in the file in which the command sets it."""
    key, value, is_global = given.get("key"), given.raw("value"), bool(given.get("global"))
    try:
        if key in settings.KEYS and not _may_set(key, value):
            raise UsageError(f"{key} {value}: ", Remedy("config", key, value), " sets it, in a terminal")
        before = settings.spell(settings.get(project.settings, key))
        if given.get("was", before) != before.strip():
            raise Changed(key)
        path = set_value(project, key, value, is_global=is_global)
    except MemsyncError as error:
        return _page(checkup, project, key, value, str(error), status_of(error))
    command = spell.command("config", *(["--global"] if is_global else []), "--", key, value)
    now = settings.spell(settings.get(project.settings, key))
    undo: Mapping[str, str] = {"key": key, "value": before, "was": now, **({"global": "1"} if is_global else {})}
    return Done(f"{key} is {one_line(value, 100)} now, in {path}", "/health", [command], Undo("/health/set", undo))
