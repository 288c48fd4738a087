"""What a step of a lifecycle can do, by the names that Gobby's workflows use; one that fails says so and the next one runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.agents.injection import CAP, Injection
from memsync.agents.past import Past
from memsync.agents.session import RecallSession
from memsync.errors import MemsyncError, Remedy, closest, suggest
from memsync.store.trust import VALUE
from memsync.store.workflow import Step
from memsync.system.logs import Log

if TYPE_CHECKING:
    from re import Match

log = Log(__name__)


_NONE: Final = Past()
_ARTIFACT: Final = "artifact."


class Turn:
    """What the actions of one event work on: the session, the values that a workflow may name, what there is of before."""

    def __init__(self, session: RecallSession, values: Mapping[str, str], past: Past = _NONE) -> None:
        self.session = session
        self.values = values
        self.past = past
        self.injections: list[Injection] = []

    @property
    def room(self) -> int:
        """How many characters of context are left for this event: together they stay under every client's cap."""
        return CAP - sum(len(injection.text.encode()) + 1 for injection in self.injections)


class Outcome(NamedTuple):
    """What one step did: the result of its action, or {"error": why}."""

    action: str
    result: Mapping[str, Any]


def run(steps: Iterable[Step], turn: Turn) -> list[Outcome]:
    """Run *steps* in order. Each fails alone."""
    return [Outcome(step.action, _run(step, turn)) for step in steps]


def _run(step: Step, turn: Turn) -> Mapping[str, Any]:
    try:
        action = ACTIONS.get(step.action)
        if action is None:
            return {"error": _describe_unknown(step)}
        return action.do(turn, _params(step, action, turn))
    except Exception as error:  # noqa: BLE001 - whatever one action trips over, the others and the user's turn go on
        log.warning("%s: %s: %s", step.source, step.action, error)
        why = str(error) if isinstance(error, MemsyncError) else f"{type(error).__name__}: {error}"
        return {"error": why}


def _describe_unknown(step: Step) -> str:
    advice = suggest(closest(step.action, ACTIONS), Remedy("workflow list"), " shows those that there are")
    return f"unknown action {step.action!r}; {''.join(map(str, advice))}"


def check(step: Step) -> str:
    """Return what is wrong with *step*, whose values are not known yet; "" if nothing is."""
    action = ACTIONS.get(step.action)
    if action is None:
        return _describe_unknown(step)
    try:
        for name, value in step.params.items():
            if name not in action.params:
                return f"{step.action}: {_describe_parameter(name, action)}"
            is_open = isinstance(value, str) and re.search(VALUE, value)
            _typed(name, 0 if is_open else value, action)
    except MemsyncError as error:
        return f"{step.action}: {error}"
    return ""


def _params(step: Step, action: Action, turn: Turn) -> dict[str, Any]:
    values = turn.values
    if missing := set(re.findall(VALUE, " ".join(map(str, step.params.values())))) - values.keys():
        kept = turn.session.kept()
        artifacts = {name: _find_artifact(turn, name, kept) for name in missing if name.startswith(_ARTIFACT)}
        values = {**kept, **artifacts, **values}
    params = {name: value for name, value in step.params.items() if name in action.params}
    for name in step.params.keys() - params.keys():
        log.warning("%s: %s: %s; it is passed over", step.source, step.action, _describe_parameter(name, action))
    return {name: _typed(name, fill(value, values), action) for name, value in params.items()}


def _find_artifact(turn: Turn, name: str, kept: Mapping[str, str]) -> str:
    """Return what the session has made under that *name*, such as its plan; "" if nothing yet."""
    from memsync.learn.transcripts import find_plan

    transcript = turn.values.get("transcript_path", "")
    plan = find_plan(Path(transcript)) if transcript and name == f"{_ARTIFACT}plan" else ""
    return plan or kept.get(name) or kept.get(name.removeprefix(_ARTIFACT), "")


