"""The speed bump: where a memory is surely due, the call is refused once, with the memory as the reason; the same call again passes.

A client that hands a hook's text over with the result has it too late for the call itself: this alone is before the act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memsync.agents.injection import Injection, Reply
from memsync.agents.session import RecallSession
from memsync.memories.anchored import Match
from memsync.records import shown_id
from memsync.safety.guard import quoted


def find_bump(session: RecallSession, matches: Sequence[Match]) -> Match | None:
    """Return which of *matches* refuses the call, and note that it has: never again in this session. None if that could not be noted."""
    told = (one for one in list_bumps(session, matches) if session.begin_telling(_mark(one)))
    return next((one for one in told if session.is_told(_mark(one))), None)


def list_bumps(session: RecallSession, matches: Sequence[Match]) -> list[Match]:
    """Return those of *matches* that may refuse the call: where the user wants that, and by what was written or approved on this machine."""
    project = session.project
    if project.settings.bump != "sure" or not session.id:
        return []
    rules = session.rules(asked=True)._replace(ledger={})
    new = (one for one in matches if one.is_sure and not session.is_told(_mark(one)))
    free = (one for one in new if not (rules.refusal(one.entry) or session.why_withheld(one.entry)))
    return [one for one in free if project.screening.may_stop(one.entry)]


def _mark(match: Match) -> str:
    return f"bump {match.entry.id}"


def refuse(session: RecallSession, name: str, match: Match, note: Mapping[str, Any]) -> Reply:
    """Return the answer of the event *name* that refuses the call by *match*; *note* is what the log says of the call."""
    entry = match.entry
    line = f"[{shown_id(entry.id)}] {quoted(entry.content)} (for {quoted(match.where)})"
    reason = f"memsync: not run, because of a memory: {line}. This is said once; if the call is right all the same, make it again."
    said = {"hookEventName": name, "permissionDecision": "deny", "permissionDecisionReason": reason}

    def used() -> None:
        session.commit(Injection(text=reason, entries=(entry,)))
        session.log(note)

    return Reply(json.dumps({"hookSpecificOutput": said}), used, lambda: None, given=(entry.id,))
