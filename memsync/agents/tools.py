"""The answer of a hook about a tool: before it what is anchored to what it touches, after a failure what speaks of the error; mostly nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.agents import toolcall
from memsync.agents.bump import find_bump, refuse
from memsync.agents.complaints import after_failure
from memsync.agents.injection import Injection, Reply, drop_copies
from memsync.agents.notes import describe
from memsync.agents.session import RecallSession
from memsync.agents.toolcall import ToolCall
from memsync.agents.topic import rank_near
from memsync.clients.facts import Client
from memsync.memories import lookup
from memsync.memories.anchored import (
    DUE,
    FOLDER,
    NAMED,
    SYMBOL,
    Match,
    Touched,
    find_about,
    find_anchored,
    find_failing,
    refresh_lookup,
)
from memsync.memories.screening import is_rule
from memsync.records import format_time, short_id
from memsync.safety.guard import quoted

LINES: Final = 2  # before one call
_SHARED: Final = 2  # words that a further memory of a file has in common with what is written there


def answer_tool(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any], by: str = "") -> Reply:
    """Return what the hook *event* about a tool prints for *payload*; *by*: which hook asks.

    Raises:
        StoreUnreadable, OutsideTree, ConfigError
    """
    task = toolcall.read_task(payload) if event == "pre-tool" and session.project.settings.enabled else ""
    return _keep_task(session, payload, task) if task else _answer_call(session, client, event, payload, by)


def _keep_task(session: RecallSession, payload: Mapping[str, Any], task: str) -> Reply:
    """Say nothing, and keep for the subagent that is about to start what fits its *task*."""
    found = RecallSession(session.project, "").at_prompt(task, typed=False)
    kind = payload["tool_input"].get("subagent_type")
    return Reply("", lambda: session.keep_task(str(kind or ""), [entry.id for entry in found.entries]))


def _answer_call(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any], by: str) -> Reply:
    project, call = session.project, ToolCall(payload)
    cwd = str(payload.get("cwd") or project.layout.start)
    decision, failure = Decision(Injection()), Injection()
    if project.settings.enabled:
        decision, failure = _look(session, client, event, call, cwd)
    name = _event_name(client, event, payload)
    ask = decision.ask if client.asks and event == "pre-tool" else ""
    if event == "pre-tool" and not ask and (reply := _refuse(session, client, call, decision, name)):
        return reply
    given = [found for found in (decision.injection, failure) if found.entries]
    is_ours = not given or session.claim(f"{event} {call.mark}", by)
    if given and is_ours:
        before, failure = session.take((decision.injection, failure), by)
        decision = decision._replace(injection=before)
        given = [found for found in (before, failure) if found.entries]

    def used() -> None:
        for found in given if is_ours and name else ():
            session.commit(found)
        refresh_lookup(project)
        if given or ask:
            session.log(_note(session, client, event, call, decision, failure))

    text = "\n".join(found.text for found in given) if name and is_ours else ""
    return Reply(
        _spell(client, name, text, ask) if text or (ask and name) else "",
        used,
        lambda: session.leave(given if is_ours else ()),
        given=tuple(entry.id for found in given for entry in found.entries) if text else (),
        why=_list_reasons(decision, failure) if text else {},
    )


def _refuse(session: RecallSession, client: Client, call: ToolCall, decision: Decision, name: str) -> Reply | None:
    """Return the answer before *call* that refuses it, or the empty one where nothing else would reach the model."""
    if bump := find_bump(session, decision.matches) if client.denies else None:
        alone = Decision(Injection(entries=(bump.entry,)), {bump.entry.id: say_why(bump)})
        note = {**_note(session, client, "pre-tool", call, alone, Injection()), "refused": True}
        return refuse(session, name, bump, note)
    return Reply("", lambda: None) if client.name in toolcall.AFTERWARDS else None


def _look(session: RecallSession, client: Client, event: str, call: ToolCall, cwd: str) -> tuple[Decision, Injection]:
    """Return what is given before *call*, or after it where that is the only time or a plan was accepted, and what speaks of its failure."""
    if call.plan and not call.error:
        return Decision(session.at_prompt(call.plan, typed=False)), Injection()
    is_asked = event == "pre-tool" or client.name in toolcall.AFTERWARDS
    error = call.error if event == "post-tool" else ""
    decision = decide(session, touched_by(call, cwd, session.project.layout.root) if is_asked else Touched(), error)
    session.hold(decision.injection)
    return decision, after_failure(session, call, cwd, decision.due) if error else Injection()


def _event_name(client: Client, event: str, payload: Mapping[str, Any]) -> str:
    """Return what the client calls the event: the user may have put our command on another one about tools."""
    said = payload.get("hook_event_name")
    known = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "AfterTool")
    name = client.output_event(event)
    return said if name and said in known else name


def _spell(client: Client, name: str, text: str, ask: str) -> str:
    found = client.answer(name, text) if text else {"hookSpecificOutput": {"hookEventName": name}}
    if ask:
        found["hookSpecificOutput"] |= {"permissionDecision": "ask", "permissionDecisionReason": f"memsync: {ask}"}
    return json.dumps(found)


def _note(
    session: RecallSession, client: Client, event: str, call: ToolCall, decision: Decision, failure: Injection
) -> dict[str, Any]:
    given = [entry.id for found in (decision.injection, failure) for entry in found.entries]
    return {
        **describe(client, event, session.id, "", at=format_time(session.project.clock())),
        "tool": call.name[:64],
        "given": given,
        "chars": len(decision.injection.text) + len(failure.text),
        "why": _list_reasons(decision, failure),
        **({"asked": decision.ask[:500]} if decision.ask else {}),
    }


def _list_reasons(decision: Decision, failure: Injection) -> dict[str, str]:
    """Return why each memory is given."""
    return {**decision.why, **dict.fromkeys((entry.id for entry in failure.entries), failure.reason)}


class Decision(NamedTuple):
    """What is given before a call, why each, what the client should ask the user, and why others are not given."""

    injection: Injection
    why: Mapping[str, str] = {}
    ask: str = ""
    refused: Mapping[str, str] = {}
    matches: tuple[Match, ...] = ()

    @property
    def due(self) -> list[str]:
        """The triggers `fails: …` that the failure met: in the lines that have them nothing else is looked for."""
        return [match.by for match in self.matches if match.by.startswith("fails: ")]


def touched_by(call: ToolCall, cwd: str, root: Path | None) -> Touched:
    """Return what *call*, made in *cwd*, touches of the project at *root*."""
    real = os.path.realpath(root) if root else ""
    paths, reads = (lookup.all_below(named, cwd, real) if real else [] for named in (call.paths, call.reads))
    named = call.names(cwd, real)
    return Touched(paths, call.commands(), call.old, call.text, call.is_whole, reads, call.lines, call.said, named)


def decide(session: RecallSession, touched: Touched, error: str = "") -> Decision:
    """Return the memories that are due at what is *touched*, or at the *error*, or anchored there, and that the session does not have: the two nearest.

    Raises:
        StoreUnreadable, OutsideTree
    """
    project = session.project
    matches = [*(find_failing(project, error) if error else ()), *find_anchored(project, touched)]
    known = {match.entry.id for match in matches}
    matches += [one for one in find_about(project, touched.used) if one.entry.id not in known]
    if not matches:
        return Decision(Injection(reason="nothing is anchored there"))
    again = {match.entry.id for match in matches if match.is_sure}.intersection(session.given_at_start())
    rules = session.rules(asked=True)
    rules = rules._replace(ledger={id_: key for id_, key in rules.ledger.items() if id_ not in again})
    refused: dict[str, str] = {}
    fitting: list[Match] = []
    replaced = {old for match in matches for old in match.entry.memory.supersedes}
    for match in matches:
        id_ = match.entry.id
        refusal = rules.refusal(match.entry) or (id_ in replaced and "superseded") or session.why_withheld(match.entry)
        if refusal:
            refused[id_] = str(refusal)
        else:
            fitting.append(match)
    had = sum(why == "ledger" for why in refused.values())
    words, near = set(_words(touched.text)), rank_near(fitting, session.topic(), touched.text)
    ranked = sorted(
        fitting, key=lambda one: (-one.rank, -near.get(one.entry.id, 0.0), -one.entry.memory.importance, one.entry.id)
    )
    chosen = [
        one
        for one in ranked
        if had < LINES or (not one.is_read and (one.rank > FOLDER + 1 or _overlap(one, words) >= _SHARED))
    ]
    new = drop_copies((project.mark(match.entry) for match in chosen), rules.ledger)
    notes = {match.entry.id: f"for {quoted(match.where)}" for match in matches}
    injection = session.build(new, had, limit=LINES, notes=notes)
    given = {entry.id for entry in injection.entries}
    limit = {one.entry.id: "limit" for one in fitting if one.entry.id not in given}
    return Decision(
        injection,
        why={match.entry.id: say_why(match) for match in matches if match.entry.id in given},
        ask=_find_question(session, matches),
        refused=refused | limit,
        matches=tuple(matches),
    )


def say_why(match: Match) -> str:
    """Return why *match* is given."""
    how = {DUE: "due at", NAMED: "about"}.get(match.rank, "anchored to")
    return f"it is {how} {match.by}"


def _words(text: str) -> list[str]:
    plain = "".join(char if char.isalnum() else " " for char in text.lower())
    return [word for word in plain.split() if len(word) > 3]


def _overlap(match: Match, words: set[str]) -> int:
    """Return how many words the memory has in common with what is written, those of its anchor aside."""
    own = set(_words(match.entry.content)) - set(_words(match.by))
    return len(own & words)


def _find_question(session: RecallSession, matches: list[Match]) -> str:
    """Return what the user should be asked before the call: rules of their own, or that they have approved, if they want that."""
    if not session.project.settings.guard:
        return ""
    rules = session.rules(asked=True)._replace(ledger={})
    asking = [
        f"[{short_id(one.entry.id)}] {quoted(one.entry.content)}"
        for one in matches
        if is_rule(one.entry.memory)
        and one.rank >= SYMBOL - 2
        and not one.is_read
        and not (rules.refusal(one.entry) or session.why_withheld(one.entry))
        and session.project.screening.may_stop(one.entry)
    ]
    return "; ".join(asking[:LINES])
