"""What one agent session is given of the memories, once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from heapq import heappush, heappushpop
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from memsync.agents.injection import CAP, Injection, Rules, drop_copies, key_of
from memsync.agents.ledger import Ledger, ledger_of
from memsync.agents.notes import COMPACTED, HELPED, LEDGER, NOTHING
from memsync.agents.prompts import list_questions, small_talk
from memsync.memories.filters import SHOWN, Filters, least_confidence, together
from memsync.memories.listing import count_all, read_foremost, read_named
from memsync.memories.project import Project
from memsync.memories.reach import is_elsewhere, is_here, own, search_all, walk
from memsync.memories.results import Entry, Hit, Recall
from memsync.records import SKILL_PREFIX, Memory, Scope, short_id
from memsync.store.settings import USUAL_LIMIT

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.agents.lines import Line

_POOL: Final = 3  # memories looked at per memory wanted, where some may be too long or say the same
Record = tuple[Project, Scope, Memory]  # of whose store it is

_NONE: Final[Mapping[str, float]] = MappingProxyType({})
_UUID_HEAD: Final = 8  # characters
_SPARE: Final = 2  # times the wanted, that are read where the index tells which are worth most


class RecallSession(Ledger):
    """The memories that one session of an agent has been given.

    For a host with its own loop: `on_turn` when the user has said something,
    `on_tool` after each tool, `on_compaction` when the context was dropped.
    Hooks compose the rest: `at_start` and `at_prompt` decide, `commit` notes
    what has really been handed over.
    """

    def __init__(self, project: Project, session_id: str) -> None:
        super().__init__(project, session_id)
        self._turn = Injection(reason="no turn has begun")
        self._held: dict[str, str] = {}  # what this answer gives already, in the form of the ledger

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
        folder: str = "",
        room: int = CAP,
    ) -> Injection:
        """Return all memories of a small store; of another one the most important that the session does not have, and its subjects.

        They are grouped by type. Those of *first* come first, then what the branch is about, then those scoped to the
        *folder* that the session is in; those scoped to others wait for a question. Of equals those come that were not
        given lately. There are *room* characters; a *limit*, *threshold* or *budget* of the caller's is for no whole store.
        """
        from memsync.agents import start

        here = Path(folder) if folder else self.project.layout.start
        settings = self.project.settings
        rules = self.rules(threshold)
        is_usual = limit is threshold is budget is None
        if is_usual and settings.injection_limit >= USUAL_LIMIT and (whole := self._whole(rules, here, room)):
            return whole
        budget = min(settings.injection_budget if budget is None else budget, room)
        limit = settings.injection_limit if limit is None else limit
        turns = start.find_turns(self.project)
        new, filtered = find_important(self, rules, limit * _POOL, here, turns)
        new = keep_own(self, rules, new, limit, here, turns)
        may_come = self._find_allowed(rules._replace(asked=True))
        first = [*first, *(start.find_on_branch(self.project, may_come) if is_usual else ())]
        first += [entry.id for entry in new if is_here(self.project, here, entry)]
        asked = list(filter(may_come, self.find_all(dict.fromkeys(first))))
        new = drop_copies((*asked, *(entry for entry in new if entry.id not in first)), rules.ledger)
        tail = start.map_subjects(self.project) if is_usual and limit else ""
        limit = max(limit, len(asked))
        done = self.build(new, filtered, limit=limit, budget=budget, grouped=True, tail=tail)
        if tail and not done.entries and not filtered:  # all have faded, which is no reason to be silent of them
            done = done._replace(text=start.wrap_alone(tail, budget))
        return done._replace(is_unasked=True)

    def _find_allowed(self, rules: Rules) -> Callable[[Entry], bool]:
        return lambda entry: not (rules.refusal(entry) or self.why_withheld(entry))

    def _whole(self, rules: Rules, here: Path, room: int) -> Injection | None:
        """Return all that *rules* let pass, by its importance as written, where that is little; None where it is not."""
        from memsync.agents.start import SMALL, WHOLE

        project, budget = self.project, min(WHOLE * self.project.settings.injection_budget, room)
        if project.above or count_all(project) > SMALL:
            return None
        all_, filtered = find_important(self, rules._replace(threshold=0.0), SMALL, here)
        new = drop_copies((one for one in all_ if one.memory.importance >= rules.threshold), rules.ledger)
        done = self.build(new, filtered, limit=len(new), budget=budget, grouped=True)
        return None if done.left_out else done._replace(is_unasked=True)

    def find_all(self, ids: Iterable[str]) -> list[Entry]:
        """Return the memories of *ids*, as far as there are any."""
        if not (ids := list(ids)):
            return []
        held: list[Record]
        if (records := read_named(self.project, ids)) is not None:
            held = [(self.project, scope, memory) for scope, memory in records]
        else:
            self.project.stores.refresh()
            held = [
                (owner, scope, memory)
                for owner, scope, store in walk(self.project)
                for id_ in ids
                if (memory := store.memories().get(id_))
            ]
        found = {memory.id: owner.entry(scope, memory) for owner, scope, memory in reversed(held)}
        return [found[id_] for id_ in ids if id_ in found]

    def at_prompt(
        self,
        prompt: str,
        *,
        limit: int | None = None,
        threshold: float | None = None,
        budget: int | None = None,
        restart: bool = False,
        typed: bool = True,
    ) -> Injection:
        """Return the memories that *prompt* is about and that the session does not have.

        With *restart*, when the only ones that fit were given before, the ledger begins anew. A text that is
        not *typed* by the user is no small talk.
        """
        if typed and (why := small_talk(prompt)):
            return Injection(reason=why)
        limit = self.project.limit_of(SHOWN) if limit is None else limit
        rules = self.rules(threshold, asked=True)
        found, known, replaced = self._search(prompt, rules, limit, typed=typed)
        if restart and self._held.keys().isdisjoint(known) and known and found.gate < found.floor:
            self._forget()
            rules = rules._replace(ledger=self._held)
            found, known, replaced = self._search(prompt, rules, limit, typed=typed)
        replaced = replaced | superseded_by(hit for hit in found if not found.is_weak(hit))
        if not found.hits:
            done = self.build((), len(known), limit=limit, budget=budget)
            return done._replace(gate=found.gate, floor=found.floor, degraded=found.degraded, known=tuple(known))
        hits = drop_copies((hit for hit in found if hit.id not in replaced), rules.ledger)
        done = self._build_lines(hits, found, len(known), limit, budget, rules)._replace(known=tuple(known))
        if done.entries or known or not (typed and self.project.settings.headlines):
            return done
        from memsync.agents.headlines import add_headlines

        room = self.project.settings.injection_budget if budget is None else budget
        return add_headlines(done, hits, found, room, self.shown(), self.why_withheld)

    def _build_lines(
        self, hits: Sequence[Hit], found: Recall, filtered: int, limit: int, budget: int | None, rules: Rules
    ) -> Injection:
        """Return what of *hits* is given: lines of different facts."""
        from memsync.agents.lines import choose_lines, notes_of

        lines = choose_lines(hits, floor=found.floor, limit=limit, is_withheld=self.why_withheld)
        marked: list[Entry] = [self.project.mark(line.hit) for line in lines]
        notes = _note_places(found.query or "", lines, notes_of(lines))
        if any(entry.memory.links or "[[" in entry.content for entry in marked):
            from memsync.agents.lines import follow_links

            linked, notes = follow_links(self, marked, notes, rules)
            marked, limit = [*marked, *linked], limit + len(linked)
        done = self.build(marked, filtered, limit=limit, budget=budget, grouped=False, notes=notes)
        shown = {entry.id for entry in done.entries}
        folded = tuple(hit for line in lines if line.hit.id in shown for hit in line.alike)
        return done._replace(gate=found.gate, floor=found.floor, folded=folded, degraded=found.degraded)

    def _search(self, prompt: str, rules: Rules, limit: int, *, typed: bool) -> tuple[Recall, list[str], set[str]]:
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

        asked, filters = list_questions(prompt), Filters(archived=True, keep=keep)
        project, floor = self.project, self.project.settings.recall_threshold
        least = project.settings.least_named if typed else floor
        # A hook is in a hurry, and reads no record that cannot answer.
        is_alone = project.is_brief and project.above is None
        if is_alone and not any(project.finder.can_reach(text, least) for text in asked):
            return Recall(hits=(), query=prompt, floor=floor), [], set()
        found = together([search_all(self.project, text, filters, limit=limit * _POOL) for text in asked])
        if found.gate >= found.floor:
            from memsync.memories.newer import put_newer_first

            found = put_newer_first(project, found, lambda entry: not rules.refusal(entry))
        surest = max([found.gate, *(found.refused.get(id_, 0.0) for id_ in held)])
        least = least_confidence(surest, found.floor)
        known = sorted(id_ for id_ in held if found.refused.get(id_, 0.0) >= least)
        return found, known, replaced

    def build(
        self,
        new: Sequence[Entry],
        filtered: int,
        *,
        limit: int,
        budget: int | None = None,
        grouped: bool = False,
        notes: Mapping[str, str] = MappingProxyType({}),
        tail: str = "",
    ) -> Injection:
        """Return as many of *new* as are wanted and fit, and the *tail* below them; *filtered* others the session has."""
        if not new:
            return Injection(filtered=filtered, reason="all given before" if filtered else NOTHING)
        from memsync.agents import context

        budget = self.project.settings.injection_budget if budget is None else budget
        block = context.build(
            new,
            self.project.clock(),
            limit=limit,
            budget=budget,
            grouped=grouped,
            is_new=lambda entry: entry.scope == "project" and own(self.project, entry).screening.is_new(entry),
            notes=notes,
            tail=tail,
        )
        why = "too long for the budget" if block.left_out else "all given before" if filtered else NOTHING
        return Injection(
            text=block.text,
            entries=block.entries,
            filtered=filtered,
            reason="" if block.entries else why,
            left_out=block.left_out,
        )

    def why_withheld(self, entry: Entry) -> str:
        """Return why what *entry* says keeps it from being given: it must not reach a model, is to be read first, or is about nothing any more."""
        owner = own(self.project, entry)
        if owner.screening.holds_secret(entry, lambda: owner.vetting.allowed):
            return "secret"
        if self.waits(entry):
            return "flagged"
        if not entry.memory.anchors or owner.layout.root is None or entry.scope == "global":
            return ""
        from memsync.memories.citations import is_gone  # most memories have no anchors

        return "gone" if is_gone(entry.memory.anchors, owner.layout.root) else ""

    def waits(self, entry: Entry) -> str:
        """Return why *entry* reads like an order to an agent, if nobody has approved it."""
        return own(self.project, entry).screening.screen(entry).flagged

    def rules(self, threshold: float | None = None, *, asked: bool = False) -> Rules:
        """Return the rules that hold for the session now: at its start, or where something was *asked*."""
        known = self.variables()
        return Rules(
            session_id=self.id,
            ledger={**ledger_of(known), **self._held},
            compacted_at=str(known.get(COMPACTED, "")),
            threshold=self.project.settings.importance_threshold if threshold is None else threshold,
            asked=asked,
        )

    def note_shown(self, ids: Iterable[str]) -> None:
        """Note that the agent was shown the memories of *ids* because it asked, or has stored them itself.

        Nothing is noted while a subagent is at work: what only that has seen must not be kept from the session.
        """
        if self.id and not self.variables().get(HELPED):
            self.adopt(ids)

    def adopt(self, ids: Iterable[str]) -> None:
        """Note that the context has the memories of *ids* already."""
        if there := {entry.id: key_of(entry) for entry in self.find_all(spell_out(self.project, ids))}:
            self._change(lambda variables: {**variables, LEDGER: {**there, **ledger_of(variables)}})

    def take(self, injections: Sequence[Injection], by: str) -> list[Injection]:
        """Return *injections* without what another hook of the session gives just now; *by*: which hook asks."""
        wanted = {entry.id: key_of(entry) for found in injections for entry in found.entries}
        mine = self.claim_giving(wanted, by) if wanted else set()
        return [self._leave(found, wanted.keys() - mine) for found in injections]

    def leave(self, injections: Sequence[Injection]) -> None:
        """Let other hooks give *injections* at once, which `take` took and nobody saw."""
        self.end_giving({entry.id for found in injections for entry in found.entries})

    def _leave(self, found: Injection, ids: Collection[str]) -> Injection:
        """Return *found* without the memories of *ids*."""
        kept = [entry for entry in found.entries if entry.id not in ids]
        if len(kept) == len(found.entries):
            return found
        left = self.build(kept, found.filtered + len(found.entries) - len(kept), limit=len(kept))
        return found._replace(text=left.text, entries=left.entries, filtered=left.filtered, reason=left.reason)

    def hold(self, injection: Injection) -> None:
        """Keep what *injection* gives out of whatever else this answer gives: it is in the ledger only when it was handed over."""
        self._held |= _keys_of(injection)

    def commit(self, injection: Injection) -> None:
        """Note what was handed over. Done after the output, so that nothing unseen counts as seen."""
        if not (injection.entries or injection.headlines):
            return
        given, named = _keys_of(injection), {entry.id: key_of(entry) for entry in injection.headlines}
        self.note_given(given, named)
        self._held = {id_: key for id_, key in self._held.items() if id_ not in given}
        self.record(injection)

    def record(self, injection: Injection) -> None:
        """Count what was handed over as used, unless nobody asked for it, and note it as shown, but not as what the session has."""
        now = self.project.clock()
        for entry in injection.headlines if self.id else ():
            own(self.project, entry).state(entry.scope).record_session(self.id, [(entry.id, "shown", now)])
        of = {(entry.repo, entry.scope): own(self.project, entry) for entry in injection.entries}
        for place, owner in of.items():
            entries = [entry for entry in injection.entries if (entry.repo, entry.scope) == place]
            shown = {entry.id: owner.screening.note(entry) for entry in entries}
            state = owner.state(place[1])
            # A skill that is named is not used yet, nor is what nobody asked for.
            used = () if injection.is_unasked else (id_ for id_ in shown if not id_.startswith(SKILL_PREFIX))
            state.record_use([(id_, now) for id_ in used], shown)
            if self.id:
                state.record_session(self.id, [(id_, "injected", now) for id_ in shown])


def _note_places(prompt: str, lines: Iterable[Line], notes: Mapping[str, str]) -> Mapping[str, str]:
    """Return *notes*, with the place that the *prompt* names before that of each line which is anchored there."""
    placed = [line.hit for line in lines if line.hit.parts.get("place")]
    if not placed:
        return notes
    from memsync.index.places import find_anchor
    from memsync.safety.guard import quoted

    where = {hit.id: f"for {quoted(find_anchor(prompt, hit.memory.anchors))}" for hit in placed}
    return {**notes, **{id_: "; ".join(filter(None, (note, notes.get(id_)))) for id_, note in where.items()}}


def _keys_of(injection: Injection) -> dict[str, str]:
    """Return what the ledger has for *injection* once it was handed over."""
    return {entry.id: key_of(entry) for entry in (*injection.entries, *injection.folded)}


def spell_out(project: Project, ids: Iterable[str]) -> list[str]:
    """Return *ids*, of which some may be the first part of a UUID, as an agent's context has it, whole."""
    named = list(ids)
    if not any(len(id_) == _UUID_HEAD and "-" not in id_ for id_ in named):
        return named
    known = {short_id(id_): id_ for _, _, store in walk(project) for id_ in store.memories()}
    return [known.get(id_, id_) for id_ in named]


