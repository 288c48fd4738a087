"""One hook's answer: run the lifecycle of the event, spell what it gives as the client wants it, note what happened."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memsync.agents.actions import Outcome, Turn, check, run
from memsync.agents.injection import Injection, Reply
from memsync.agents.ledger import CLIENT, Ledger
from memsync.agents.notes import describe, parent_id, session_id
from memsync.agents.past import find_past
from memsync.agents.prompts import small_talk
from memsync.agents.session import RecallSession
from memsync.clients import facts
from memsync.clients.facts import EVENTS, TOOLS, Client
from memsync.errors import MemsyncError, UsageError
from memsync.memories.project import Project
from memsync.memories.results import Hit
from memsync.records import format_time
from memsync.safety.guard import quoted
from memsync.store import files, workflow
from memsync.store.places import list_workflows
from memsync.store.trust import notice, why_no_step
from memsync.system.texts import count

_GIVING: Final = ("memory_inject", "inject_memories", "memory_recall_relevant")
_EVERYBODY: Final = "*"  # the id under which is noted what is told once a day, whichever session begins


def answer(project: Project, client: Client, event: str, payload: Mapping[str, Any], by: str = "") -> Reply:
    """Return what the hook *event* of *client*, as it answers its sender, prints for *payload*, having run the lifecycle; *by*: which hook asks.

    Raises:
        UsageError: the event is unknown.
        StoreUnreadable, OutsideTree, ConfigError
    """
    if event not in EVENTS:
        raise UsageError(f"unknown event {event!r}; choose one of {', '.join(EVENTS)}")
    payload = client.read(payload)
    session = RecallSession(project, session_id(payload))
    if event in TOOLS:
        from memsync.agents.tools import answer_tool  # which knows what is anchored where

        return answer_tool(session, client, event, payload, by)
    turn = Turn(session, values(project, client, event, payload), find_past(session, client, event, payload))
    key = _key(client, event, payload)
    triggers = client.triggers(event, payload) if project.settings.enabled else ()
    outcomes = _run_triggers(triggers, turn, key, by)
    _note_surroundings(session, event, payload)
    name = client.output_event(event)
    told = list_notices(session, event, outcomes, turn.injections) if name else []
    message = {"systemMessage": f"memsync: {'; '.join(told)}"} if told else {}
    is_ours = bool(name and _text_of(turn, outcomes)) and _take_on(
        turn, client, "" if "compact" in triggers else key, by
    )
    text = name and _text_of(turn, outcomes)
    note = _note(turn, client, event, outcomes)

    def note_down() -> None:
        _keep_for_later(turn, event, str(payload.get(client.turn) or ""))
        session.log(note)

    if not text:
        return Reply(json.dumps(message) if message else "", note_down)
    if not is_ours:
        return Reply("", lambda: session.log({**note, "given": [], "reason": "another hook answered"}))

    def used() -> None:
        for found in turn.injections:
            _commit(session, client, found)
        note_down()

    return Reply(
        json.dumps({**client.answer(name, text), **message}),
        used,
        lambda: session.leave(turn.injections),
        given=tuple(note["given"]),
    )


def _take_on(turn: Turn, client: Client, key: str, by: str) -> bool:
    """Tell whether this hook is to say what *turn* gives (*key* is to be claimed), without what another gives just now."""
    if key and not turn.session.claim(key, by):
        return False
    if client.keeps_prompts:  # else a memory is given with each request of its turn
        turn.injections = turn.session.take(turn.injections, by)
    return True


def _text_of(turn: Turn, outcomes: Sequence[Outcome]) -> str:
    return (
        "\n".join(found.text for found in turn.injections if found.text) or find_failure(outcomes) or _tell_lost(turn)
    )


def _tell_lost(turn: Turn) -> str:
    """Return which lines cannot be used, for an agent that is given nothing when its session begins: it may not be that nothing is known."""
    rows: list[str] = []
    if turn.values["event"] == "session-start":
        with suppress(MemsyncError):  # the failure is told already
            rows = turn.session.project.finder.tell_problems()
    return f"memory is incomplete: {quoted('; '.join(rows))}" if rows else ""


def _note_surroundings(session: RecallSession, event: str, payload: Mapping[str, Any]) -> None:
    """Note which processes the session runs in, and whether a subagent is at work for it."""
    if event == "session-start" and isinstance(pids := payload.get(CLIENT), list):
        session.note_client(pids)
    if event == "subagent-start":
        RecallSession(session.project, parent_id(payload)).begin_helper()


def _commit(session: RecallSession, client: Client, found: Injection) -> None:
    """Note what was handed over; where it is gone with the next request, only that it was used, once a turn."""
    if client.keeps_prompts:
        session.commit(found)
    elif session.matched().given != tuple(entry.id for entry in found.entries):
        session.record(found)


def _keep_for_later(turn: Turn, event: str, key: str) -> None:
    """Keep what a compaction, or a client that drops what it was given at the start, makes necessary again."""
    if event == "prompt" and not small_talk(turn.values["user_prompt"]):
        turn.session.keep_matched(turn.injections, key)
        turn.session.keep_topic(turn.values["user_prompt"])
    if event == "session-start" and any(found.entries for found in turn.injections):
        turn.session.keep_start(turn.injections)


def _run_triggers(triggers: Sequence[str], turn: Turn, key: str, by: str) -> list[Outcome]:
    """Run the steps of *triggers*. A loss is claimed before: a twin must not empty the ledger after this one has filled it."""
    if not triggers or ("compact" in triggers and not turn.session.claim(key, by)):
        return []
    project = turn.session.project
    steps = workflow.load(project.layout).steps
    with project.journal.in_session(turn.session.id):
        return [outcome for trigger in triggers for outcome in run(steps[trigger], turn)]


def _key(client: Client, event: str, payload: Mapping[str, Any]) -> str:
    """Return what identifies this event among those of its kind."""
    turn = payload.get(client.turn) or payload.get("source") or ""
    return f"{event} {turn} {zlib.crc32(str(payload.get('prompt') or '').encode('utf-8', 'replace')):08x}"


def _note(turn: Turn, client: Client, event: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    session = turn.session
    hits = [entry for found in turn.injections for entry in found.entries if isinstance(entry, Hit)]
    sure = {hit.id: round(hit.confidence, 2) for hit in hits}
    # What fitted and was not given, each with the rule, as `explain` names it.
    left = {
        entry.id: rule
        for found in turn.injections
        for rule, some in (("budget", found.left_out), ("alike", found.folded))
        for entry in some
    }
    named = [entry.id for found in turn.injections for entry in found.headlines]
    cleared = [result["previous_count"] for _, result in outcomes if "previous_count" in result]
    return {
        **describe(client, event, session.id, turn.values["source"], at=format_time(session.project.clock())),
        "given": [entry.id for found in turn.injections for entry in found.entries],
        **({"headlines": named} if named else {}),
        **({"sure": sure} if sure else {}),
        **({"chars": size} if (size := sum(len(found.text) for found in turn.injections)) else {}),
        **({"left": left} if left else {}),
        **({"cleared": sum(cleared)} if cleared else {}),
        "filtered": sum(found.filtered for found in turn.injections),
        "reason": next((found.reason for found in turn.injections if found.reason), ""),
        "errors": [f"{name}: {result['error']}" for name, result in outcomes if "error" in result],
        **(_note_outcomes(turn) if event == "session-end" else {}),
    }


def _note_outcomes(turn: Turn) -> dict[str, Any]:
    from memsync.agents.outcome import note_outcomes  # which reads the transcript

    return note_outcomes(turn.session, turn.values["transcript_path"])


def values(project: Project, client: Client, event: str, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return what a workflow may name in braces."""
    named = {name: str(payload.get(name) or "") for name in ("source", "trigger", "reason", "transcript_path", "cwd")}
    return {
        **named,
        "user_prompt": client.prompt(str(payload.get("prompt") or "")),
        "session_id": session_id(payload),
        "client": client.name,
        "event": event,
        "project": str(project.layout.root or project.layout.start),
    }


