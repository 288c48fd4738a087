"""The page *Health*: the stores, the index, git, the clients, what the doctor finds, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from memsync.errors import MemsyncError
from memsync.memories.project import Project
from memsync.setup import client_status, doctor, installing
from memsync.setup.repository import set_value
from memsync.store import settings
from memsync.store.trust import what_leaves
from memsync.store.workflow import find_waiting
from memsync.system.texts import one_line
from memsync.web import spell
from memsync.web.desk import Done, Given, Page, Undo, status_of


class Setting(NamedTuple):
    """A setting with its value as somebody types it, what it does, and the file that says so ("" by default)."""

    key: str
    value: str
    about: str
    source: str


def show(project: Project, given: Given) -> Page:
    """Return the page *Health*, but for what the doctor finds, which takes a while."""
    return _page(project, given.get("key"))


def _page(project: Project, key: str, said: str | None = None, error: str = "", status: int = 200) -> Page:
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
    view = {
        "stores": project.status(),
        "index": project.finder.status(),
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


def show_findings(project: Project, _: Given) -> Page:
    """Return what the doctor finds; the server that the clients start is started once for it."""
    return Page("doctor.html", {"findings": doctor.examine(project)})


def fix(project: Project, _: Given) -> Done:
    """Repair what is safe."""
    done = doctor.fix_findings(project)
    return Done(
        "fixed what is safe" if done else "nothing to fix", "/health", [spell.command("doctor", "--fix")], also=done
    )


def set_setting(project: Project, given: Given) -> Done | Page:
    """Set one setting, in the file in which the command sets it."""
    key, value, is_global = given.get("key"), given.raw("value"), bool(given.get("global"))
    try:
        before = settings.spell(settings.get(project.settings, key))
        path = set_value(project, key, value, is_global=is_global)
    except MemsyncError as error:
        return _page(project, key, value, str(error), status_of(error))
    command = spell.command("memory", "config", *(["--global"] if is_global else []), "--", key, value)
    undo: Mapping[str, str] = {"key": key, "value": before, **({"global": "1"} if is_global else {})}
    note = what_leaves(settings.name_of(key), settings.get(project.settings, key))
    also = [note] if note else []
    return Done(
        f"{key} is {one_line(value, 100)} now, in {path}", "/health", [command], Undo("/health/set", undo), also
    )
