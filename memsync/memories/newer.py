"""Facts that changed: of two memories that say the same of another value the newer stands first, and each is told of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from memsync.memories.reach import own
from memsync.memories.results import Entry, Hit, Recall, is_newer
from memsync.records import Memory, Scope

if TYPE_CHECKING:
    from memsync.index.rank import Record
    from memsync.memories.project import Project

ALIKE: Final = 0.6  # share of the words of the shorter text that are in the other, from which both may say the same
_LIKELY: Final = 0.3  # share of them from which one is looked at
_SHORT: Final = 30  # words up to which a text is one statement, whose newer version is looked for
_LOOKED_AT: Final = 8
_MOST: Final = 2  # newer versions; more, and they are of a family, such as the ports of many services

Allow = Callable[[Entry], bool]


def put_newer_first(project: Project, found: Recall, allow: Allow) -> Recall:
    """Return *found* with what may replace a hit that is no weak match before it, as sure as that; it may be one that was not found.

    Where *allow* does not let that in, the older one is only told of it.
    """
    known = {(hit.scope, hit.id): hit for hit in found}
    placed: dict[tuple[Scope, str], Hit] = {}
    for key, hit in known.items():
        newer = None if found.is_weak(hit) or not hit.terms else _find_newer(project, found, hit)
        if newer and ((at := (newer.scope, newer.id)) in known or allow(newer)):
            one = placed.get(at) or known.get(at) or newer
            sure, score = max(one.confidence, hit.confidence), max(one.score, hit.score)
            placed[at] = replace(one, confidence=sure, score=score, against=(*one.against, hit.memory))
        one = placed.get(key, hit)
        placed[key] = replace(one, against=(*one.against, newer.memory)) if newer else one
    return replace(found, hits=tuple(placed.values()))


def share_most_words(one: Hit, other: Hit) -> bool:
    """Tell whether one of the two texts has nearly all the words of the other."""
    shorter = min(len(one.terms), len(other.terms))
    return bool(shorter) and len(one.terms & other.terms) >= ALIKE * shorter


def _find_newer(project: Project, hits: Sequence[Hit], hit: Hit) -> Hit | None:
    """Return the newest text that may replace *hit*, of *hits* or, where none of them does, of all; None if there is none, or a whole family."""
    near = [one for one in hits if is_newer(one.memory, hit.memory) and share_most_words(one, hit)]
    rivals = [one for one in near if _may_replace(one.content, hit.content)]
    if not rivals and len(hit.terms) <= _SHORT:
        written = [one for one in _look_for(project, hit) if _may_replace(one[1].content, hit.content)]
        rivals = [_as_hit(project, hit, one) for one in written]
    return max(rivals, key=lambda one: str(one.memory.written_at)) if 0 < len(rivals) <= _MOST else None


@lru_cache(maxsize=1 << 12)  # most come again, at another question
def _may_replace(new: str, old: str) -> bool:
    from memsync.index.dedup import may_replace

    return may_replace(new, old)


def _look_for(project: Project, hit: Hit) -> list[Record]:

    def allow(_: Scope, memory: Memory) -> float | None:
        is_open = memory.archived_at is None and memory.conflict_of is None and memory.id != hit.id
        return 0.0 if is_open and is_newer(memory, hit.memory) else None

    return own(project, hit).finder.find_sharing(hit.terms, _LIKELY, limit=_LOOKED_AT, allow=allow)


def _as_hit(project: Project, hit: Hit, record: Record) -> Hit:
    """Return *record*, which lies where *hit* does, as a hit that no query found."""
    from memsync.index.terms import term_key
    from memsync.index.tokens import Tokenizer

    owner = own(project, hit)
    terms = frozenset(map(term_key, Tokenizer(stop_words=False).record_terms(record[1])))
    return Hit(**owner.mark(owner.entry(*record)).fields(), score=0.0, parts={}, terms=terms)
