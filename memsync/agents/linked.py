"""What is given beside the lines of a prompt because they link to it: one hop, two lines, and the names of skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memsync.agents.injection import Rules, drop_copies
from memsync.memories.links import Link, links_of
from memsync.memories.results import Entry
from memsync.records import shown_id

if TYPE_CHECKING:
    from memsync.agents.session import RecallSession

_MOST: Final = 2
_SAID: Final = {"because": "the reason for {}", "needs": "{} needs it", "see": "see also, for {}"}


def follow_links(
    session: RecallSession, given: Sequence[Entry], notes: Mapping[str, str], rules: Rules
) -> tuple[list[Entry], dict[str, str]]:
    """Return at most two memories that those *given* link to and that the session may be given, and the *notes* with theirs.

    Reasons come before what is needed, and that before what else to see.
    """
    links = [(entry, link) for entry in given for link in links_of(entry.memory)]
    links.sort(key=lambda pair: list(_SAID).index(pair[1].relation))
    said = dict(notes)
    for entry in given:
        if names := [link.skill for of, link in links if of is entry and link.skill]:
            skills = ", ".join(shown_id(name) for name in names[:_MOST])
            said[entry.id] = "; ".join(filter(None, (said.get(entry.id, ""), f"see the skill {skills}")))
    known = {entry.id for entry in given}
    wanted = {link.target: (entry, link) for entry, link in reversed(links) if not link.skill}
    targets = [target for target in dict.fromkeys(link.target for _, link in links) if target in wanted.keys() - known]
    found = drop_copies(_find_allowed(session, targets, rules), rules.ledger)[:_MOST]
    for entry in found:
        said[entry.id] = _describe(*wanted[entry.id])
    return [session.project.mark(entry) for entry in found], said


def _find_allowed(session: RecallSession, ids: Iterable[str], rules: Rules) -> list[Entry]:
    found = session.find_all(ids)
    return [entry for entry in found if not (rules.refusal(entry) or session.why_withheld(entry))]


def _describe(entry: Entry, link: Link) -> str:
    return _SAID[link.relation].format(shown_id(entry.id))
