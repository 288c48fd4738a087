"""Why an agent would be given each memory, or not: the decision of a hook, looked at without making it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from memsync.agents.decision import after_failure, before_tool, touched_by
from memsync.agents.injection import Injection, key_of
from memsync.agents.session import RecallSession, superseded_by
from memsync.agents.toolcall import ToolCall
from memsync.memories.filters import Filters, least_confidence, sort_by_importance
from memsync.memories.results import Entry, Hit

_LOOKED_AT: Final = 30

# What each verdict means, for people.
MEANINGS: Final[Mapping[str, str]] = {
    "given": "would be given",
    "ledger": "this session has it already",
    "session": "it was made in this session, whose context still has it",
    "archived": "it is archived",
    "conflict": "it is one side of a conflict that nobody has resolved",
    "superseded": "another memory replaces it",
    "secret": "it holds what looks like a secret",
    "flagged": "it reads like an order to an agent, and waits for `memsync approve ID`",
    "importance_threshold": "its importance is below memory.importance_threshold",
    "floor": "it, or the surest match, is not sure enough",
    "alike": "a line that is given says the same",
    "budget": "it is too long for what is left of memory.injection_budget",
    "limit": "better ones took the places",
    "triage": "the prompt needs no memories",
    "off": "memory.enabled is off",
    "gone": "what it is anchored to is gone",
}


class Verdict(NamedTuple):
    """One memory and the rule that decided about it; a prompt gave it a score, and says how sure that is."""

    entry: Entry
    rule: str
    score: float | None
    confidence: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return id, text, rule, what the rule means, and the score."""
        given = {"score": self.score, "confidence": self.confidence}
        score = {name: round(value, 4) for name, value in given.items() if value is not None}
        memory = self.entry.memory
        return {"id": memory.id, "content": memory.content, "rule": self.rule, "means": MEANINGS[self.rule], **score}


class Explained(NamedTuple):
    """What a hook would give, and its verdict about the memories that came nearest."""

    injection: Injection
    verdicts: tuple[Verdict, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the result of the action, the gate, and the verdicts."""
        found = self.injection
        return {
            **found.as_dict(),
            "reason": found.reason,
            "gate": round(found.gate, 4),
            "floor": found.floor,
            "memories": [verdict.as_dict() for verdict in self.verdicts],
        }


def explain(session: RecallSession, prompt: str | None) -> Explained:
    """Return what *session* would be given for *prompt*, without one at its start, and why. Notes nothing.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    everything = Filters(archived=True)
    if prompt is None:
        found = session.at_start()
        near: Iterable[Entry] = sort_by_importance(session.project.entries(everything))
    else:
        found = session.at_prompt(prompt)
        near = session.project.search(prompt, everything, limit=_LOOKED_AT) if prompt.strip() else ()
    is_on = session.project.settings.enabled
    near = list(near)
    replaced = superseded_by(entry for entry in near if entry.memory.supersedes and not session.waits(entry))
    rules = session.rules(asked=prompt is not None)
    given = {entry.id for entry in found.entries}
    verdicts = []
    for entry in sorted(near, key=lambda entry: entry.id not in given)[:_LOOKED_AT]:
        rule = "given" if entry.id in given else _rule(entry, found, replaced, rules.ledger)
        refusal = rules.refusal(entry) or session.why_withheld(entry)
        how = (entry.score, entry.confidence) if isinstance(entry, Hit) and prompt is not None else (None, None)
        verdicts.append(Verdict(entry, rule if rule in ("given", "triage") else refusal or rule, *how))
    if not is_on:
        verdicts = [verdict._replace(rule="off") for verdict in verdicts]
        found = Injection(reason=MEANINGS["off"])
    return Explained(found, tuple(verdicts))


def explain_tool(session: RecallSession, call: ToolCall, cwd: str) -> Explained:
    """Return what *session* would be given before *call*, made in *cwd*, or after it if it failed, and why. Notes nothing.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    if not session.project.settings.enabled:
        return Explained(Injection(reason=MEANINGS["off"]), ())
    if call.error:
        return Explained(after_failure(session, call), ())
    found = before_tool(session, touched_by(call, cwd, session.project.layout.root))
    rules = {match.entry.id: found.refused.get(match.entry.id, "given") for match in found.matches}
    verdicts = [Verdict(match.entry, rules[match.entry.id], None, None) for match in found.matches[:_LOOKED_AT]]
    return Explained(found.injection, tuple(verdicts))


def _rule(entry: Entry, found: Injection, replaced: set[str], ledger: Mapping[str, str]) -> str:
    if found.reason in ("empty", "command", "small talk"):
        return "triage"
    if entry.id in replaced:
        return "superseded"
    told = {*ledger.values(), *map(key_of, found.entries)}
    if entry.id in {other.id for other in found.folded} or key_of(entry) in told:
        return "alike"
    if isinstance(entry, Hit) and entry.confidence < least_confidence(found.gate, found.floor):
        return "floor"
    return "budget" if entry.id in {other.id for other in found.left_out} else "limit"
