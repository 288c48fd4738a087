"""The plan that a session has made, from its transcript: what Claude Code's ExitPlanMode or Codex's update_plan was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memsync.system.limits import read_json

_TOOLS: Final = {"ExitPlanMode": "input", "exit_plan_mode": "input", "update_plan": "arguments"}
_MARKS: Final = tuple(name.encode() for name in _TOOLS)
_LONGEST: Final = 1 << 20  # bytes of a line that is read


def find_plan(transcript: Path) -> str:
    """Return the last plan in *transcript*; "" if it has none, or cannot be read."""
    plan = ""
    try:
        with transcript.open("rb") as lines:
            for line in lines:
                if len(line) < _LONGEST and any(mark in line for mark in _MARKS):
                    plan = next(filter(None, map(_spell, _list_calls(line))), plan)
    except OSError:
        return plan
    return plan


def _list_calls(line: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield what the calls in *line* that make a plan were given."""
    try:
        todo = [read_json(line)]
    except ValueError:
        return
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            if isinstance(name := value.get("name"), str) and name in _TOOLS:
                given = value.get(_TOOLS[name])
                yield _parse(given)
            else:
                todo += value.values()
        elif isinstance(value, list):
            todo += value


def _parse(given: object) -> Mapping[str, Any]:
    try:
        given = read_json(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    return given if isinstance(given, Mapping) else {}


def _spell(given: Mapping[str, Any]) -> str:
    """Return a plan as text: as it is, or its steps as a list."""
    plan = given.get("plan")
    if isinstance(plan, str):
        return plan.strip()
    steps = [step.get("step") for step in plan if isinstance(step, Mapping)] if isinstance(plan, list) else []
    return "\n".join(f"- {step.strip()}" for step in steps if isinstance(step, str) and step.strip())
