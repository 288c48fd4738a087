"""Skills that say what they are for: files, folders and commands, under `metadata: anchors:`, with commas between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from memsync.errors import MemsyncError
from memsync.records import SKILL_PREFIX, Memory, derive_skill_id
from memsync.skills import entries, file
from memsync.skills.store import SkillStore
from memsync.store.places import Place

_KEY: Final = b"anchors"
_LOADING: Final = "load it with get_skill or `memsync skill apply {}`"


class Anchored(NamedTuple):
    """A skill as a hook gives it: a line that names it and how it is loaded, and why no agent should be given it."""

    memory: Memory
    entry: entries.SkillEntry

    @property
    def flagged(self) -> str:
        """Why any part of it reads like an order to an agent to betray its user; "" if none does."""
        return self.entry.flagged


def list_anchored(place: Place) -> Iterator[Anchored]:
    """Yield the skills of *place* that name anchors; one that cannot be read is left out."""
    store = SkillStore(place)
    for name in store.names():
        data = b""
        with suppress(MemsyncError):
            data, _ = store.read(name)
        if _KEY not in data:
            continue  # most have none, and YAML is slow
        found = file.read(data, name)
        if anchors := file.anchors_of(found.front):
            skill = found.skill
            id_ = skill.id if skill.id.startswith(SKILL_PREFIX) else derive_skill_id(name)
            text = f"Skill {name}: {skill.description.rstrip('.')}; {_LOADING.format(name)}"
            memory = Memory(id_, text, "skill", importance=1.0, anchors=anchors)
            yield Anchored(memory, entries.SkillEntry(skill=skill, scope="project", path=store.path(name)))
