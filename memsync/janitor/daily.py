"""The janitor by itself, when a session ends: at most once a day, as far as `janitor.automatic` lets it, with a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from memsync.errors import LockTimeout, MemsyncError
from memsync.janitor.plan import TASKS, Archive, Merge, Plan
from memsync.janitor.run import apply
from memsync.janitor.survey import survey
from memsync.memories.project import Project
from memsync.records import format_time, parse_time
from memsync.store import files
from memsync.store.lock import lock
from memsync.system.limits import read_json

# Not 24 hours: a session that ends a little earlier than yesterday's counts as the next day.
_EVERY: Final = timedelta(hours=20)
_REPORT: Final = "janitor.json"


def read_report(project: Project) -> dict[str, Any] | None:
    """Return what the last run found and did; None if there was none, or it cannot be read."""
    try:
        report = read_json(files.read(_find_report(project))[0])
    except (MemsyncError, ValueError):
        return None
    return report if isinstance(report, dict) and parse_time(report.get("at")) else None


def run_daily(project: Project) -> Mapping[str, Any]:
    """Do what `janitor.automatic` says: look and count, or also do what needs no person; and keep the report.

    A model is asked only where its word is done, within its budget.

    Raises:
        ConfigError, StoreError
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
            if _is_fresh(project):
                return _nothing("it ran in the last 20 hours")
            report = _apply(project) if how == "apply" else _propose(project)
            path = _find_report(project)
            files.rewrite(path, json.dumps(report).encode(), was=files.read(path)[0], private=place.private)
            return report
    except LockTimeout:
        return _nothing("it runs already")


def _nothing(why: str) -> Mapping[str, Any]:
    return {"status": "nothing", "reason": why}


def _find_report(project: Project) -> Path:
    return project.layout.place(project.default_scope).local / _REPORT


def _is_fresh(project: Project) -> bool:
    last = read_report(project)
    moment = parse_time(last["at"]) if last else None
    return moment is not None and moment <= project.clock() < moment + _EVERY


def _propose(project: Project) -> dict[str, Any]:
    with project.with_settings(llm_verify=False) as quiet:
        plan = survey(quiet, TASKS)
    counts = {name: sum(isinstance(step, kind) for step in plan.steps) for name, kind in _KINDS.items()}
    return _tell(project, plan, "proposed", **counts)


def _apply(project: Project) -> dict[str, Any]:
    plan = survey(project, TASKS)
    done = apply(project, plan.steps)
    counts = {name: done.count("done", kind) for name, kind in _KINDS.items()}
    return _tell(project, plan, "done", **counts, failed=done.count("failed"), run=done.run)


_KINDS: Final = {"merges": Merge, "archived": Archive}


def _tell(project: Project, plan: Plan, status: str, **counts: object) -> dict[str, Any]:
    clusters = sum(isinstance(guess, Merge) for guess in plan.guesses)
    stale = len(plan.guesses) - clusters
    at = format_time(project.clock())
    return {"status": status, "at": at, **counts, "clusters": clusters, "stale": stale, "notes": plan.notes}
