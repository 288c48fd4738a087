"""Which of the hits for a prompt become lines, which are folded into one that says the same, and what is given beside them by a link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.agents.injection import Rules, drop_copies
from memsync.memories.filters import least_confidence
from memsync.memories.links import links_of
from memsync.memories.newer import share_most_words
from memsync.memories.results import Entry, Hit, is_newer
from memsync.records import short_id

if TYPE_CHECKING:
    from memsync.agents.session import RecallSession

TOLD: Final = 0.65  # share of a text's words in the lines above it together, from which it tells nothing new
FIRST: Final = 2  # lines that go by the order of the ranking; the others are the surest
_LINKED: Final = 2
_RELATIONS: Final = {"because": "the reason for {}", "needs": "{} needs it", "see": "see also, for {}"}


class Line(NamedTuple):
    """A hit to show, and those that only say it again."""

    hit: Hit
    alike: tuple[Hit, ...] = ()


def choose_lines(
    hits: Sequence[Hit], *, floor: float, limit: int, is_withheld: Callable[[Hit], object]
) -> tuple[Line, ...]:
    """Return at most *limit* lines of *hits*: the FIRST in their order, then the surest; none where none is sure.

    What is *withheld* opens no gate. It is asked about as few hits as can be, because it reads them.
    """
    falling = sorted(hits, key=lambda hit: -hit.confidence)
    surest = next((hit for hit in falling if hit.confidence < floor or not is_withheld(hit)), None)
    if surest is None:
        return ()
    least = least_confidence(surest.confidence, floor)
    near = [hit for at, hit in enumerate(hits) if hit.confidence >= (least if at else floor)]
    near[FIRST:] = sorted(near[FIRST:], key=lambda hit: -hit.confidence)
    return _fold(near, limit, is_withheld)


def _fold(hits: Sequence[Hit], limit: int, is_withheld: Callable[[Hit], object]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for hit in hits:
        at = _find_alike(lines, hit)
        if (at is None and len(lines) == limit) or is_withheld(hit):
            continue
        if at is None:
            lines.append(Line(hit))
        else:
            lines[at] = lines[at]._replace(alike=(*lines[at].alike, hit))
    return tuple(lines)


def _find_alike(lines: Sequence[Line], hit: Hit) -> int | None:
    """Return which of *lines* says the same as *hit*, or most of it where they say nearly all of it together; None if it is news."""
    near = [n for n, line in enumerate(lines) if share_most_words(line.hit, hit)]
    told = hit.terms.intersection(chain.from_iterable(line.hit.terms for line in lines))
    if not near and told and len(told) >= TOLD * len(hit.terms) and not _has_number(hit, hit.terms - told):
        near = [max(range(len(lines)), key=lambda n: len(lines[n].hit.terms & told))]
    return near[0] if near and not any(_is_apart(lines[n].hit, hit) for n in near) else None


def _is_apart(one: Hit, other: Hit) -> bool:
    """Tell whether two texts alike say different things, so that neither is told by the other."""
    from memsync.index.dedup import APART, decide  # most prompts have no two lines alike

    old, new = (other, one) if is_newer(one.memory, other.memory) else (one, other)
    verdict = decide(new.content, old.content, 1.0)
    return verdict.relation in APART or verdict.may_replace


def _has_number(hit: Hit, terms: Collection[int]) -> bool:
    """Tell whether one of these *terms* of *hit* has a digit: its text is read again for it, which few prompts need."""
    from memsync.index.terms import term_key
    from memsync.index.tokens import Tokenizer

    said = Tokenizer(stop_words=False).record_terms(hit.memory)
    return any(letter.isdigit() for term in said if term_key(term) in terms for letter in term)


def notes_of(lines: Sequence[Line]) -> Mapping[str, str]:
    """Return by id what a line says of the others that are like it."""
    found = {line.hit.id: "; ".join(_notes(line)) for line in lines}
    return {id_: note for id_, note in found.items() if note}


def _notes(line: Line) -> Iterator[str]:
    if line.alike:
        yield f"+{len(line.alike)} alike"
    yield from line.hit.tell_against()


def follow_links(
    session: RecallSession, given: Sequence[Entry], notes: Mapping[str, str], rules: Rules
) -> tuple[list[Entry], dict[str, str]]:
    """Return at most two memories that those *given* link to and that the session may be given, and the *notes* with theirs.

    Reasons come before what is needed, and that before what else to see.
    """
    links = [(entry, link) for entry in given for link in links_of(entry.memory)]
    links.sort(key=lambda pair: list(_RELATIONS).index(pair[1].relation))
    said = dict(notes)
    for entry in given:
        if names := [link.skill for of, link in links if of is entry and link.skill]:
            skills = ", ".join(short_id(name) for name in names[:_LINKED])
            said[entry.id] = "; ".join(filter(None, (said.get(entry.id, ""), f"see the skill {skills}")))
    known = {entry.id for entry in given}
    wanted = {link.target: (entry, link) for entry, link in reversed(links) if not link.skill}
    targets = [target for target in dict.fromkeys(link.target for _, link in links) if target in wanted.keys() - known]
    allowed = [one for one in session.find_all(targets) if not (rules.refusal(one) or session.why_withheld(one))]
    found = drop_copies(allowed, rules.ledger)[:_LINKED]
    for entry in found:
        of, link = wanted[entry.id]
        said[entry.id] = _RELATIONS[link.relation].format(short_id(of.id))
    return [session.project.mark(entry) for entry in found], said