def run_trigger(project: Project, trigger: str, *, session_id: str, prompt: str) -> list[Outcome]:
    """Run the actions of *trigger* outside a hook, and note what they gave.

    Raises:
        UsageError: the trigger is unknown.
    """
    name = workflow.trigger_of(trigger)
    if name is None:
        raise UsageError(f"unknown trigger {trigger!r}; choose one of {', '.join(workflow.TRIGGERS)}")
    payload = {"session_id": session_id, "prompt": prompt, "cwd": str(project.layout.start)}
    turn = Turn(RecallSession(project, session_id), values(project, facts.find("claude"), name, payload))
    with project.journal.in_session(session_id):
        outcomes = run(workflow.load(project.layout).steps[name], turn)
    for found in turn.injections:
        turn.session.commit(found)
    return outcomes


def check_workflows(project: Project, paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the workflow files looked at, *paths* or the project's own, and what is wrong with them."""
    theirs = {path for path, place in list_workflows(project.layout) if place.scope == "project"}
    checked = list(paths) or [path for path, _ in list_workflows(project.layout)]
    problems: list[str] = []
    for path in checked:
        try:
            steps = workflow.parse(files.read(path)[0], path, problems)
        except MemsyncError as error:
            problems.append(str(error))
            continue
        for _, action, params in steps:
            why = check(workflow.Step(action, params, path.stem))
            if not why and path.absolute() in theirs and (no := why_no_step(action, params)):
                why = f"{action}: {no}"
            problems += [f"{path}: {why}"] if why else []
    return checked, problems


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
    if (waiting := _count_candidates(project)) and told.begin_telling("candidates", today):
        yield f"{waiting} learned from earlier sessions: waiting for your approval (`memsync review`)"


def _count_candidates(project: Project) -> str:
    scope = project.default_scope
    if not (project.layout.place(scope).local / "candidates").is_dir():
        return ""
    from memsync.learn.candidates import Candidates  # takes longer to load than everything else here

    words = {"memories": "memory", "skills": "skill"}
    return " and ".join(count(n, words[kind]) for kind, n in Candidates(project).count().items() if n)


def _list_unreadable(project: Project) -> Iterator[str]:
    if project.loaded.unreadable:
        yield project.loaded.unreadable
    yield from project.finder.tell_problems()
