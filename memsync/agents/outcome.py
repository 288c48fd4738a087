"""What became of each line that a session was given: heeded, ignored, contradicted, or not applicable. By rules over the recorded calls, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from memsync.agents import hooklog
from memsync.agents.notes import scope_of
from memsync.agents.session import RecallSession
from memsync.agents.toolcall import ToolCall
from memsync.clients.transcript_events import Call, Event, Result
from memsync.errors import MemsyncError
from memsync.memories import anchors, commands, triggers
from memsync.memories.wrong_names import find_wrong
from memsync.records import Memory, parse_time, shown_id

Verdict = Literal["heeded", "ignored", "contradicted", "not applicable"]
_SAME: Final = 2  # words that two runs of one command have in common


class Outcome(NamedTuple):
    """What became of a line, and why that is said."""

    verdict: Verdict
    reason: str


class Given(NamedTuple):
    """When and at which event a memory was given, and why, as the log of the hooks has it."""

    at: datetime
    event: str
    why: str


class _Done(NamedTuple):
    """One recorded call: what it was, whether it failed (None: nobody knows), and what it said."""

    call: ToolCall
    line: int
    when: datetime
    failed: bool | None
    said: str


def judge_session(session: RecallSession, transcript: str) -> dict[str, Outcome]:
    """Return the outcome of each memory that *session* was given, by its *transcript*, and count them. Nothing where nothing was given.

    Raises:
        ImportFailed, StoreError
    """
    from memsync.clients.transcript_files import read_file
    from memsync.learn.session_end import why_not

    project = session.project
    given = list_given(hooklog.read(project.layout, scope_of(project.layout, project.settings)), session.id)
    if not given or why_not(project, transcript) or not (recorded := read_file(Path(transcript))):
        return {}
    done = list(list_done(recorded.events))
    known = {entry.id: entry for entry in session.find_all(given)}
    found = {}
    for id_, one in given.items():
        entry = known.get(id_)
        memory = entry.memory if entry else None
        found[id_] = judge(memory, one, done)
        if entry:
            project.state(entry.scope).record_verdict(session.id, id_, found[id_].verdict, project.clock())
    return found


def list_given(notes: Iterable[Mapping[str, Any]], session: str) -> dict[str, Given]:
    """Return what *notes*, the log of the hooks, say that *session* was given first, by id; of a skill nothing can be told."""
    found: dict[str, Given] = {}
    for note in notes:
        at, ids, why = parse_time(note.get("at")), note.get("given"), note.get("why")
        if at is None or note.get("session") != session or not isinstance(ids, list):
            continue
        for id_ in ids:
            said = why.get(id_) if isinstance(why, dict) else ""
            if isinstance(id_, str) and not id_.startswith("sk-"):
                found.setdefault(id_, Given(at, str(note.get("event")), str(said or "")))
    return found


def list_done(events: Iterable[Event]) -> Iterator[_Done]:
    """Yield each call with its result, in order; a call without a time is passed over."""
    events = list(events)
    results = {event.id: event for event in events if isinstance(event, Result)}
    for event in events:
        if isinstance(event, Call) and event.when:
            ended = results.get(event.id)
            given = {**event.given, "command": event.command} if event.command else event.given
            call = ToolCall({"tool_name": event.tool, "tool_input": given})
            yield _Done(call, event.line, event.when, ended.failed if ended else None, ended.text if ended else "")


def judge(memory: Memory | None, given: Given, done: Sequence[_Done]) -> Outcome:
    """Return what became of *memory* (None: it is no longer there), which was *given*, by what was *done* before and after. Pure."""
    if memory is None:
        return Outcome("contradicted", "it was forgotten in this session")
    if memory.archived_at and memory.archived_at > given.at:
        return Outcome("contradicted", "it was archived in this session, or replaced")
    after = [one for one in done if one.when > given.at]
    if not after:
        return Outcome("not applicable", "no call came after it")
    before = [one for one in done if one.when <= given.at]
    found = (_judge_failure(memory, given, before, after), _judge_names(memory, given, after))
    return next(filter(None, found), Outcome("not applicable", "no later call shows whether it was heeded"))


def _judge_names(memory: Memory, given: Given, after: Sequence[_Done]) -> Outcome | None:
    """Tell by the names and commands that *memory* says are wrong."""
    lines = find_wrong(memory.content, lambda _: True).commands
    whole = [line for line in map(" ".join, lines) if f"$ {line}" in memory.anchors]
    wrong = [*(text[5:] for text in memory.triggers if text.startswith("not: ")), *whole]
    for one in after:
        if name := next((name for name in wrong if _uses(one.call, name)), ""):
            if one.failed is False and not one.call.line and ("." in name or "/" in name) and not one.call.text:
                return Outcome("contradicted", f"{one.call.name} found {name} (line {one.line} of the transcript)")
            return Outcome("ignored", f"{one.call.name} used {name} all the same (line {one.line} of the transcript)")
    if not wrong:
        return None
    if given.why.startswith("it is due at") or any(f"$ {line}" in given.why for line in whole):
        return Outcome("heeded", f"none of the {len(after)} calls after it used {', '.join(wrong)}")
    right = [one.path for one in map(anchors.parse, memory.anchors) if one.path]
    for one in after:
        if path := next((path for path in right if _uses(one.call, path)), ""):
            return Outcome("heeded", f"{one.call.name} used {path} (line {one.line}), and no call {', '.join(wrong)}")
    return None


def _uses(call: ToolCall, name: str) -> bool:
    return triggers.is_used(name, call.lines, call.said, "" if call.line else call.text, call.old)


def _judge_failure(memory: Memory, given: Given, before: Sequence[_Done], after: Sequence[_Done]) -> Outcome | None:
    """Tell by the failure at which *memory* was given, or that it waits for: whether it came back."""
    waits = [text for text in memory.triggers if text.startswith("fails: ")]
    for one in after if waits else ():
        if one.failed and (text := next((text for text in waits if triggers.fails(text, one.said)), "")):
            return Outcome("ignored", f"it failed again with {text[7:]} (line {one.line} of the transcript)")
    failed = next((one for one in reversed(before) if one.failed), None)
    if given.event != "post-tool" or failed is None or not (words := _words_of(failed.call)):
        return None
    again = next((one for one in after if one.call.line and _words_of(one.call) == words), None)
    if again is None:
        return Outcome("not applicable", f"`{' '.join(words)}` was not run again")
    how: tuple[Verdict, str] = ("ignored", "failed again") if again.failed else ("heeded", "went well afterwards")
    return Outcome(how[0], f"`{' '.join(words)}` {how[1]} (line {again.line} of the transcript)")


def _words_of(call: ToolCall) -> commands.Words:
    """Return what tells the command of *call* from others."""
    return next(iter(call.commands()), ())[:_SAME]


def note_outcomes(session: RecallSession, transcript: str) -> dict[str, dict[str, Any]]:
    """Return what the log is to say of the outcomes of *session*. Never fails: a session ends whatever became of its lines."""
    with suppress(MemsyncError, OSError):
        found = judge_session(session, transcript)
        return {"outcomes": {shown_id(id_): list(one) for id_, one in found.items()}} if found else {}
    return {}
