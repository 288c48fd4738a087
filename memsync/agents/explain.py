"""Why an agent would be given each memory, or not: the decision of a hook, looked at without making it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from memsync.agents.bump import list_bumps
from memsync.agents.complaints import after_failure
from memsync.agents.injection import Injection, key_of
from memsync.agents.prompts import list_questions
from memsync.agents.session import RecallSession, superseded_by
from memsync.agents.toolcall import ToolCall
from memsync.agents.tools import decide, say_why, touched_by
from memsync.index.places import find_anchor
from memsync.index.synonyms import find_word
from memsync.index.terms import embedding_text
from memsync.memories.anchored import Touched
from memsync.memories.filters import PARTIAL, Filters, least_confidence, sort_by_importance, together
from memsync.memories.newer import share_most_words
from memsync.memories.results import Entry, Hit, Recall
from memsync.records import shown_id

_LOOKED_AT: Final = 30
_BUMP: Final = ", and the call is refused once (memory.bump)"
_RARE: Final = 0.35  # rarity from which a word of a prompt is told
_MOST: Final = 8  # words told of each kind

TRIAGED: Final[Mapping[str, str]] = {
    "empty": "The prompt is empty.",
    "command": "The prompt is a command of the client, which asks for no memory.",
    "small talk": "The prompt is small talk, which asks for no memory.",
}

# What each verdict means, for people.
MEANINGS: Final[Mapping[str, str]] = {
    "given": "would be given",
    "headline": "it is not sure enough to be given, and would be named in a dozen words",
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


class Evidence(NamedTuple):
    """What speaks for a memory at a prompt: rare words of the prompt that it has, others by what it has in their place, and those that it lacks.

    `place` is the anchor that the prompt names, `part` the part of a long prompt that found it, `alike` the line that says the same.
    `why` is what a tool's call touches of it, `tags` are those that the prompt says whole and that hardly another memory has a word of.
    """

    has: tuple[str, ...] = ()
    instead: tuple[tuple[str, str], ...] = ()
    lacks: tuple[str, ...] = ()
    place: str = ""
    part: str = ""
    alike: str = ""
    why: str = ""
    tags: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return what there is of it."""
        named = self._asdict() | {"instead": [{"asked": asked, "has": has} for asked, has in self.instead]}
        return {name: list(one) if isinstance(one, tuple) else one for name, one in named.items() if one}


class Verdict(NamedTuple):
    """One memory and the rule that decided about it; a prompt gave it a score, and says how sure that is, and by what."""

    entry: Entry
    rule: str
    score: float | None
    confidence: float | None
    evidence: Evidence = Evidence()

    def as_dict(self) -> dict[str, Any]:
        """Return id, text, rule, what the rule means, the score, and the evidence."""
        given = {"score": self.score, "confidence": self.confidence}
        score = {name: round(value, 4) for name, value in given.items() if value is not None}
        memory, evidence = self.entry.memory, self.evidence.as_dict()
        about = {"id": memory.id, "content": memory.content, "rule": self.rule, "means": MEANINGS[self.rule], **score}
        return about | ({"evidence": evidence} if evidence else {})