def superseded_by(entries: Iterable[Entry]) -> set[str]:
    """Return the ids that a memory among *entries* says it replaces."""
    return {old for entry in entries for old in entry.memory.supersedes}


def keep_own(
    session: RecallSession, rules: Rules, new: Sequence[Entry], limit: int, here: Path, turns: Mapping[str, float]
) -> list[Entry]:
    """Return *new*, the most important first, with up to half of the *limit* places for what the speaker wrote.

    What is the speaker's among the first counts. Of the rest the preferences come first.
    """
    if len(new) <= limit or (me := session.project.author) is None:
        return list(new)
    own = [entry for entry in new[:limit] if entry.memory.author == me]
    if len(own) >= limit // 2:
        return list(new)
    more, _ = find_important(session, rules, len(new), here, turns, me)
    more = [entry for entry in more if entry not in own]
    more.sort(key=lambda entry: entry.memory.memory_type != "preference")
    own += more[: limit // 2 - len(own)]
    return [*own, *(entry for entry in new if entry not in own)]


def find_important(
    session: RecallSession,
    rules: Rules,
    wanted: int,
    here: Path,
    turns: Mapping[str, float] = _NONE,
    author: str | None = None,
) -> tuple[list[Entry], int]:
    """Return the *wanted* most important memories, or those of *author*, that *rules* let pass, and how many the ledger kept back.

    By *turns* each is worth so much less. Those that the index puts first are enough, unless the rules keep back too many of them.
    """
    project, now = session.project, session.project.clock()
    best: list[Entry] = []
    filtered = 0
    if some := read_foremost(project, rules.ledger, _SPARE * wanted, rules.threshold, now, turns, author):
        records = ((project, scope, memory) for scope, memory in some.records)
        best, filtered = _choose(session, records, rules, wanted, here, now, turns, author)
    if some is None or not _is_enough(best, wanted, some.rest, turns):
        project.stores.refresh()
        every = ((owner, scope, one) for owner, scope, store in walk(project) for one in store.memories().values())
        best, filtered = _choose(session, every, rules, wanted, here, now, turns, author)
    return [entry for entry in best if not session.why_withheld(entry)], filtered


def _place(entry: Entry, turns: Mapping[str, float]) -> tuple[float, str, Scope]:
    return turns.get(entry.id, 0.0) - entry.effective_importance, entry.id, entry.scope


def _is_enough(
    best: Sequence[Entry], wanted: int, rest: tuple[float, str, Scope] | None, turns: Mapping[str, float]
) -> bool:
    """Tell whether none that stands at *rest* or behind it in a list could be among the *wanted*, of which *best* were found."""
    if rest is None or not wanted:
        return True
    last = best[-1] if len(best) == wanted else None
    return last is not None and _place(last, turns) < rest


def _choose(
    session: RecallSession,
    records: Iterable[Record],
    rules: Rules,
    wanted: int,
    here: Path,
    now: datetime,
    turns: Mapping[str, float],
    author: str | None,
) -> tuple[list[Entry], int]:
    """Return the *wanted* most important of *records* (of *author*) that *rules* let pass, and how many the ledger kept back.

    What a memory is worth today is never more than what is written, so most need no look.
    """
    held: dict[tuple[str, str], Record] = {}
    for owner, scope, memory in records:  # of two versions in a nested store and above it, the nearer
        held.setdefault((memory.id, "" if scope == "project" else scope), (owner, scope, memory))
    usage_of = cache(lambda owner, scope: owner.state(scope).usage())
    superseded = {
        old
        for owner, scope, memory in held.values()
        if memory.supersedes and not session.waits(owner.entry(scope, memory, usage_of(owner, scope)))
        for old in memory.supersedes
    }
    best: list[Entry] = []
    worth: list[float] = []  # a heap of the *wanted* largest
    filtered = 0
    for owner, scope, memory in sorted(held.values(), key=lambda one: -one[2].importance):
        is_late = len(worth) == wanted > 0 and memory.importance < worth[0]
        if (
            memory.id in superseded
            or author not in (None, memory.author)
            or (is_late and memory.id not in rules.ledger)
        ):
            continue
        entry = owner.entry(scope, memory, usage_of(owner, scope), now)
        refusal = rules.refusal(entry) or (is_elsewhere(owner, here, memory) and "elsewhere")
        filtered += refusal == "ledger"
        if not refusal and not is_late and wanted:
            best.append(entry)
            (heappush if len(worth) < wanted else heappushpop)(worth, -_place(entry, turns)[0])
    return sorted(best, key=lambda entry: _place(entry, turns))[:wanted], filtered
