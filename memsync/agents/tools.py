"""The answer of a hook about a tool: what is anchored to what it touches, or speaks of why it failed; mostly nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from memsync.agents import hooklog, quick
from memsync.agents.decision import Decision, after_failure, before_tool, touched_by
from memsync.agents.injection import Injection, Reply
from memsync.agents.notes import scope_of
from memsync.agents.session import RecallSession
from memsync.agents.toolcall import ToolCall
from memsync.clients.facts import Client
from memsync.memories import lookup
from memsync.memories.anchored import save_lookup
from memsync.memories.project import Project
from memsync.records import format_time


def answer_tool(session: RecallSession, client: Client, event: str, payload: Mapping[str, Any], by: str = "") -> Reply:
    """Return what the hook *event* about a tool prints for *payload*; *by*: which hook asks.

    Raises:
        StoreUnreadable, OutsideTree, ConfigError
    """
    project, call = session.project, ToolCall(payload)
    cwd = str(payload.get("cwd") or project.layout.start)
    decision, failure = Decision(Injection()), Injection()
    if project.settings.enabled and (event == "pre-tool" or client.name in quick.AFTERWARDS):
        decision = before_tool(session, touched_by(call, cwd, project.layout.root))
        session.hold(decision.injection)
    if project.settings.enabled and event == "post-tool" and call.error:
        failure = after_failure(session, call)
    name = _event_name(client, event, payload)
    ask = decision.ask if client.asks and event == "pre-tool" else ""
    given = [found for found in (decision.injection, failure) if found.entries]
    is_ours = not given or session.claim(f"{event} {call.mark}", by)
    if given and is_ours:
        before, failure = session.take((decision.injection, failure), by)
        decision = decision._replace(injection=before)
        given = [found for found in (before, failure) if found.entries]

    def used() -> None:
        for found in given if is_ours and name else ():
            session.commit(found)
        _keep_lookup(project)
        if given or ask:
            hooklog.write(
                project.layout,
                scope_of(project.layout, project.settings),
                _note(session, client, event, call, decision, failure),
            )

    text = "\n".join(found.text for found in given) if name and is_ours else ""
    return Reply(
        _spell(client, name, text, ask) if text or (ask and name) else "",
        used,
        lambda: session.leave(given if is_ours else ()),
    )


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


def _keep_lookup(project: Project) -> None:
    """Make the lookup file anew where it is not as the stores are."""
    root = project.layout.root
    if root and not lookup.Lookup(lookup.path_of(os.path.realpath(root), project.env)).fresh:
        save_lookup(project, project.env)


def _note(
    session: RecallSession, client: Client, event: str, call: ToolCall, decision: Decision, failure: Injection
) -> dict[str, Any]:
    given = [entry.id for found in (decision.injection, failure) for entry in found.entries]
    why = {id_: f"it is anchored to {anchor}" for id_, anchor in decision.anchors.items()}
    why |= {entry.id: "a command failed with what it speaks of" for entry in failure.entries}
    return {
        "at": format_time(session.project.clock()),
        "client": client.name,
        "event": event,
        "session": session.id,
        "tool": call.name[:64],
        "given": given,
        "chars": len(decision.injection.text) + len(failure.text),
        "why": why,
        **({"asked": decision.ask[:500]} if decision.ask else {}),
    }