def _describe_parameter(name: str, action: Action) -> str:
    known = f"choose one of {', '.join(action.params)}" if action.params else "the action takes none"
    return f"unknown parameter {name!r}; {''.join(map(str, suggest(closest(name, action.params), known)))}"


def fill(value: Any, values: Mapping[str, str]) -> Any:
    """Return *value* with each `{name}` replaced by what *values* has; nothing in it is evaluated.

    Raises:
        MemsyncError: the value is unknown.
    """
    if not isinstance(value, str):
        return value

    def known(match: Match[str]) -> str:
        if (name := match[1]) not in values:
            raise MemsyncError(f"unknown value {{{name}}}; choose one of {', '.join(sorted(values))}")
        return values[name]

    return re.sub(VALUE, known, value)


def _typed(name: str, value: Any, action: Action) -> Any:
    kind = action.params[name]
    if kind is str:
        return str(value)
    if kind is list:
        return [str(one) for one in value] if isinstance(value, list) else str(value).split()
    try:
        number = kind(value)
    except (TypeError, ValueError):
        number = -1
    if isinstance(value, bool) or number < 0:
        raise MemsyncError(f"{name}: {value!r} is not a {'whole ' if kind is int else ''}number from 0")
    return number


def _inject(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the most important memories; with a query those that it is about."""
    if "query" in params:
        return _recall_relevant(turn, params)
    if turn.past.is_kept:
        return _give(turn, Injection(reason="the context is still there"))
    found = turn.session.at_start(
        first=turn.past.first,
        folder=str(turn.values.get("cwd") or ""),
        limit=0 if turn.past.alone else params.get("limit"),
        threshold=params.get("min_importance"),
        budget=params.get("budget"),
        room=turn.room,
    )
    return _give(turn, found)


def _recall_relevant(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the memories that the prompt is about and that the session does not have."""
    limits = {"limit": params["limit"]} if "limit" in params else {}
    found = turn.session.at_prompt(
        params.get("query", turn.values.get("user_prompt", "")),
        threshold=params.get("min_importance"),
        budget=min(params.get("budget", turn.session.project.settings.injection_budget), turn.room),
        restart=params.get("on_exhausted") == "restart",
        **limits,
    )
    if found.filtered and not found.entries:
        log.info("memory_recall_relevant: All memories already injected this session")
    return _give(turn, found)


def _give(turn: Turn, found: Injection) -> Mapping[str, Any]:
    turn.injections.append(found)
    turn.session.hold(found)
    return found.as_dict()


def _reset(turn: Turn, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let every memory be given again."""
    count = turn.session.reset()
    turn.session.adopt(turn.past.stay)
    log.info("reset_memory_injection_tracking: Cleared %s tracked memories", count)
    return {"memory_tracking_reset": True, "previous_count": count}


def _save(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remember a text."""
    if not params.get("content", "").strip():
        return {"saved": False, "reason": "nothing to save"}
    done = turn.session.project.remember(
        params["content"],
        memory_type=params.get("memory_type", "fact"),
        importance=params.get("importance"),
        tags=params.get("tags", ()),
        source_type="session",
    )
    return {"saved": done.status == "created", "memory_id": done.entry.id, "status": done.status}


def _sync_import(turn: Turn, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take in what others wrote to the files."""
    from memsync.memories.listing import count_all

    return {"memories": count_all(turn.session.project)}


def _sync_export(turn: Turn, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the project's file in order, unless changes wait for a commit."""
    project = turn.session.project
    if not project.settings.sync_enabled:
        return {"exported": False, "reason": "memory_sync.enabled is off"}
    if project.settings.mode == "on-commit":
        return {"exported": False, "reason": "changes wait for the commit"}
    from memsync.memories.edits import follow_moves  # what an export needs, no prompt does

    follow_moves(project, project.store(project.default_scope))
    done = project.export(project.default_scope)
    return {"exported": done.changed, **({"reason": done.held} if done.held else {})}


def _extract(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Propose memories from the transcript of the session; they wait for approval."""
    from memsync.learn import session_end
    from memsync.learn.extract import extract

    project, use_model = turn.session.project, _asks_model(params)
    if "transcript" not in params:
        named = turn.values.get("transcript_path", "")
        if why := session_end.why_not(project, named):
            return {"extracted": 0, "reason": why}
        return session_end.memories_of(project, Path(named), use_model=use_model)
    found = extract(project, Path(params["transcript"]), use_model=use_model)
    return {"extracted": len(found.proposed), "by": found.by, **({"note": found.note} if found.note else {})}


def _janitor(turn: Turn, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """Tidy up, or only look, as `janitor.automatic` says, at most once a day."""
    if turn.session.project.settings.janitor_automatic == "off":  # what it needs takes long to load
        return {"status": "nothing", "reason": "janitor.automatic is off"}
    from memsync.janitor.run import run_daily

    return run_daily(turn.session.project)


def _learn(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Propose a skill from the transcript of the session, `name` or one that it is worth; it waits for approval."""
    from memsync.learn import session_end
    from memsync.learn.lessons import learn_skill

    project, session, use_model = turn.session.project, turn.session.id, _asks_model(params)
    if not project.settings.skills_enabled:
        return {"status": "nothing", "reason": "skills.enabled is off"}
    if "name" not in params:
        named = params.get("transcript", turn.values.get("transcript_path", ""))
        if why := session_end.why_not(project, named):
            return {"status": "nothing", "reason": why}
        return session_end.skill_of(project, Path(named), session=session, use_model=use_model)
    path = _transcript(turn, params)
    done = learn_skill(project, params["name"], session=session, transcript=path, use_model=use_model)
    return {"status": done.status, "name": done.name, "by": done.by}


def _asks_model(params: Mapping[str, Any]) -> bool:
    return str(params.get("use_model", "yes")).lower() not in ("no", "false", "off")


def _handoff(turn: Turn, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what the session was about as its variable `handoff_context`, before a compaction loses it."""
    from memsync.learn.digest import digest
    from memsync.learn.transcripts import read

    found = digest(read(_transcript(turn, params)))
    parts = {
        "Asked for": found.goals[-3:],
        "Worked": [one.command for one in found.worked[-10:]],
        "Failed": found.failed[-5:],
        "Files changed": found.files[-20:],
        "Corrections": [one.text for one in found.corrections[-5:]],
    }
    text = "\n".join(
        f"{name}: {'; '.join(' '.join(row.split()) for row in rows)}" for name, rows in parts.items() if rows
    )
    turn.session.keep("handoff_context", text)
    return {"handoff_context": text, "extracted": bool(text)}


def _transcript(turn: Turn, params: Mapping[str, Any]) -> Path:
    named = params.get("transcript", turn.values.get("transcript_path", ""))
    if not named:
        raise MemsyncError("the client did not say where its transcript is")
    return Path(named)


class Action(NamedTuple):
    """What a step may name: what it does, and its parameters with their types."""

    do: Callable[[Turn, Mapping[str, Any]], Mapping[str, Any]]
    params: Mapping[str, type]


_GIVING: Final = {"query": str, "limit": int, "min_importance": float, "budget": int}
ACTIONS: Final[Mapping[str, Action]] = {
    "memory_inject": Action(_inject, _GIVING),
    "inject_memories": Action(_inject, _GIVING),
    "memory_recall_relevant": Action(_recall_relevant, {**_GIVING, "on_exhausted": str}),
    "reset_memory_injection_tracking": Action(_reset, {}),
    "memory.sync_import": Action(_sync_import, {}),
    "memory.sync_export": Action(_sync_export, {}),
    "memory_extract": Action(_extract, {"transcript": str, "use_model": str}),
    "skills_learn": Action(_learn, {"name": str, "transcript": str, "use_model": str}),
    "janitor": Action(_janitor, {}),
    "extract_handoff_context": Action(_handoff, {"transcript": str}),
    "save_memory": Action(_save, {"content": str, "memory_type": str, "importance": float, "tags": list}),
}
