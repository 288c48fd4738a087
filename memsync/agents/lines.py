"""Which of the hits for a prompt become lines, which are folded into one that says the same, and what is given beside them by a link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from memsync.agents.injection import Rules, drop_copies
from memsync.memories.filters import SURE, least_confidence
from memsync.memories.links import links_of
from memsync.memories.results import Entry, Hit
from memsync.records import shown_id

if TYPE_CHECKING:
    from memsync.agents.session import RecallSession

ALIKE: Final = 0.6  # share of the words of the shorter text that are in the other, from which both may say the same
TOLD: Final = 0.65  # share of a text's words in the lines above it together, from which it tells nothing new
FIRST: Final = 2  # lines that go by the order of the ranking; the others are the surest
FRONT: Final = 0.5  # share of the surest one's confidence from which the first of the ranking is given beside it
SHORT: Final = 12  # terms up to which a text is one statement
_LINKED: Final = 2
_RELATIONS: Final = {"because": "the reason for {}", "needs": "{} needs it", "see": "see also, for {}"}


class Line(NamedTuple):
    """A hit to show, those that only say it again, and those that say otherwise."""

    hit: Hit
    alike: tuple[Hit, ...] = ()
    against: tuple[Hit, ...] = ()


def choose_lines(
    hits: Sequence[Hit], *, floor: float, limit: int, is_withheld: Callable[[Hit], object]
) -> tuple[Line, ...]:
    """Return at most *limit* lines of *hits*: several, the FIRST in their order, then the surest; the surest alone; or none.

    What is *withheld* opens no gate. It is asked about as few hits as can be, because it reads them.
    """
    falling = sorted(hits, key=lambda hit: -hit.confidence)
    surest = next((hit for hit in falling if hit.confidence < floor or not is_withheld(hit)), None)
    if surest is None:
        return ()
    least = least_confidence(surest.confidence, floor)
    near = [hit for hit in hits if hit.confidence >= least]
    if surest.confidence < SURE * floor:
        return _fold(near, min(limit, 1), is_withheld)
    if max(floor, FRONT * surest.confidence) <= hits[0].confidence < least:
        near.insert(0, hits[0])
    near[FIRST:] = sorted(near[FIRST:], key=lambda hit: -hit.confidence)
    return _fold(near, limit, is_withheld)


def _fold(hits: Sequence[Hit], limit: int, is_withheld: Callable[[Hit], object]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for hit in hits:
        at = _find_alike(lines, hit)
        if (at is None and len(lines) == limit) or is_withheld(hit):
            continue
        clash = "" if at is None else find_clash(lines[at].hit, hit)
        if at is not None and not clash:
            lines[at] = lines[at]._replace(alike=(*lines[at].alike, hit))
        elif len(lines) < limit:
            against: tuple[Hit, ...] = ()
            if at is not None:
                against = (lines[at].hit,)
                lines[at] = lines[at]._replace(against=(*lines[at].against, hit))
            lines.append(Line(hit, against=against))
    return tuple(lines)


def _find_alike(lines: Sequence[Line], hit: Hit) -> int | None:
    """Return which of *lines* says the same as *hit*, or most of it where they say nearly all of it together; None if it is news."""
    alike = next((n for n, line in enumerate(lines) if says_the_same(line.hit, hit)), None)
    told = hit.terms.intersection(chain.from_iterable(line.hit.terms for line in lines))
    if alike is not None or not told or len(told) < TOLD * len(hit.terms) or _has_number(hit, hit.terms - told):
        return alike
    return max(range(len(lines)), key=lambda n: len(lines[n].hit.terms & told))


def _has_number(hit: Hit, terms: Collection[int]) -> bool:
    """Tell whether one of these *terms* of *hit* has a digit: its text is read again for it, which few prompts need."""
    from memsync.index.terms import term_key
    from memsync.index.tokens import Tokenizer

    said = Tokenizer(stop_words=False).record_terms(hit.memory)
    return any(letter.isdigit() for term in said if term_key(term) in terms for letter in term)


def says_the_same(one: Hit, other: Hit) -> bool:
    """Tell whether one of the two texts has nearly all the words of the other."""
    shorter = min(len(one.terms), len(other.terms))
    return bool(shorter) and len(one.terms & other.terms) >= ALIKE * shorter


def is_sibling(one: Hit, other: Hit) -> bool:
    """Tell whether two texts are in nearly the same words."""
    return len(one.terms & other.terms) >= ALIKE * max(len(one.terms), len(other.terms))


def find_clash(one: Hit, other: Hit) -> str:
    """Return what two texts in nearly the same words disagree in; "" if one may stand for both.

    Of long ones only values count: on real texts every other negation is about something else.
    """
    if not is_sibling(one, other):
        return ""
    from memsync.dedup import find_doubt  # most prompts have no two lines alike

    doubt = find_doubt(one.content, other.content)
    is_short = max(len(one.terms), len(other.terms)) <= SHORT
    return doubt if is_short or any(map(str.isdigit, doubt)) else ""


def notes_of(lines: Sequence[Line]) -> Mapping[str, str]:
    """Return by id what a line says of the others that are like it."""
    found = {line.hit.id: "; ".join(_notes(line)) for line in lines}
    return {id_: note for id_, note in found.items() if note}


def _notes(line: Line) -> Iterator[str]:
    if line.alike:
        yield f"+{len(line.alike)} alike: {', '.join(shown_id(hit.id) for hit in line.alike)}"
    for other in line.against:
        ours, theirs = line.hit.memory.written_at, other.memory.written_at
        is_newer = ours is not None and (theirs is None or ours > theirs)
        id_ = shown_id(other.id)
        yield f"newer than {id_}, which says otherwise" if is_newer else f"disagrees with {id_}"


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
            skills = ", ".join(shown_id(name) for name in names[:_LINKED])
            said[entry.id] = "; ".join(filter(None, (said.get(entry.id, ""), f"see the skill {skills}")))
    known = {entry.id for entry in given}
    wanted = {link.target: (entry, link) for entry, link in reversed(links) if not link.skill}
    targets = [target for target in dict.fromkeys(link.target for _, link in links) if target in wanted.keys() - known]
    allowed = [one for one in session.find_all(targets) if not (rules.refusal(one) or session.why_withheld(one))]
    found = drop_copies(allowed, rules.ledger)[:_LINKED]
    for entry in found:
        of, link = wanted[entry.id]
        said[entry.id] = _RELATIONS[link.relation].format(shown_id(of.id))
    return [session.project.mark(entry) for entry in found], said
