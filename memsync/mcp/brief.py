"""What a model reads of an answer: a line for a memory or a skill, and what became of it.

Everything about one memory is what `get_memory` is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from memsync.janitor.batches import spell
from memsync.memories.listing import spell_suggestion
from memsync.memories.results import RELATIONS
from memsync.records import age, parse_time
from memsync.system.texts import one_line

_SHOWN: Final = 3  # relations of a new text that are told
_REFUSED: Final = 3  # of what was refused, so many are told


def tell(value: Any, now: datetime) -> str:
    """Return *value*, an answer as JSON has it, as text; what has no form of its own stays JSON."""
    if isinstance(value, Mapping):
        for key, lines in _FORMS.items():
            if key in value and (key in ("instructions", "forgotten") or {"count", "status"} & value.keys()):
                return "\n".join(lines(value, now))
    return json.dumps(value, ensure_ascii=False)


def _list_memories(value: Mapping[str, Any], now: datetime) -> Iterator[str]:
    weak = [memory for memory in value["memories"] if memory.get("confidence", 1) < value.get("floor", 0)]
    yield from (spell_memory(memory, now) for memory in value["memories"] if memory not in weak)
    if weak:
        yield "weak matches, perhaps about something else:"
    yield from (spell_memory(memory, now) for memory in weak)
    if not value["memories"]:
        yield "nothing is known about that"
        yield from value.get("problems") or ()
    if again := spell_suggestion(value.get("nearest") or {}):
        yield again
    yield from (_spell_skill(skill) for skill in value.get("skills") or ())
    if value.get("degraded"):
        yield f"found by words only, because {value['degraded']}"


def _list_stored(value: Mapping[str, Any], now: datetime) -> Iterator[str]:
    memory, status = value["memory"], value["status"]
    why = " " + one_line(f"({value['reason']})") if value.get("reason") else ""
    if status == "created":
        yield f"created {memory['id']}{why}{_mark(memory)}"
    else:
        yield f"{status}{why}: {spell_memory(memory, now)}"
    known = [other for other in value.get("similar") or () if other["relation"] in RELATIONS]
    for other in known[:_SHOWN]:
        yield f"{RELATIONS[other['relation']]} {spell_memory(other, now)}"
        yield f"  {_spell_next_call(memory, other)}"


def _spell_next_call(memory: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the call that a model makes if the relation is true."""
    new = memory["id"]
    if memory.get("archived_at"):
        return f'if the user wants the old one back: restore_memory(memory_id="{new}")'
    archive = f'update_memory(memory_id="{new}", supersedes=["{other["id"]}"])'
    if other["relation"] in ("contradicts", "differs"):
        return f"if that is no longer true: {archive}"
    if other["relation"] == "contains":
        return f"if this says all of it: {archive}"
    return f'if that says all of it: forget(memory_id="{new}")'


def _list_skills(value: Mapping[str, Any], _: datetime) -> Iterator[str]:
    yield from map(_spell_skill, value["skills"])
    if not value["skills"]:
        yield "no skill fits"


def _list_written(value: Mapping[str, Any], _: datetime) -> Iterator[str]:
    yield f"{value['status']} {_spell_skill(value['skill'])}" if value.get("skill") else json.dumps(value)


def _list_clusters(value: Mapping[str, Any], _: datetime) -> Iterator[str]:
    if value.get("merged"):
        yield f"{value['merged']} merged; the user can undo it with `memsync janitor undo {value['run']}`"
    yield from (one_line(f"not merged: {why}") for why in (value.get("refused") or ())[:_REFUSED])
    if value.get("kept"):
        yield f"{value['kept']} groups are kept"
    for cluster in value["clusters"]:
        yield from ("", *spell(cluster))
    more = f"; {value['left']} more clusters follow" if value["left"] else ""
    yield (
        f"\nmerge_memories what is the same, keep_both what is not{more}"
        if value["count"]
        else "no likely copies are left"
    )


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any], datetime], Iterable[str]]]] = {
    "clusters": _list_clusters,
    "memories": _list_memories,
    "memory": _list_stored,
    "forgotten": lambda value, now: (f"forgotten {spell_memory(memory, now)}" for memory in value["forgotten"]),
    "skills": _list_skills,
    "skill": _list_written,
    "instructions": lambda value, _: (_spell_skill(value), "", value["instructions"]),
}


def spell_memory(memory: Mapping[str, Any], now: datetime) -> str:
    """Return one line about *memory*: id, type, importance, age, its scope unless it is the project's, and its text on one line, whole."""
    when = age(parse_time(memory.get("updated_at") or memory.get("created_at")), now)
    facts = f"{memory['memory_type']}, {memory['importance']:.2g}, {when}"
    return f"{memory['id']} ({facts}{_name_scope(memory)}{_mark(memory)}) {one_line(memory['content'])}"


def _name_scope(shown: Mapping[str, Any]) -> str:
    return "" if shown["scope"] == "project" else f", {shown['scope']}"


def _mark(memory: Mapping[str, Any]) -> str:
    marks = [f"; out of date: {', '.join(memory['stale'])}" if memory.get("stale") else ""]
    marks += [f"; {memory['flagged']}" if memory.get("flagged") else ""]
    marks += [f"; in conflict with {memory['conflict_of']}" if memory.get("conflict_of") else ""]
    marks += [f"; {other['says']}" for other in memory.get("against") or ()]
    marks += ["; archived" if memory.get("archived_at") else ""]
    return one_line("".join(marks))


def _spell_skill(skill: Mapping[str, Any]) -> str:
    return one_line(f"{skill['name']} ({skill['id']}{_name_scope(skill)}): {skill['description']}")
