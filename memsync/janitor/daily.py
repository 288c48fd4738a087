"""The janitor by itself, when a session ends: at most once a day, as far as `janitor.automatic` lets it, with a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from memsync.errors import LockTimeout, MemsyncError
from memsync.janitor.plan import TASKS, Archive, Merge
from memsync.janitor.run import apply
from memsync.janitor.survey import survey
from memsync.memories.project import Project
from memsync.records import format_time, parse_time
from memsync.store import files
from memsync.store.lock import lock
from memsync.system.limits import read_object

# Not 24 hours: a session that ends a little earlier than yesterday's counts as the next day.
_EVERY: Final = timedelta(hours=20)
_REPORT: Final = "janitor.json"


def read_report(project: Project) -> dict[str, Any] | None:
    """Return what the last run found and did; None if there was none, or it cannot be read."""
    try:
        report = read_object(files.read(_find_report(project))[0])
    except MemsyncError:
        return None
    return report if parse_time(report.get("at")) else None


def run_daily(project: Project) -> Mapping[str, Any]:
    """Do what `janitor.automatic` says: look and count, or also do what needs no person; and keep the report.

    A model is asked only where its word is done, within its budget.
    """
    place = project.layout.place(project.default_scope)
    how = project.settings.janitor_automatic
    if how == "off":
        return _nothing("janitor.automatic is off")
    if not place.directory.is_dir():
        return _nothing("this project has no store")
    files.prepare(place)
    try:
        with lock(place.local / "janitor.lock", wait=0.0, is_told=False):
            last = read_report(project)
            moment = parse_time(last["at"]) if last else None
            if moment is not None and moment <= project.clock() < moment + _EVERY:
                return _nothing("it ran in the last 20 hours")
            report = _run(project, is_applied=how == "apply")
            path = _find_report(project)
            files.rewrite(path, json.dumps(report).encode(), was=files.read(path)[0], private=place.private)
            return report
    except LockTimeout:
        return _nothing("it runs already")


def _nothing(why: str) -> Mapping[str, Any]:
    return {"status": "nothing", "reason": why}


def _find_report(project: Project) -> Path:
    return project.layout.place(project.default_scope).local / _REPORT


def _run(project: Project, *, is_applied: bool) -> dict[str, Any]:
    """Return the report of what was found and, where *is_applied*, done."""
    if is_applied:
        plan = survey(project, TASKS)
        done = apply(project, plan.steps)
        merges, archived = (done.count("done", kind) for kind in (Merge, Archive))
        more: dict[str, Any] = {"failed": done.count("failed"), "run": done.run}
    else:
        with project.with_settings(llm_verify=False) as quiet:
            plan = survey(quiet, TASKS)
        merges, archived = (sum(isinstance(step, kind) for step in plan.steps) for kind in (Merge, Archive))
        more = {}
    clusters = sum(isinstance(guess, Merge) for guess in plan.guesses)
    return {
        "status": "done" if is_applied else "proposed",
        "at": format_time(project.clock()),
        "merges": merges,
        "archived": archived,
        **more,
        "clusters": clusters,
        "stale": len(plan.guesses) - clusters,
        "notes": plan.notes,
    }