class Explained(NamedTuple):
    """What a hook would give, and its verdict about the memories that came nearest.

    `needed` is the confidence from which a line was given beside the surest; `why` says in a sentence why nothing was.
    """

    injection: Injection
    verdicts: tuple[Verdict, ...]
    needed: float | None = None
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the result of the action, the gate, and the verdicts."""
        found = self.injection
        return {
            **found.as_dict(),
            "reason": found.reason,
            "gate": round(found.gate, 4),
            "floor": found.floor,
            **({"needed": round(self.needed, 4)} if self.needed is not None else {}),
            **({"why": self.why} if self.why else {}),
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
        parts = list_questions(prompt) if prompt.strip() else []
        asked = [session.project.search(text, everything, limit=_LOOKED_AT) for text in parts]
        near = together(asked) if asked else ()
    is_on = session.project.settings.enabled
    near = list(near)
    replaced = superseded_by(entry for entry in near if entry.memory.supersedes and not session.waits(entry))
    rules = session.rules(asked=prompt is not None)
    given = {entry.id for entry in found.entries}
    verdicts = []
    for entry in sorted(near, key=lambda entry: entry.id not in given)[:_LOOKED_AT]:
        rule = "given" if entry.id in given else _rule(entry, found, replaced, rules.ledger)
        refusal = rules.refusal(entry) or session.why_withheld(entry)
        rule = rule if rule in ("given", "triage") else refusal or rule
        if isinstance(entry, Hit) and prompt is not None:
            lines = (one for one in near if isinstance(one, Hit) and one.id in given) if rule == "alike" else ()
            alike = next((one.id for one in lines if share_most_words(one, entry)), "")
            evidence = find_evidence(asked, entry)._replace(alike=alike)
            verdicts.append(Verdict(entry, rule, entry.score, entry.confidence, evidence))
        else:
            verdicts.append(Verdict(entry, rule, None, None))
    if not is_on:
        verdicts = [verdict._replace(rule="off") for verdict in verdicts]
        found = Injection(reason=MEANINGS["off"])
    least = least_confidence(found.gate, found.floor) if found.floor else inf
    needed = least if least < inf else found.floor or None
    return Explained(found, tuple(verdicts), needed, "" if found.entries else say_why_nothing(found, verdicts))


def find_evidence(asked: Sequence[Recall], hit: Hit) -> Evidence:
    """Return what speaks for *hit* in the recall of a prompt, or of the part of it, that is the surest of it; the prompt comes first."""
    surest = {
        at: one.confidence * (PARTIAL if at else 1.0)
        for at, found in enumerate(asked)
        for one in found
        if one.id == hit.id
    }
    at = max(surest, key=lambda number: surest[number], default=0)
    found, text = asked[at], asked[at].query or ""
    words = found.account(hit.memory) if found.account else ()
    rare = [one for one in words if one.rarity >= _RARE]
    said = [one for one in rare if one.by == (one.term,)]
    instead = [(find_word(one.term, text), _spell(one.by, hit)) for one in rare if one.by and one.by != (one.term,)]
    return Evidence(
        has=tuple(find_word(one.term, text) for one in said)[:_MOST],
        instead=tuple(pair for pair in instead if pair[0] != pair[1])[:_MOST],
        lacks=tuple(find_word(one.term, text) for one in rare if not one.by)[:_MOST],
        place=find_anchor(text, hit.memory.anchors) if hit.parts.get("place") else "",
        part=text if at else "",
        tags=tuple(dict.fromkeys(one.tag for one in words if one.tag)),
    )


def _spell(terms: Sequence[str], hit: Hit) -> str:
    said = embedding_text(hit.memory)
    return " ".join(sorted((find_word(term, said) for term in terms), key=said.find))


def say_why_nothing(found: Injection, verdicts: Sequence[Verdict]) -> str:
    """Return in a sentence why nothing is given."""
    if found.reason in TRIAGED:
        return TRIAGED[found.reason]
    if verdicts and verdicts[0].rule == "off":
        return "Memories are switched off (memory.enabled)."
    surest = max(verdicts, key=lambda one: one.confidence or 0.0, default=None)
    if surest is None:
        return "No memory shares a word or a meaning with the prompt."
    id_, sure = shown_id(surest.entry.id), surest.confidence
    if surest.rule == "floor" and sure is not None:
        return f"The surest memory, {id_}, has a confidence of {sure:.2f}, and {found.floor:.2f} is needed (memory.recall_threshold)."
    return f"{id_} comes nearest, but {MEANINGS[surest.rule]}."


def explain_tool(session: RecallSession, call: ToolCall, cwd: str) -> Explained:
    """Return what *session* would be given before *call*, made in *cwd*, or after it if it failed, and why. Notes nothing.

    Raises:
        ConfigError, StoreUnreadable, OutsideTree
    """
    if not session.project.settings.enabled:
        return Explained(Injection(reason=MEANINGS["off"]), ())
    root = session.project.layout.root
    found = decide(session, Touched() if call.error else touched_by(call, cwd, root), call.error)
    more = Injection()
    if call.error:
        session.hold(found.injection)
        more = after_failure(session, call, cwd, found.due)
        if not found.due:
            return Explained(more, ())
    rules = {match.entry.id: found.refused.get(match.entry.id, "given") for match in found.matches}
    bumps = [] if call.error else list_bumps(session, found.matches)
    verdicts = [
        Verdict(match.entry, rules[match.entry.id], None, None, Evidence(why=say_why(match) + _BUMP * (match in bumps)))
        for match in found.matches[:_LOOKED_AT]
    ]
    verdicts += [Verdict(entry, "given", None, None, Evidence(why=more.reason)) for entry in more.entries]
    texts = [one.text for one in (found.injection, more) if one.text]
    return Explained(found.injection._replace(text="\n".join(texts)), tuple(verdicts))


def _rule(entry: Entry, found: Injection, replaced: set[str], ledger: Mapping[str, str]) -> str:
    if found.reason in TRIAGED:
        return "triage"
    if entry.id in replaced:
        return "superseded"
    if entry.id in {other.id for other in found.headlines}:
        return "headline"
    told = {*ledger.values(), *map(key_of, found.entries)}
    if entry.id in {other.id for other in found.folded} or key_of(entry) in told:
        return "alike"
    if isinstance(entry, Hit) and entry.confidence < least_confidence(found.gate, found.floor):
        return "floor"
    return "budget" if entry.id in {other.id for other in found.left_out} else "limit"
