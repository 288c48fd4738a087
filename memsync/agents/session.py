"""What one agent session is given of the memories, once: the ledger, its rules and its resets.

The ledger is `injected_memory_ids` in the session's workflow variables (seed
000), as id -> hash of the text, so that an edited memory comes again. It lives
in state.db, where every process of the session sees it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from heapq import heappush, heappushpop
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from memsync.agents import context
from memsync.agents.gist import find_gist, split_questions
from memsync.agents.injection import Injection, Matched, Rules, key_of
from memsync.agents.lines import choose_lines, notes_of
from memsync.agents.triage import small_talk
from memsync.memories.filters import SHOWN, Filters, least_confidence, search, sort_by_importance, together
from memsync.memories.project import Project
from memsync.memories.results import Entry, Hit, Recall
from memsync.records import Scope, format_time, parse_time
from memsync.store.state import State

LEDGER: Final = "injected_memory_ids"
_COMPACTED: Final = "compacted_at"
_CLAIMS: Final = "claims"
_KEPT: Final = "kept"
_MATCHED: Final = "matched"
_STARTED: Final = "started"
_TWIN: Final = timedelta(seconds=3)  # a second hook for the same event comes at once, and no hook lives longer
_POOL: Final = 3  # memories looked at per memory wanted, where some may be too long or say the same


class RecallSession:
    """The memories that one session of an agent has been given.

    For a host with its own loop: `on_turn` when the user has said something,
    `on_tool` after each tool, `on_compaction` when the context was dropped.
    Hooks compose the rest: `at_start` and `at_prompt` decide, `commit` notes
    what has really been handed over.
    """

    def __init__(self, project: Project, session_id: str) -> None:
        self.project = project
        self.id = session_id
        self._turn = Injection(reason="no turn has begun")

    # a host's own loop (seed 003)

    def on_turn(self, prompt: str) -> Injection:
        """Return what to add to the context for a new message of the user, and note it."""
        self._turn = self.at_prompt(prompt)
        self.commit(self._turn)
        return self._turn

    def on_tool(self) -> Injection:
        """Return what to add after a tool: nothing, because the turn's memories are there already."""
        count = len(self._turn.entries)
        return Injection(filtered=count, reason="the turn has its memories already")

    @property
    def turn(self) -> Injection:
        """What the present turn was given, for hosts that build each request anew."""
        return self._turn

    def on_compaction(self) -> int:
        """Let everything be given again, and return how many memories had been."""
        return self.reset()

    def at_start(
        self,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        budget: int | None = None,
        first: Sequence[str] = (),
    ) -> Injection:
        """Return the most important memories that the session does not have, grouped by type; those of *first* come first."""
        settings = self.project.settings
        rules = self.rules(threshold)
        limit = settings.injection_limit if limit is None else limit
        new, filtered = self._important(rules, limit * _POOL)
        asked = [entry for entry in self._find(first) if not (rules.refusal(entry) or self.why_withheld(entry))]
        new = [*asked, *(entry for entry in new if entry.id not in first)]
        limit = max(limit, len(asked))
        return self._built(new, filtered, limit=limit, budget=budget, grouped=True)

    def _find(self, ids: Sequence[str]) -> list[Entry]:
        """Return the memories of *ids*, as far as there are any."""
        if not ids:
            return []
        self.project.stores.refresh()
        found = {
            id_: self.project.entry(scope, memory)
            for scope, store in self.project.stores.items()
            for id_ in ids
            if (memory := store.memories().get(id_))
        }
        return [found[id_] for id_ in ids if id_ in found]

    def _important(self, rules: Rules, wanted: int) -> tuple[list[Entry], int]:
        """Return the *wanted* most important memories that pass, and how many the ledger kept back.

        What a memory is worth today is never more than what is written, so most need no look.
        """
        self.project.stores.refresh()
        stores = self.project.stores.items()
        usage = {scope: self.project.state(scope).usage() for scope, _ in stores}
        held = [(scope, memory) for scope, store in stores for memory in store.memories().values()]
        superseded = {
            old
            for scope, memory in held
            if memory.supersedes and not self.waits(self.project.entry(scope, memory, usage[scope]))
            for old in memory.supersedes
        }
        held.sort(key=lambda pair: -pair[1].importance)
        best: list[Entry] = []
        worth: list[float] = []  # a heap of the *wanted* largest
        filtered = 0
        for scope, memory in held:
            is_late = len(worth) == wanted > 0 and memory.importance < worth[0]
            if memory.id in superseded or (is_late and memory.id not in rules.ledger):
                continue
            entry = self.project.entry(scope, memory, usage[scope])
            refusal = rules.refusal(entry)
            filtered += refusal == "ledger"
            if not refusal and not is_late and wanted:
                best.append(entry)
                (heappush if len(worth) < wanted else heappushpop)(worth, entry.effective_importance)
        return [entry for entry in sort_by_importance(best)[:wanted] if not self.why_withheld(entry)], filtered

    def at_prompt(
        self,
        prompt: str,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        budget: int | None = None,
        restart: bool = False,
    ) -> Injection:
        """Return the memories that *prompt* is about and that the session does not have.

        With *restart*, when the only ones that fit were given before, the ledger begins anew (seed 003).
        """
        if why := small_talk(prompt):
            return Injection(reason=why)
        limit = self.project.limit_of(SHOWN) if limit is None else limit
        found, known, replaced = self._search(prompt, self.rules(threshold, asked=True), limit)
        if restart and known and found.gate < found.floor:
            self._forget()
            found, known, replaced = self._search(prompt, self.rules(threshold, asked=True), limit)
        replaced = replaced | superseded_by(hit for hit in found if not found.is_weak(hit))
        done = self._given([hit for hit in found if hit.id not in replaced], found, len(known), limit, budget)
        return done._replace(known=tuple(known))

    def _given(self, hits: Sequence[Hit], found: Recall, filtered: int, limit: int, budget: int | None) -> Injection:
        """Return what of *hits* is given: lines of different facts."""
        lines = choose_lines(hits, floor=found.floor, limit=limit, is_withheld=self.why_withheld)
        marked = [self.project.mark(line.hit) for line in lines]
        done = self._built(marked, filtered, limit=limit, budget=budget, grouped=False, notes=notes_of(lines))
        shown = {entry.id for entry in done.entries}
        folded = tuple(hit for line in lines if line.hit.id in shown for hit in line.alike)
        return done._replace(gate=found.gate, floor=found.floor, folded=folded)

    def _search(self, prompt: str, rules: Rules, limit: int) -> tuple[Recall, list[str], set[str]]:
        """Look with the ledger excluded in the query, and list what it kept back that would have passed.

        Returned too are the ids that a memory which was kept back replaces: that the session has the new text is no
        reason to give it the old one.
        """
        held: set[str] = set()
        replaced: set[str] = set()

        def keep(entry: Entry) -> bool:
            refusal = rules.refusal(entry)
            if refusal == "ledger":
                held.add(entry.id)
            if refusal and refusal not in ("archived", "conflict"):
                replaced.update(entry.memory.supersedes)
            return not refusal

        gist, filters = find_gist(prompt), Filters(archived=True, keep=keep)
        asked = [gist, *split_questions(gist)]
        found = together([search(self.project, text, filters, limit=limit * _POOL) for text in asked])
        surest = max([found.gate, *(found.refused.get(id_, 0.0) for id_ in held)])
        least = least_confidence(surest, found.floor)
        known = sorted(id_ for id_ in held if found.refused.get(id_, 0.0) >= least)
        return found, known, replaced

    def _built(
        self,
        new: Sequence[Entry],
        filtered: int,
        *,
        limit: int,
        budget: int | None,
        grouped: bool,
        notes: Mapping[str, str] = MappingProxyType({}),
    ) -> Injection:
        budget = self.project.settings.injection_budget if budget is None else budget
        block = context.build(
            new,
            self.project.clock(),
            limit=limit,
            budget=budget,
            grouped=grouped,
            is_new=self.project.screening.is_new,
            notes=notes,
        )
        why = "too long for the budget" if block.left_out else "all given before" if filtered else "nothing that fits"
        return Injection(
            text=block.text,
            entries=block.entries,
            filtered=filtered,
            reason="" if block.entries else why,
            left_out=block.left_out,
        )

    def why_withheld(self, entry: Entry) -> str:
        """Return why what *entry* says keeps it from being given: it must not reach a model, or is to be read first."""
        if self.project.screening.holds_secret(entry, lambda: self.project.vetting.allowed):
            return "secret"
        return self.waits(entry) and "flagged"

    def waits(self, entry: Entry) -> str:
        """Return why *entry* reads like an order to an agent, if nobody has approved it."""
        return self.project.screening.screen(entry).flagged

    def rules(self, threshold: float | None = None, *, asked: bool = False) -> Rules:
        """Return the rules that hold for the session now: at its start, or where something was *asked*."""
        known = self.variables()
        return Rules(
            session_id=self.id,
            ledger=_ledger_of(known),
            compacted_at=str(known.get(_COMPACTED, "")),
            threshold=self.project.settings.importance_threshold if threshold is None else threshold,
            asked=asked,
        )

    @property
    def _state(self) -> State | None:
        scope = state_scope(self.project)
        return self.project.state(scope) if scope else None

    def variables(self) -> dict[str, Any]:
        """Return the session's workflow variables."""
        return self._state.variables(self.id) if self._state and self.id else {}

    def keep(self, name: str, text: str) -> None:
        """Keep *text* as a variable of the session, which a workflow may name in braces."""
        self._change(lambda variables: {**variables, _KEPT: {**texts_of(variables), name: text}})

    def kept(self) -> dict[str, str]:
        """Return the texts that were kept for the session."""
        return texts_of(self.variables())

    def has_context(self) -> bool:
        """Tell whether a session that is resumed has what it was given: unless it is new to us, or a compaction took it."""
        variables = self.variables()
        return bool(variables.get(LEDGER)) or (bool(variables) and _COMPACTED not in variables)

    def keep_matched(self, injections: Sequence[Injection], turn: str) -> None:
        """Keep what the prompt of *turn* was about, for the case that the context is compacted before it is answered."""
        given = [entry.id for found in injections for entry in found.entries]
        known = [id_ for found in injections for id_ in found.known]
        if given or known or self.variables().get(_MATCHED):
            self._change(lambda variables: {**variables, _MATCHED: [turn, given, known]})

    def matched(self) -> Matched:
        """Return what the last prompt was about."""
        match self.variables().get(_MATCHED):
            case [str(turn), [*given], [*known]]:
                return Matched(turn, tuple(map(str, given)), tuple(map(str, known)))
        return Matched()

    def keep_start(self, injections: Sequence[Injection]) -> None:
        """Keep what was given at the start of the session."""
        ids = [entry.id for found in injections for entry in found.entries]
        self._change(lambda variables: {**variables, _STARTED: ids})

    def forget_start(self) -> None:
        """Take what was given at the start of the session out of the ledger."""

        def forget(variables: dict[str, Any]) -> dict[str, Any] | None:
            started = variables.get(_STARTED)
            if not isinstance(started, list):
                return None
            left = {id_: key for id_, key in _ledger_of(variables).items() if id_ not in started}
            return {**variables, LEDGER: left, _STARTED: None}

        self._change(forget)

    def adopt(self, ids: Sequence[str]) -> None:
        """Note that the context has the memories of *ids* already."""
        if there := {entry.id: key_of(entry) for entry in self._find(ids)}:
            self._change(lambda variables: {**variables, LEDGER: {**there, **_ledger_of(variables)}})

    def claim(self, event: str) -> bool:
        """Take on *event* (its name and what tells it from the next); False if another process just did.

        The same hook may be installed twice, by a project and by a plugin, and then runs twice at once.
        """
        now = self.project.clock()
        taken = False

        def take(variables: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal taken
            claims = variables.get(_CLAIMS)
            claims = {
                name: at
                for name, at in (claims.items() if isinstance(claims, dict) else ())
                if (when := parse_time(at)) and abs(now - when) < _TWIN
            }
            taken = event in claims
            return None if taken else {**variables, _CLAIMS: {**claims, event: format_time(now)}}

        self._change(take)
        return not taken

    def commit(self, injection: Injection) -> None:
        """Note what was handed over. Done after the output, so that nothing unseen counts as seen."""
        if not injection.entries:
            return
        given = {entry.id: key_of(entry) for entry in (*injection.entries, *injection.folded)}

        def add(variables: dict[str, Any]) -> dict[str, Any]:
            return {**variables, LEDGER: {**_ledger_of(variables), **given}}

        self._change(add)
        now = self.project.clock()
        for scope in dict.fromkeys(entry.scope for entry in injection.entries):
            shown = {
                entry.id: self.project.screening.note(entry) for entry in injection.entries if entry.scope == scope
            }
            state = self.project.state(scope)
            state.record_use([(id_, now) for id_ in shown], shown)
            if self.id:
                state.record_session(self.id, [(id_, "injected", now) for id_ in shown])

    def reset(self) -> int:
        """Empty the ledger because the context is gone, open the session filter, and return how many ids there were."""
        return self._forget({_COMPACTED: format_time(self.project.clock())})

    def _forget(self, also: Mapping[str, Any] | None = None) -> int:
        count = 0

        def empty(variables: dict[str, Any]) -> dict[str, Any]:
            nonlocal count
            count = len(variables.get(LEDGER) or ())
            return {**variables, LEDGER: {}, **(also or {})}

        if self._state and self._state.path.parents[1].is_dir():  # else there is no store, and nothing was ever noted
            self._change(empty)
        return count

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        if self._state and self.id:
            self._state.change_variables(self.id, self.project.clock(), change)


def _ledger_of(variables: Mapping[str, Any]) -> dict[str, str]:
    ledger = variables.get(LEDGER)
    return ledger if isinstance(ledger, dict) else {}


def texts_of(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts kept among the *variables* of a session."""
    found = variables.get(_KEPT)
    return {str(name): str(text) for name, text in found.items()} if isinstance(found, dict) else {}


def superseded_by(entries: Iterable[Entry]) -> set[str]:
    """Return the ids that a memory among *entries* says it replaces."""
    return {old for entry in entries for old in entry.memory.supersedes}


def state_scope(project: Project) -> Scope | None:
    """Return the scope beside whose store sessions are noted: never a directory that the project does not have yet.

    Where the project cannot be written to (a mounted one, another user's), that is the home store.
    """
    layout = project.layout
    is_there = layout.project is not None and layout.project.directory.is_dir() and not project.settings.stealth
    if is_there and (layout.stealth is None or _is_writable(project.state("project").path)):
        return "project"
    return "stealth" if layout.stealth else None


def _is_writable(database: Path) -> bool:
    there = [path for path in (database, database.parent, database.parent.parent) if path.exists()]
    return all(os.access(path, os.W_OK) for path in there)
