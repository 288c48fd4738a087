"""What a memory says of others: `because:ID`, `needs:ID`, `see:ID` and `see:skill/NAME`, in its links or as [[ID]] in its text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.errors import InvalidMemory
from memsync.records import Memory, Scope

if TYPE_CHECKING:
    from memsync.memories.project import Project

RELATIONS: Final = ("because", "needs", "see")
SKILL: Final = "skill/"
_SEE: Final = "see"
_SPELLED: Final = rf"(?:({'|'.join(RELATIONS)}):)?((?:{SKILL})?[A-Za-z0-9][A-Za-z0-9._-]*)"
# In a text only what can be nothing else: TOML's tables and wikis have double brackets too.
_IN_TEXT: Final = rf"\[\[(?:({'|'.join(RELATIONS)}):)?((?:mm-|{SKILL})[A-Za-z0-9][A-Za-z0-9._-]*)\]\]"


class Link(NamedTuple):
    """A relation, and its target: the id of a memory, or `skill/NAME`."""

    relation: str
    target: str

    def __str__(self) -> str:
        return f"{self.relation}:{self.target}"

    @property
    def skill(self) -> str:
        """The name of the skill that is meant; "" if a memory is."""
        return self.target.removeprefix(SKILL) if self.target.startswith(SKILL) else ""


def parse(text: str) -> Link | None:
    """Return the link that *text* spells, without a relation `see`; None: another program's."""
    found = re.fullmatch(_SPELLED, text.strip())
    return Link(found[1] or _SEE, found[2]) if found else None


def links_of(memory: Memory) -> list[Link]:
    """Return the links of *memory*, those in its text last, each target once."""
    own = [link for link in map(parse, memory.links) if link]
    in_text = re.findall(_IN_TEXT, memory.content) if "[[" in memory.content else ()
    found = [*own, *(Link(relation or _SEE, target) for relation, target in in_text)]
    return list({link.target: link for link in reversed(found)}.values())[::-1]


def follow_links(memory: Memory, moved: Mapping[str, str]) -> tuple[str, ...]:
    """Return the stored links of *memory* with what stands for each target in *moved* by now, and none to itself."""
    found = []
    for text in memory.links:
        link = parse(text)
        target = moved.get(link.target, link.target) if link else ""
        if target != memory.id:
            found.append(str(link._replace(target=target)) if link and target != link.target else text)
    return tuple(dict.fromkeys(found))


def follow(memory: Memory, moved: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of *memory* that name what is in *moved*, as they name what stands for it by now."""
    fields: dict[str, Any] = {}
    if (found := follow_links(memory, moved)) != memory.links:
        fields["links"] = list(found)
    content = re.sub(_IN_TEXT, lambda said: said[0].replace(said[2], moved.get(said[2], said[2])), memory.content)
    if content != memory.content:
        fields["content"] = content
    if (lost_to := moved.get(memory.conflict_of or "")) is not None:
        fields["conflict_of"] = None if lost_to == memory.id else lost_to
    return fields


def refuse_itself(memory_id: str, found: Iterable[str]) -> None:
    """Do nothing unless one of the links leads to *memory_id*, whose they are.

    Raises:
        InvalidMemory: one does.
    """
    if any((link := parse(text)) and link.target == memory_id for text in found):
        raise InvalidMemory("a memory cannot link to itself; name another one")


def resolve(project: Project, given: Collection[str]) -> tuple[str, ...]:
    """Return links as they are stored: with whole ids, each once."""
    return tuple(dict.fromkeys(str(_resolve(project, text)) for text in given if text.strip()))


def _resolve(project: Project, text: str) -> Link:
    link = parse(text)
    if link is None:
        ways = ", ".join(f"{relation}:ID" for relation in RELATIONS)
        raise InvalidMemory(f"{text!r} is not a link; use {ways} or see:{SKILL}NAME")
    if link.skill:
        return link._replace(target=f"{SKILL}{project.skills.get(link.skill).name}")
    return link._replace(target=project.get(link.target).id)


def find_dangling(project: Project, scope: Scope, memory: Memory) -> Iterator[str]:
    """Yield the links of *memory* that lead nowhere, or from what all see to where only this user looks, and why."""
    for link in links_of(memory):
        if link.skill:
            where = {entry.scope for entry in project.skills.list() if entry.name == link.skill}
        else:
            where = {name for name, store in project.stores.items() if store.get(link.target)}
        if not where:
            yield f"{link}: there is no such {'skill' if link.skill else 'memory'}"
        elif scope == "project" and scope not in where:
            yield f"{link}: only you have that, so it leads nowhere for others"
