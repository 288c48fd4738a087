"""The most important memories that a session does not have, which it is given at its start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from heapq import heappush, heappushpop
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memsync.agents.injection import Rules
from memsync.memories.filters import sort_by_importance
from memsync.memories.listing import read_foremost
from memsync.memories.project import Project
from memsync.memories.reach import is_elsewhere, walk
from memsync.memories.results import Entry
from memsync.records import Memory, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.agents.session import RecallSession

Record = tuple[Project, Scope, Memory]  # of whose store it is

_SPARE: Final = 2  # times the wanted, that are read where the index tells which are worth most


def keep_own(session: RecallSession, rules: Rules, new: Sequence[Entry], limit: int, here: Path) -> list[Entry]:
    """Return *new*, the most important first, with up to half of the *limit* places for what the speaker wrote (seed 004).

    What is the speaker's among the first counts. Of the rest the preferences come first.
    """
    if len(new) <= limit or (me := session.project.author) is None:
        return list(new)
    own = [entry for entry in new[:limit] if entry.memory.author == me]
    if len(own) >= limit // 2:
        return list(new)
    more, _ = find_important(session, rules, len(new), here, me)
    more = [entry for entry in more if entry not in own]
    more.sort(key=lambda entry: entry.memory.memory_type != "preference")
    own += more[: limit // 2 - len(own)]
    return [*own, *(entry for entry in new if entry not in own)]


def find_important(
    session: RecallSession, rules: Rules, wanted: int, here: Path, author: str | None = None
) -> tuple[list[Entry], int]:
    """Return the *wanted* most important memories, or those of *author*, that *rules* let pass, and how many the ledger kept back.

    Those that the index puts first are enough, unless the rules keep back too many of them.
    """
    project, now = session.project, session.project.clock()
    best: list[Entry] = []
    filtered = 0
    if some := read_foremost(project, rules.ledger, _SPARE * wanted, rules.threshold, now, author):
        records = ((project, scope, memory) for scope, memory in some.records)
        best, filtered = _choose(session, records, rules, wanted, here, now, author)
    if some is None or not _is_enough(best, wanted, some.rest):
        project.stores.refresh()
        every = ((owner, scope, one) for owner, scope, store in walk(project) for one in store.memories().values())
        best, filtered = _choose(session, every, rules, wanted, here, now, author)
    return [entry for entry in best if not session.why_withheld(entry)], filtered


def _is_enough(best: Sequence[Entry], wanted: int, rest: tuple[float, str, Scope] | None) -> bool:
    """Tell whether none that stands at *rest* or behind it in a list could be among the *wanted*, of which *best* were found."""
    if rest is None or not wanted:
        return True
    last = best[-1] if len(best) == wanted else None
    return last is not None and (-last.effective_importance, last.id, last.scope) < rest


def _choose(
    session: RecallSession,
    records: Iterable[Record],
    rules: Rules,
    wanted: int,
    here: Path,
    now: datetime,
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
            (heappush if len(worth) < wanted else heappushpop)(worth, entry.effective_importance)
    return sort_by_importance(best)[:wanted], filtered
